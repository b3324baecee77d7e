//! The guard before every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use super::tokens::{Tokens, Verdict};
use crate::api::Problem;
use crate::clock;

/// What the connection itself proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The Unix socket: the file system has checked.
    Socket,
    /// A client certificate that TLS has verified.
    Certificate,
    /// Nothing.
    None,
}

/// The guard before every route.
#[derive(Default)]
pub struct Guard {
    tokens: Option<Tokens>,
}

impl Guard {
    /// A guard that lets in holders of these tokens as well.
    pub fn new(tokens: Option<Tokens>) -> Self {
        Self { tokens }
    }

    fn verdict(&self, request: &Request) -> Result<(), Problem> {
        let trust = request
            .extensions()
            .get::<Trust>()
            .copied()
            .unwrap_or(Trust::None);
        if trust != Trust::None {
            return Ok(());
        }
        let given = request
            .headers()
            .get(header::AUTHORIZATION)
            .map(HeaderValue::as_bytes);
        let token = given.and_then(bearer);
        let (Some(token), Some(tokens)) = (token, &self.tokens) else {
            return Err(refused(
                "Unauthenticated",
                "send a client certificate or a bearer token",
            ));
        };
        match tokens.check(token, clock::now()) {
            Verdict::Good => Ok(()),
            Verdict::Expired => Err(refused(
                "TokenExpired",
                "the token has run out: use a new one",
            )),
            Verdict::Unknown => Err(refused("Unauthenticated", "the token is not known here")),
        }
    }
}

/// Lets a request through, or answers 401.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.verdict(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

fn refused(code: &'static str, detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, code, detail)
}
