//! Bearer tokens, from a file that only its owner can read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Minimum length: a shorter token can be guessed.
const SHORTEST: usize = 16;

/// Why a token file is rejected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Group or others can access it.
    #[error("{} is readable by group or others (mode {mode:o}); run chmod 600 on it", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A line is malformed.
    #[error("{} line {line} {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line.
        line: usize,
        /// What is wrong, and what is expected.
        problem: &'static str,
    },
}

/// A token; only its hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    hash: [u8; 32],
    not_after: Option<Timestamp>,
}

/// Result of checking a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Known and valid.
    Good,
    /// Known, but expired.
    Expired,
    /// Not in the token file.
    Unknown,
}

/// The tokens of a file, reloaded when the file changes.
pub struct Tokens {
    path: PathBuf,
    read: Mutex<(Option<Stamp>, Arc<Vec<Token>>)>,
}

/// Identity of a file version: device, inode, size, mtime in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the file cannot be read, [`Error::Open`] when group or others
    /// have any permission on it, [`Error::Line`] for the first malformed line.
    pub fn open(path: PathBuf) -> Result<Self, Error> {
        let (stamp, tokens) = load(&path)?;
        Ok(Self {
            path,
            read: Mutex::new((Some(stamp), Arc::new(tokens))),
        })
    }

    /// Checks a token. It is compared with all tokens, each in constant time, so that timing
    /// reveals nothing.
    pub fn check(&self, token: &[u8], now: Timestamp) -> Verdict {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut verdict = Verdict::Unknown;
        for known in self.current().iter() {
            let same = bool::from(known.hash.ct_eq(&hash));
            if same && known.not_after.is_none_or(|end| now < end) {
                verdict = Verdict::Good;
            } else if same && verdict == Verdict::Unknown {
                verdict = Verdict::Expired;
            }
        }
        verdict
    }

    /// The current tokens of the file; empty while the file is unusable, so that a revoked token is
    /// never accepted.
    fn current(&self) -> Arc<Vec<Token>> {
        let now = fs::metadata(&self.path).ok().as_ref().map(stamp);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_none() || read.0 != now {
            *read = match load(&self.path) {
                Ok((stamp, tokens)) => {
                    tracing::info!(tokens = tokens.len(), "reloaded the tokens");
                    (Some(stamp), Arc::new(tokens))
                }
                Err(error) => {
                    tracing::error!(%error, "failed to reload the tokens; all tokens are refused");
                    (now, Arc::default())
                }
            };
        }
        read.1.clone()
    }
}

fn load(path: &Path) -> Result<(Stamp, Vec<Token>), Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Error::Open {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    let tokens = parse(&text).map_err(|(line, problem)| Error::Line {
        path: path.to_owned(),
        line,
        problem,
    })?;
    Ok((stamp(&metadata), tokens))
}

fn stamp(file: &Metadata) -> Stamp {
    (
        file.dev(),
        file.ino(),
        file.len(),
        file.mtime(),
        file.mtime_nsec(),
    )
}

/// Parses lines `TOKEN [not-after as RFC 3339]`; ignores empty lines and those that begin with `#`.
/// Errors contain the line number and never the token.
///
/// # Errors
/// Number of the first malformed line, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let Some(token) = words.next().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err((number, "lacks a token of at least 16 ASCII characters"));
        }
        let not_after = words.next().map(str::parse).transpose();
        let not_after =
            not_after.map_err(|_| (number, "lacks an RFC 3339 time after its token"))?;
        if words.next().is_some() {
            return Err((number, "has more than a token and a time"));
        }
        tokens.push(Token {
            hash: Sha256::digest(token).into(),
            not_after,
        });
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests;
