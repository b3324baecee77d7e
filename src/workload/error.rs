//! Errors of requests to a workload cluster.

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

/// Message of the API server, or cause of the failed connection, without the debug text that kube adds.
pub fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.message.is_empty() => {
            format!("the API server answered {} {}", status.code, status.reason)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => match innermost(other).to_string().as_str() {
            // the timeout of hyper's connector
            "deadline has elapsed" => "the connection timed out".into(),
            said => said.to_owned(),
        },
    }
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
