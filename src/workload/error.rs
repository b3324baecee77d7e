//! What can fail in a member cluster, said for people.

/// A request to a member cluster that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action}")]
pub struct Error {
    /// What was tried, as it follows "failed to".
    pub action: String,
    /// What came back.
    #[source]
    pub source: kube::Error,
}

impl Error {
    /// Wraps a failed request with what was tried.
    pub fn new(action: impl Into<String>, source: kube::Error) -> Self {
        Self {
            action: action.into(),
            source,
        }
    }

    /// The error in one sentence, with the API server's own words.
    pub fn sentence(&self) -> String {
        format!("{self}: {}", reason(&self.source))
    }
}

/// What the API server, or the way to it, said: without the debug text that kube adds.
pub fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.message.is_empty() => {
            format!("the API server answered {} {}", status.code, status.reason)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => match innermost(other).to_string().as_str() {
            // what a connector says whose time is over
            "deadline has elapsed" => "no connection in time".into(),
            said => said.to_owned(),
        },
    }
}

/// The HTTP status code, when the API server answered at all.
pub fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// The last error of the chain: "connection refused" rather than five layers around it.
fn innermost(error: &dyn std::error::Error) -> &dyn std::error::Error {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner
}
