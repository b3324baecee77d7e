//! Who may ask: holders of a client certificate, of a bearer token, and whoever can open the Unix socket.

mod guard;
mod tokens;

pub use guard::{Guard, Pass, Trust, check};
pub use tokens::{Error, Tokens, Verdict, parse};
