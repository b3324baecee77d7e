//! The file of a running download. It has the suffix `.part` until it is verified, so that a volume
//! with an image's name is always complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::bounds::Bounds;
use super::fetch::Progress;
use crate::api::types::{ImageCode, ImageError, ImageFormat};
use crate::machines::hex;

const END: &str = ".part";

/// Bytes written between two checks of the free space.
const LOOK: u64 = 1 << 20;

/// A partial file; dropping it removes the file unless it was kept.
pub(super) struct Part {
    path: PathBuf,
    place: PathBuf,
    file: File,
    bounds: Bounds,
    written: u64,
    /// Bytes left until the next check of the free space.
    room: u64,
    hash: Sha256,
    kept: bool,
}

impl Part {
    /// Creates an empty file next to `place` for `bytes` bytes (0 if unknown), and locks it so that
    /// two gateways never write the same file.
    ///
    /// # Errors
    /// `PoolFailed` when the file cannot be created or is locked, `DiskFull` when `bytes` do not
    /// fit.
    pub fn create(place: &Path, bounds: Bounds, bytes: u64) -> Result<Self, ImageError> {
        let mut path = place.as_os_str().to_owned();
        path.push(END);
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644);
        let file = file
            .open(&path)
            .map_err(|error| failed("create the image's file", &error))?;
        if file.try_lock().is_err() {
            return Err(ImageError::new(
                ImageCode::PoolFailed,
                "another gateway is downloading this image into this pool",
            ));
        }
        file.set_len(0)
            .map_err(|error| failed("empty the image's file", &error))?;
        let part = Self {
            path,
            place: place.to_owned(),
            file,
            bounds,
            written: 0,
            room: 0,
            hash: Sha256::new(),
            kept: false,
        };
        part.fits(bytes)?;
        Ok(part)
    }

    /// Appends received bytes.
    ///
    /// # Errors
    /// `ImageTooLarge` when the size limit is exceeded, `DiskFull` or `PoolFailed` when writing
    /// fails.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ImageError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.written = self.written.saturating_add(length);
        self.bounds.admit(self.written)?;
        if self.room < length {
            self.room = length.max(LOOK);
            self.fits(self.room)?;
        }
        self.room -= length;
        self.hash.update(bytes);
        self.file
            .write_all(bytes)
            .map_err(|error| failed("write the image", &error))
    }

    /// Verifies the file, and renames it to its final path unless the download is cancelled.
    ///
    /// # Errors
    /// `ChecksumMismatch` or `ImageRefused` when the content is wrong, `DiskFull` or `PoolFailed`
    /// when the file cannot be read, synced or renamed, or the download is cancelled.
    pub fn keep(
        mut self,
        sha256: &str,
        format: ImageFormat,
        progress: &Progress,
    ) -> Result<(), ImageError> {
        let seen = hex(&self.hash.clone().finalize());
        if seen != sha256 {
            let detail = format!("the file's SHA-256 is {seen}; correct the SHA-256 or the url");
            return Err(ImageError::new(ImageCode::ChecksumMismatch, detail));
        }
        self.header(format)
            .map_err(|error| failed("read the image", &error))??;
        let write = |error: &io::Error| failed("write the image", error);
        self.file.sync_all().map_err(|error| write(&error))?;
        progress
            .place(|| fs::rename(&self.path, &self.place))
            .map_err(|error| write(&error))?;
        self.kept = true;
        let folder = self.place.parent().unwrap_or(Path::new("/"));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| write(&error))
    }

    fn fits(&self, bytes: u64) -> Result<(), ImageError> {
        let system = rustix::fs::fstatvfs(&self.file)
            .map_err(|error| failed("read the free space of the pool", &error.into()))?;
        let bytes_of = |blocks: u64| blocks.saturating_mul(system.f_frsize);
        let (free, size) = (bytes_of(system.f_bavail), bytes_of(system.f_blocks));
        self.bounds.fits(free, size, bytes)
    }

    fn header(&mut self, format: ImageFormat) -> io::Result<Result<(), ImageError>> {
        let mut header = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        Read::by_ref(&mut self.file)
            .take(104)
            .read_to_end(&mut header)?;
        Ok(match header_problem(&header, format) {
            Some(detail) => Err(ImageError::new(ImageCode::ImageRefused, detail)),
            None => Ok(()),
        })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove a partial image");
        }
    }
}

