//! Errors of requests to a workload cluster.

use std::io;

use crate::remote::OutOfReach;
use crate::remote::limits::{Excess, Redirect};

/// A failed request to a workload cluster.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action}")]
pub struct Error {
    /// The attempted operation, which completes "failed to …".
    pub action: String,
    /// Error of the `kube` library.
    #[source]
    pub source: kube::Error,
}

impl Error {
    /// Wraps the error of a request; `action` completes "failed to …".
    pub fn new(action: impl Into<String>, source: kube::Error) -> Self {
        Self {
            action: action.into(),
            source,
        }
    }

    /// The error as one sentence, with the API server's message.
    pub fn sentence(&self) -> String {
        format!("{self}: {}", reason(&self.source))
    }
}

/// Bytes of what is told of a server's own words: a message goes into a condition and a line of the
/// log.
const SHOWN: usize = 1024;

/// Message of the API server, or cause of the failed connection, without the debug text that kube
/// adds.
pub fn reason(error: &kube::Error) -> String {
    let said = match error {
        kube::Error::Api(status) if status.message.is_empty() => {
            format!("the API server answered {} {}", status.code, status.reason)
        }
        kube::Error::Api(status) => status.message.clone(),
        // serde's text has the whole of a value of another type, whatever it is
        kube::Error::SerdeError(error) => format!(
            "its answer is not JSON of the kind that was requested (line {}, column {})",
            error.line(),
            error.column()
        ),
        other => match innermost(other).to_string().as_str() {
            // the timeout of hyper's connector
            "deadline has elapsed" => "the connection timed out".into(),
            said => said.to_owned(),
        },
    };
    shortened(said)
}

/// What a server did, without the address at the beginning of [`reason`]: of one that is reached
/// through its own machine that is its loopback, which reads as the manager's.
pub fn deed(said: &str) -> Option<&str> {
    let (_, deed) = said.strip_prefix("the server ")?.split_once(' ')?;
    Some(deed)
}

/// So much of a server's words as is told.
pub(super) fn shortened(mut said: String) -> String {
    if said.len() > SHOWN {
        said.truncate(said.floor_char_boundary(SHOWN));
        said.push('…');
    }
    said
}

/// What kind of failure keeps a workload cluster from serving us: each has another remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing answers.
    Silence,
    /// What answers is not trusted.
    Tls,
    /// 401: it does not know who asks.
    Unauthorized,
    /// 403: who asks may not.
    Forbidden,
    /// 429.
    Overloaded,
    /// 500, 502, 503, 504: it runs, and cannot serve; or none behind its load balancer does.
    NotReady(u16),
    /// It sends more than the manager reads.
    Limit,
    /// The address that is given for it is refused, or answers with a redirect: it leads nowhere
    /// until that is corrected.
    Given,
    /// Any other answer.
    Answered,
}

impl Cause {
    /// Of a status code.
    pub fn of_code(code: u16) -> Self {
        match code {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            429 => Self::Overloaded,
            500 | 502..=504 => Self::NotReady(code),
            _ => Self::Answered,
        }
    }

    /// Of a failed request.
    pub fn of(error: &kube::Error) -> Self {
        if let Some(code) = code(error) {
            return Self::of_code(code);
        }
        if comes_of::<Excess>(error) {
            return Self::Limit;
        }
        if comes_of::<OutOfReach>(error) || comes_of::<Redirect>(error) {
            return Self::Given;
        }
        if matches!(error, kube::Error::SerdeError(_)) {
            return Self::Answered;
        }
        // rustls says so in each of its errors about who answers
        let said = innermost(error).to_string();
        let is_tls = said.contains("certificate") || said.starts_with("received fatal alert");
        if is_tls { Self::Tls } else { Self::Silence }
    }
}

/// Whether the error, or one of its causes, is of this type.
fn comes_of<E: std::error::Error + 'static>(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = next {
        if inner.is::<E>() {
            return true;
        }
        // an `io::Error` is silent about what it wraps
        let wrapped = inner
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|wrapped| wrapped as &(dyn std::error::Error + 'static));
        next = wrapped.or_else(|| inner.source());
    }
    false
}

/// The HTTP status code, if the API server answered.
pub fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// The innermost cause, such as "connection refused".
fn innermost(error: &dyn std::error::Error) -> &dyn std::error::Error {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::Reach;

    #[test]
    fn each_answer_has_its_cause() {
        let table = [
            (401, Cause::Unauthorized),
            (403, Cause::Forbidden),
            (429, Cause::Overloaded),
            (500, Cause::NotReady(500)),
            (503, Cause::NotReady(503)),
            (504, Cause::NotReady(504)),
            (404, Cause::Answered),
        ];
        for (code, cause) in table {
            assert_eq!(Cause::of_code(code), cause, "{code}");
        }
        let of = |said: &str| {
            let error: Box<dyn std::error::Error + Send + Sync> = said.into();
            Cause::of(&kube::Error::Service(error))
        };
        assert_eq!(of("connection refused"), Cause::Silence);
        assert_eq!(of("invalid peer certificate: UnknownIssuer"), Cause::Tls);
        assert_eq!(of("received fatal alert: CertificateExpired"), Cause::Tls);
    }

    #[test]
    fn a_refused_address_and_a_redirect_are_told_from_silence_however_they_are_wrapped() {
        let refused = || {
            let refused = Reach::given(false).check_literal("127.0.0.1");
            refused.expect_err("a loopback address")
        };
        let table: [Box<dyn std::error::Error + Send + Sync>; 4] = [
            Box::new(refused()),
            Box::new(io::Error::other(refused())),
            Box::new(io::Error::other(io::Error::other(refused()))),
            Box::new(Redirect::of("192.0.2.1:6443".into())),
        ];
        for error in table {
            let error = kube::Error::Service(error);
            assert_eq!(Cause::of(&error), Cause::Given, "{error}");
        }
        let silent = kube::Error::Service(Box::new(io::Error::other("connection refused")));
        assert_eq!(Cause::of(&silent), Cause::Silence);
    }

    #[test]
    fn the_address_of_a_server_is_told_apart_from_what_it_did() {
        let said = "the server 127.0.0.1:2379 sent more than 16 MiB in one answer";
        assert_eq!(deed(said), Some("sent more than 16 MiB in one answer"));
        assert_eq!(deed("connection refused"), None);
    }

    #[test]
    fn what_a_server_wrote_is_told_in_part_and_never_where_it_is_no_answer() {
        let text = format!("\"{}\"", "canary".repeat(1 << 20));
        let parsed = serde_json::from_str::<Vec<u8>>(&text).expect_err("a string");
        let told = reason(&kube::Error::SerdeError(parsed));
        assert!(!told.contains("canary"), "{}", told.len());
        let status = kube::core::Status {
            message: "ü".repeat(1 << 20),
            ..kube::core::Status::default()
        };
        let told = reason(&kube::Error::Api(Box::new(status)));
        assert!(told.len() <= SHOWN + '…'.len_utf8(), "{}", told.len());
    }
}
