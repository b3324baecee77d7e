//! The volume that cloud-init reads at the first boot: data source `NoCloud`, a FAT file system
//! labelled `cidata`.

use std::io::{self, Cursor, Write};

use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};
use secrecy::ExposeSecret;

use crate::api::types::Seed;

/// The label that cloud-init looks for, padded to the 11 bytes of a FAT label.
const LABEL: [u8; 11] = *b"cidata     ";
/// Space for the file system's metadata; formatting fails below 1 MiB.
const OVERHEAD: usize = 1 << 20;

/// Why a seed could not be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system could not be created in memory.
    #[error("failed to create the seed's file system")]
    FileSystem(#[from] io::Error),
}

/// Builds the content of a seed's volume.
///
/// # Errors
/// [`Error::FileSystem`] when the FAT file system cannot be formatted or a file cannot be written.
pub fn volume(seed: &Seed) -> Result<Vec<u8>, Error> {
    let mut files = vec![
        ("user-data", seed.user_data.expose_secret()),
        ("meta-data", seed.meta_data.as_str()),
    ];
    files.extend(
        seed.network_config
            .as_deref()
            .map(|text| ("network-config", text)),
    );
    let length: usize = files.iter().map(|(_, text)| text.len()).sum();
    let size = (length + OVERHEAD).next_multiple_of(OVERHEAD);
    let mut disk = Cursor::new(vec![0; size]);
    fatfs::format_volume(&mut disk, FormatVolumeOptions::new().volume_label(LABEL))?;
    let volume = FileSystem::new(&mut disk, FsOptions::new())?;
    for (name, text) in files {
        let mut file = volume.root_dir().create_file(name)?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
    }
    volume.unmount()?;
    Ok(disk.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn read(volume: &[u8], name: &str) -> Option<String> {
        let disk = Cursor::new(volume.to_vec());
        let files = FileSystem::new(disk, FsOptions::new()).expect("a file system");
        let mut text = String::new();
        files
            .root_dir()
            .open_file(name)
            .ok()?
            .read_to_string(&mut text)
            .expect("text");
        Some(text)
    }

    #[test]
    fn a_seed_is_read_back_from_a_volume_with_cloud_inits_label() {
        let seed = Seed {
            user_data: "#cloud-config\n".into(),
            meta_data: "instance-id: 1\n".to_owned(),
            network_config: Some("version: 2\n".to_owned()),
        };
        let volume = volume(&seed).expect("a volume");
        let files = FileSystem::new(Cursor::new(volume.clone()), FsOptions::new()).expect("FAT");
        assert_eq!(files.volume_label(), "cidata");
        let label = files.read_volume_label_from_root_dir().expect("a label");
        assert_eq!(label.as_deref(), Some("cidata"));
        assert_eq!(
            read(&volume, "user-data").as_deref(),
            Some("#cloud-config\n")
        );
        assert_eq!(
            read(&volume, "meta-data").as_deref(),
            Some("instance-id: 1\n")
        );
        assert_eq!(
            read(&volume, "network-config").as_deref(),
            Some("version: 2\n")
        );
    }

    #[test]
    fn a_large_seed_fits_and_a_missing_network_config_stays_missing() {
        let user_data = "x".repeat(1 << 20);
        let seed = Seed {
            user_data: user_data.clone().into(),
            meta_data: String::new(),
            network_config: None,
        };
        let volume = volume(&seed).expect("a volume");
        assert_eq!(read(&volume, "user-data"), Some(user_data));
        assert_eq!(read(&volume, "meta-data").as_deref(), Some(""));
        assert_eq!(read(&volume, "network-config"), None);
    }

    #[test]
    fn user_data_is_not_in_a_seeds_debug_output() {
        let seed = Seed {
            user_data: "hunter2".into(),
            meta_data: String::new(),
            network_config: None,
        };
        assert!(!format!("{seed:?}").contains("hunter2"));
    }
}