/// What is wrong with an image, from its first 104 bytes (the qcow2 version 3 header). A qcow2
/// image with a backing or external data file is rejected: its author could read any file of the
/// hypervisor.
pub fn header_problem(header: &[u8], format: ImageFormat) -> Option<&'static str> {
    if format == ImageFormat::Raw {
        return None;
    }
    let number = |at: usize| {
        let bytes = header.get(at..at + 8)?;
        Some(
            bytes
                .iter()
                .fold(0_u64, |number, byte| number << 8 | u64::from(*byte)),
        )
    };
    let (Some(start), Some(backing)) = (number(0), number(8)) else {
        return Some("it is too short for a qcow2 image");
    };
    let (magic, version) = (start >> 32, start & 0xffff_ffff);
    if magic != 0x5146_49fb || !matches!(version, 2 | 3) {
        return Some("it is not a qcow2 image; correct the format");
    }
    if backing != 0 {
        return Some("it has a backing file; flatten it with `qemu-img convert`");
    }
    // bit 2 of the incompatible features: external data file
    if version == 3 && number(72).is_none_or(|features| features & 4 != 0) {
        return Some("its data is in another file; flatten it with `qemu-img convert`");
    }
    None
}

/// Removes partial images of a killed gateway from a directory.
pub fn sweep_folder(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("tatara-image-") || !name.ends_with(END) {
            continue;
        }
        let path = entry.path();
        // a locked file is still being written
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            match fs::remove_file(&path) {
                Ok(()) => tracing::info!(path = %path.display(), "removed a partial image"),
                Err(error) => {
                    tracing::warn!(%error, path = %path.display(), "failed to remove a partial image");
                }
            }
        }
    }
}

fn failed(action: &str, error: &io::Error) -> ImageError {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    if full.contains(&error.kind()) {
        return ImageError::new(
            ImageCode::DiskFull,
            "the pool's file system is full; free space, and the download is retried",
        );
    }
    ImageError::new(
        ImageCode::PoolFailed,
        format!("failed to {action}: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Bounds = Bounds {
        most: u64::MAX,
        reserve: 0,
    };

    #[test]
    fn an_image_that_is_larger_than_it_may_be_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let bounds = Bounds { most: 7, ..ANY };
        let mut part = Part::create(&folder.path().join("image"), bounds, 0).expect("a file");
        part.write(b"image").expect("written");
        let refused = part.write(b"image").expect_err("ten bytes");
        assert_eq!(refused.code, "ImageTooLarge");
        drop(part);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn one_that_does_not_fit_is_refused_before_its_first_byte() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("image");
        let refused = Part::create(&place, ANY, u64::MAX).err().expect("no room");
        assert_eq!(refused.code, "DiskFull");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_file_gets_its_place_unless_it_was_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let sha256 = hex(&Sha256::digest(b"image"));
        for given_up in [true, false] {
            let place = folder.path().join("image");
            let mut part = Part::create(&place, ANY, 0).expect("a file");
            part.write(b"image").expect("written");
            let progress = Progress::default();
            if given_up {
                progress.give_up();
            }
            let kept = part.keep(&sha256, ImageFormat::Raw, &progress);
            assert_eq!((kept.is_ok(), place.exists()), (!given_up, !given_up));
            let files = fs::read_dir(folder.path()).expect("a folder").count();
            assert_eq!(files, usize::from(!given_up), "no part is left");
        }
    }
}
