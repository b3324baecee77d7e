//! Errors of requests to etcd.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::workload::error::{deed, reason};

/// A request to etcd that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not reach the member, or the connection broke.
    #[error("{}", unreached(.0))]
    Unreached(#[source] kube::Error),
    /// No answer in time.
    #[error("etcd did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// etcd refused.
    #[error("etcd answered: {message}")]
    Refused {
        /// gRPC status code (<https://grpc.io/docs/guides/status-codes/>).
        code: u32,
        /// etcd's message.
        message: String,
    },
    /// The answer is not etcd's.
    #[error("etcd's answer cannot be read: {0}")]
    Malformed(String),
}

fn unreached(error: &kube::Error) -> String {
    let said = reason(error);
    match deed(&said) {
        Some(deed) => format!("its etcd {deed}"),
        None => format!("etcd was not reached: {said}"),
    }
}

#[derive(Deserialize)]
struct Refusal {
    code: u32,
    message: String,
}

/// gRPC: what is asked for does not exist.
const NOT_FOUND: u32 = 5;
/// gRPC: not possible now.
const UNAVAILABLE: u32 = 14;

impl Error {
    /// From an answer that is no success.
    pub(super) fn refused(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(Refusal { code, message }) => Self::Refused { code, message },
            Err(_) => Self::Malformed(format!("status {status}")),
        }
    }

    /// There is no such member: it was removed already.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == NOT_FOUND)
    }

    /// Refused for the moment, as `unhealthy cluster` while peers are connected for less than 5 s
    /// (`--strict-reconfig-check`).
    pub fn is_wait(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == UNAVAILABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_refuses_is_told_by_its_code() {
        let refused = |body: &str| Error::refused(StatusCode::SERVICE_UNAVAILABLE, body.as_bytes());
        let gone = refused(r#"{"code":5,"message":"etcdserver: member not found","details":[]}"#);
        assert!(gone.is_not_found() && !gone.is_wait());
        let wait = refused(r#"{"code":14,"message":"etcdserver: unhealthy cluster"}"#);
        assert!(wait.is_wait() && !wait.is_not_found());
        assert_eq!(
            wait.to_string(),
            "etcd answered: etcdserver: unhealthy cluster"
        );
        let other = refused("<html>");
        assert!(
            !other.is_wait() && other.to_string().contains("503"),
            "{other}"
        );
    }
}
