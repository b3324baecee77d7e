//! The `newc` form of cpio: what Linux unpacks as an initial RAM disk. Several follow each other in
//! one; later files win.

use std::fmt::Write as _;

use secrecy::zeroize::Zeroizing;

/// A file in an archive. It may hold a secret, so it is not printed.
pub struct File {
    /// Path, without a leading slash.
    pub path: &'static str,
    /// Permissions, such as 0o600.
    pub mode: u32,
    /// What is in it.
    pub content: Zeroizing<Vec<u8>>,
}

const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// An archive of these files, and of the folders that they are in.
pub fn archive(files: &[File]) -> Zeroizing<Vec<u8>> {
    let room: usize = files.iter().map(|file| file.content.len() + 512).sum();
    let mut archive = Zeroizing::new(Vec::with_capacity(room + 1024));
    let mut folders: Vec<&str> = Vec::new();
    let mut number = 0;
    for file in files {
        if let Some((folder, _)) = file.path.rsplit_once('/')
            && !folders.contains(&folder)
        {
            folders.push(folder);
            number += 1;
            member(&mut archive, number, folder, FOLDER | 0o700, &[]);
        }
        number += 1;
        member(
            &mut archive,
            number,
            file.path,
            REGULAR | file.mode,
            &file.content,
        );
    }
    member(&mut archive, 0, "TRAILER!!!", 0, &[]);
    archive
}

fn member(archive: &mut Vec<u8>, number: usize, path: &str, mode: u32, content: &[u8]) {
    let mut header = String::from("070701");
    let links = if mode & FOLDER == 0 { 1 } else { 2 };
    let (mode, name) = (mode as usize, path.len() + 1);
    // inode, mode, owner, group, links, time, size, device, device of the node, length of the name,
    // checksum
    let fields = [
        number,
        mode,
        0,
        0,
        links,
        0,
        content.len(),
        0,
        0,
        0,
        0,
        name,
        0,
    ];
    for field in fields {
        // writing into a String cannot fail
        write!(header, "{field:08x}").ok();
    }
    archive.extend(header.as_bytes());
    archive.extend(path.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}
