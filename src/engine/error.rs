//! Why a pass failed. Mistakes of users are conditions, not errors.

use std::error::Error;
use std::fmt;

/// Why a pass failed. It is repeated with back-off.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The API server refused the request or did not answer.
    #[error("failed to {what}")]
    Api {
        /// The attempted operation, such as `write Machine ns/name`.
        what: String,
        /// Error of the `kube` library.
        #[source]
        source: Box<kube::Error>,
    },
    /// The object was modified concurrently; the next pass reads the change.
    #[error("{what}: conflict: modified concurrently")]
    Conflict {
        /// The attempted operation.
        what: String,
    },
    /// An internal error, or invalid stored data.
    #[error("failed to {what}: {problem}")]
    Other {
        /// The attempted operation.
        what: String,
        /// The cause.
        problem: String,
    },
    /// Leadership was lost; nothing irreversible may be done.
    #[error("this process is no longer the leader")]
    NotLeading,
}

impl ReconcileError {
    /// Wraps an error of a request to the API server. `what` completes "failed to …".
    pub fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| match &source {
            kube::Error::Api(status) if status.code == 409 => Self::Conflict { what },
            _ => Self::Api {
                what,
                source: Box::new(source),
            },
        }
    }

    /// Any other failure. `what` completes "failed to …".
    pub fn other(what: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self::Other {
            what: what.into(),
            problem: problem.to_string(),
        }
    }

    /// Whether it is a conflict, after which the next pass most likely succeeds.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether leadership was lost.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::NotLeading)
    }

    /// Whether the API server did not answer, or answered that it is unavailable.
    pub fn is_outage(&self) -> bool {
        let Self::Api { source, .. } = self else {
            return false;
        };
        match source.as_ref() {
            kube::Error::Api(status) => status.code >= 500 || status.code == 429,
            kube::Error::SerdeError(_) => false,
            _ => true,
        }
    }

    /// The remedy, as a sentence without its full stop.
    pub fn remedy(&self) -> &'static str {
        let code = match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => status.code,
                _ => 0,
            },
            _ => 0,
        };
        match code {
            401 | 403 => {
                "Grant the manager the permissions of templates/install/, or correct the admission policy or webhook that refuses it"
            }
            400 | 404 | 422 => {
                "Apply the CustomResourceDefinitions of this release (tatara crds), or correct the admission policy or webhook that refuses it"
            }
            _ => "See the manager's log for the earlier attempts",
        }
    }

    /// The kind of the error, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Api { .. } => "api",
            Self::Conflict { .. } => "conflict",
            Self::Other { .. } => "other",
            Self::NotLeading => "not_leading",
        }
    }
}

/// Displays an error with all its causes, for logs.
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            // kube appends the debug form of the whole answer, twice
            let boxed = error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
            if let Some(error) = error.downcast_ref::<kube::Error>().or(boxed) {
                return write!(f, ": {}", crate::workload::error::reason(error));
            }
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_api_server_is_shown_once_in_its_own_words() {
        let status = kube::core::Status {
            message: "hosts is forbidden".into(),
            code: 403,
            ..Default::default()
        };
        let error = ReconcileError::api("list Hosts")(kube::Error::Api(Box::new(status)));
        assert_eq!(
            Chain(&error).to_string(),
            "failed to list Hosts: hosts is forbidden"
        );
    }
}
