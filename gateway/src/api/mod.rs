//! The HTTP API, version 1.

mod extract;
mod openapi;
mod problem;
mod routes;
pub mod types;

pub use extract::parse;
pub use openapi::document;
pub(crate) use problem::Code;
pub use problem::{Problem, ProblemBody};
pub use routes::router;
