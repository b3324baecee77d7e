//! Authentication: by client certificate, bearer token, or permissions of the Unix socket.

mod guard;
mod tokens;

pub use guard::{Guard, Pass, Trust, check};
pub use tokens::{Error, Tokens, Verdict, parse};
