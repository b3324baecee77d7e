//! What an installer reports of its work.

/// A report of an installer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Report {
    /// It has found the disk, and installs.
    Started,
    /// No disk matches; nothing was written.
    NoDisk,
    /// Several disks match; nothing was written.
    SeveralDisks,
    /// Everything is there.
    Installed,
    /// The keys could not be put into the installed system.
    Failed,
}

impl Report {
    /// Parses the last segment of the URL to which the installer reports.
    pub fn read(word: &str) -> Option<Self> {
        Some(match word {
            "started" => Self::Started,
            "no-disk" => Self::NoDisk,
            "several-disks" => Self::SeveralDisks,
            "installed" => Self::Installed,
            "failed" => Self::Failed,
            _ => return None,
        })
    }
}
