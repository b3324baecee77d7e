//! The embed area: room of a fixed size in an ISO image, which its boot loader loads as a second
//! initial RAM disk. Empty, it is an archive with one small file that says so; for a host, its own
//! archive takes its place.

use super::cpio::{File, archive};
use secrecy::zeroize::Zeroizing;

/// Path in the empty archive; with the header of cpio, what is in that file begins at [`OFFSET`].
const PATH: &str = "tatara-embed-area";
const BEGIN: &[u8] = b"TATARA-EMBED-AREA-1 size=";
const OFFSET: usize = 128;
/// Digits of the size.
const DIGITS: usize = 8;
/// Files of an ISO image begin at a multiple of this.
const BLOCK: usize = 2048;

/// Where the room is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// From the beginning of the image.
    pub offset: u64,
    /// Its size.
    pub size: usize,
}

/// Why an image, or an archive for it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AreaError {
    /// The image has no embed area.
    #[error(
        "the image has no embed area, so its settings cannot be written into it; make one with hack/image/installer"
    )]
    None,
    /// It is unknown which one the boot loader loads.
    #[error("the image has {count} embed areas; it needs exactly one")]
    Several {
        /// How many.
        count: usize,
    },
    /// The size in its header is larger than the rest of the image.
    #[error(
        "the embed area says that it has {size} bytes, and the image ends before that; it is damaged"
    )]
    Cut {
        /// Its size.
        size: usize,
    },
    /// The archive is larger than the area.
    #[error(
        "{needed} bytes are to be put into an embed area of {size}; shorten the preseed, or make a larger area"
    )]
    Full {
        /// What is to be put in.
        needed: usize,
        /// Its size.
        size: usize,
    },
}

impl Area {
    /// An archive of these files, filled with zeros to the size of the area.
    ///
    /// # Errors
    /// [`AreaError::Full`]: the archive is larger than the area.
    pub fn fill(self, files: &[File]) -> Result<Zeroizing<Vec<u8>>, AreaError> {
        let mut archive = archive(files);
        let needed = archive.len();
        if needed > self.size {
            return Err(AreaError::Full {
                needed,
                size: self.size,
            });
        }
        archive.resize(self.size, 0);
        Ok(archive)
    }
}

/// The empty area, as `hack/image/installer` puts it into an image.
///
/// # Errors
/// [`AreaError::Full`]: the archive is larger than the area.
pub fn empty(size: usize) -> Result<Zeroizing<Vec<u8>>, AreaError> {
    let content = format!("TATARA-EMBED-AREA-1 size={size:08}\n").into_bytes();
    let file = File {
        path: PATH,
        mode: 0o644,
        content: Zeroizing::new(content),
    };
    Area { offset: 0, size }.fill(&[file])
}

/// Finds the area in an image that is read in pieces.
#[derive(Default)]
pub struct Finder {
    /// What of the block that is going by has gone by.
    begun: Vec<u8>,
    passed: u64,
    found: Vec<Area>,
}

impl Finder {
    /// The next bytes of the image.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BLOCK - self.begun.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.begun.extend_from_slice(now);
            bytes = later;
            if self.begun.len() == BLOCK {
                let area = area(&self.begun, self.passed);
                self.found.extend(area);
                self.passed += BLOCK as u64;
                self.begun.clear();
            }
        }
    }

    /// The area, after the whole image was fed.
    ///
    /// # Errors
    /// [`AreaError`]: the image has no area or several, or ends within it.
    pub fn end(self) -> Result<Area, AreaError> {
        let size = self.passed + self.begun.len() as u64;
        match self.found.as_slice() {
            [] => Err(AreaError::None),
            [area] if area.offset + area.size as u64 > size => {
                Err(AreaError::Cut { size: area.size })
            }
            [area] => Ok(*area),
            areas => Err(AreaError::Several { count: areas.len() }),
        }
    }
}

fn area(block: &[u8], offset: u64) -> Option<Area> {
    let said = block.get(OFFSET..)?.strip_prefix(BEGIN)?;
    let is_ours = block.starts_with(b"070701") && block.get(110..)?.starts_with(PATH.as_bytes());
    let size = std::str::from_utf8(said.get(..DIGITS)?)
        .ok()?
        .parse()
        .ok()?;
    (is_ours && size >= BLOCK).then_some(Area { offset, size })
}
