//! An image with its embed area filled, in pieces: the file is not changed, and never whole in
//! memory.

use core::ops::Range;
use std::io::{self, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, Stream};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::served::ImageShare;

/// Size of a piece.
const PIECE: u64 = 256 * 1024;

/// A range of bytes of a served image, as a stream that ends with an error when the image is
/// revoked.
///
/// # Errors
/// The file of the image cannot be opened or read.
pub async fn pieces(
    served: Arc<ImageShare>,
    range: Range<u64>,
) -> io::Result<impl Stream<Item = io::Result<Bytes>>> {
    let mut file = File::open(&served.base.file).await?;
    file.seek(SeekFrom::Start(range.start)).await?;
    Ok(stream::try_unfold(
        (served, file, range),
        |(served, mut file, left)| async move {
            if left.is_empty() {
                return Ok(None);
            }
            if served.is_revoked() {
                return Err(io::Error::other("revoked"));
            }
            let end = left.end.min(left.start + PIECE);
            let size = usize::try_from(end - left.start).map_err(io::Error::other)?;
            let mut piece = vec![0; size];
            file.read_exact(&mut piece).await?;
            lay_over(
                &mut piece,
                left.start,
                served.base.area.offset,
                &served.filled,
            );
            Ok(Some((Bytes::from(piece), (served, file, end..left.end))))
        },
    ))
}

/// Overwrites the part of a piece that overlaps other bytes; `at` and `offset` are their positions
/// in the image.
fn lay_over(piece: &mut [u8], at: u64, offset: u64, over: &[u8]) {
    let begin = at.max(offset);
    let end = (at + piece.len() as u64).min(offset + over.len() as u64);
    let part = |from: u64, of: u64| usize::try_from(from - of).ok();
    if begin >= end {
        return;
    }
    if let (Some(to), Some(to_end), Some(from), Some(from_end)) = (
        part(begin, at),
        part(end, at),
        part(begin, offset),
        part(end, offset),
    ) {
        piece[to..to_end].copy_from_slice(&over[from..from_end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_over_meets_a_piece_at_each_of_its_edges() {
        for (at, expected) in [
            (0, "...."),
            (3, "...A"),
            (5, ".ABC"),
            (6, "ABCD"),
            (7, "BCDE"),
            (9, "DE.."),
            (11, "...."),
        ] {
            let mut piece = *b"....";
            lay_over(&mut piece, at, 6, b"ABCDE");
            assert_eq!(std::str::from_utf8(&piece), Ok(expected), "{at}");
        }
    }
}
