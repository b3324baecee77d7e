//! Authentication middleware of all routes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tatara_net::Place;

use super::tokens::{Tokens, Verdict};
use crate::api::Problem;
use crate::api::types::Code;
use crate::clock;

/// How the connection itself is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Unix socket: authenticated by its file permissions.
    Socket,
    /// Client certificate, verified in the TLS handshake.
    Certificate,
    /// Unauthenticated; the request needs a bearer token.
    None,
}

/// Authentication middleware of all routes.
#[derive(Default)]
pub struct Guard {
    tokens: Option<Tokens>,
}

impl Guard {
    /// A guard that also accepts these bearer tokens.
    pub fn new(tokens: Option<Tokens>) -> Self {
        Self { tokens }
    }

    fn verdict(&self, trust: Trust, authorization: Option<&HeaderValue>) -> Result<(), Problem> {
        if trust != Trust::None {
            return Ok(());
        }
        let given = authorization.map(HeaderValue::as_bytes);
        let token = given.and_then(bearer);
        let (Some(token), Some(tokens)) = (token, &self.tokens) else {
            return Err(refused(
                Code::Unauthenticated,
                "send a client certificate or a bearer token",
            ));
        };
        match tokens.check(token, clock::now()) {
            Verdict::Good => Ok(()),
            Verdict::Expired => Err(refused(
                Code::TokenExpired,
                "the token has expired; use a new one",
            )),
            Verdict::Unknown => Err(refused(
                Code::Unauthenticated,
                "the gateway does not accept this token; use one from its token file; if it is there, see the gateway's log",
            )),
        }
    }
}

/// Credentials of an accepted request. An event stream checks them again, because a token can
/// expire or be revoked.
#[derive(Clone)]
pub struct Pass {
    guard: Arc<Guard>,
    trust: Trust,
    authorization: Option<HeaderValue>,
}

impl Pass {
    /// Whether the credentials are still accepted.
    pub fn is_good(&self) -> bool {
        self.verdict().is_ok()
    }

    fn verdict(&self) -> Result<(), Problem> {
        self.guard.verdict(self.trust, self.authorization.as_ref())
    }
}

/// Passes an authenticated request on, or responds with 401.
pub async fn check(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let trust = request.extensions().get::<Trust>().copied();
    let pass = Pass {
        guard,
        trust: trust.unwrap_or(Trust::None),
        authorization: request.headers().get(header::AUTHORIZATION).cloned(),
    };
    match pass.verdict() {
        Ok(()) => {
            if let Some(place) = request.extensions().get::<Place>() {
                place.leave();
            }
            request.extensions_mut().insert(pass);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

fn refused(code: Code, detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, code, detail)
}
