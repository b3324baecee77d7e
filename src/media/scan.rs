//! What is read off an image while its bytes pass.

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use tatara_core::installer::{Area, AreaError, Base, Failure, Finder};

/// Size of the pieces in which a file is read, in bytes.
const PIECE: usize = 1024 * 1024;

/// Digest, size and embed area of an image, computed while it is read.
pub(super) struct ImageScan {
    pub(super) digest: Vec<u8>,
    pub(super) size: u64,
    area: Result<Area, AreaError>,
}

impl ImageScan {
    pub(super) fn base(self, file: PathBuf) -> Result<Base, Failure> {
        Ok(Base {
            file,
            size: self.size,
            area: self.area.map_err(Failure::Area)?,
        })
    }

    pub(super) async fn again(mut file: File) -> std::io::Result<Self> {
        let mut look = Look::default();
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece).await? {
                0 => return Ok(look.end()),
                count => look.at(&piece[..count]),
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Look {
    hash: Sha256,
    finder: Finder,
    pub(super) size: u64,
}

impl Look {
    pub(super) fn at(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        self.finder.feed(piece);
        self.size += piece.len() as u64;
    }

    pub(super) fn end(self) -> ImageScan {
        ImageScan {
            digest: self.hash.finalize().to_vec(),
            size: self.size,
            area: self.finder.end(),
        }
    }
}
