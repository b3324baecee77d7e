//! Error responses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every error: `application/problem+json` (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// Always `about:blank`: `title` is the reason phrase of the status.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// Reason phrase of the status.
    pub title: Cow<'static, str>,
    /// HTTP status code.
    pub status: u16,
    /// Field, value, cause and remedy.
    pub detail: String,
    /// Machine-readable code, such as `InsufficientCapacity`.
    pub code: Cow<'static, str>,
}
