//! Refusals.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every error: `application/problem+json` (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// Always `about:blank`: `title` is the status in words.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The status in words.
    pub title: Cow<'static, str>,
    /// The status.
    pub status: u16,
    /// What is wrong, with field, value and remedy.
    pub detail: String,
    /// One word for programs, such as `InsufficientCapacity`.
    pub code: Cow<'static, str>,
}
