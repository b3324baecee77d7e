//! The HTTP API, version 1.

mod extract;
mod openapi;
mod problem;
mod routes;

pub use extract::parse;
pub use openapi::document;
pub use problem::Problem;
pub use routes::router;
/// Types of the protocol, shared with the client.
pub use tatara_gateway_wire as types;
