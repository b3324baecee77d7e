//! Why a pass failed. What users did wrong is a condition, not an error.

use std::error::Error;
use std::fmt;

/// Why a pass failed; it is repeated with back-off.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The API server refused or did not answer.
    #[error("failed to {what}")]
    Api {
        /// What was asked for.
        what: String,
        /// The server's answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// Somebody else changed the object first; the next pass sees it.
    #[error("{what}: conflict: modified concurrently")]
    Conflict {
        /// What was attempted.
        what: String,
    },
    /// Something is wrong with us or with stored data.
    #[error("failed to {what}: {problem}")]
    Other {
        /// What was attempted.
        what: String,
        /// What went wrong.
        problem: String,
    },
    /// Leadership was lost; nothing irreversible may be done.
    #[error("not the leader any more")]
    NotLeading,
}

impl ReconcileError {
    /// Wraps an answer of the API server. `what` completes "failed to …".
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

    /// Whether the next pass will most likely just work.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether leadership was lost.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::NotLeading)
    }

    /// Whether the API server did not answer, or was not able to.
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

    /// What to do about it, as a sentence without its end.
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
                "Grant the manager what templates/install/ grants it, or change what refuses it"
            }
            400 | 404 | 422 => {
                "Apply the definitions of this release (tatara crds), or change the admission policy or webhook that refuses it"
            }
            _ => "The manager's log has the passes before it",
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

/// Shows an error with all its causes, for logs.
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            // kube adds the whole answer as debug text, twice
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
