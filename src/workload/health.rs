//! Whether a member's control plane is healthy, as it says itself.

use std::time::Duration;

use http::Request;
use kube::Client;

use super::error::reason;

/// What one probe saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What `/readyz` answered.
    pub readiness: Readiness,
    /// `gitVersion` of `/version`, such as `v1.36.3`; absent when it did not answer.
    pub git_version: Option<String>,
}

/// What `/readyz` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Every check passed.
    Ready,
    /// It answered that these checks fail, such as `etcd`; empty when it named none.
    Failing(Vec<String>),
    /// It answered that it does not know us (401): our credentials are old, or were withdrawn.
    Refused,
    /// It did not answer, or did not let us in.
    Unreachable(String),
}

impl Health {
    /// Whether the control plane is ready.
    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    /// The finding in one sentence, for a condition.
    pub fn sentence(&self) -> String {
        match &self.readiness {
            Readiness::Ready => "the API server is ready".to_owned(),
            Readiness::Failing(checks) if checks.is_empty() => {
                "the API server says that it is not ready".to_owned()
            }
            Readiness::Failing(checks) => {
                format!("the API server is not ready: {} failing", checks.join(", "))
            }
            Readiness::Refused => {
                "the API server does not accept the credentials of the kubeconfig \
                Secret (401); put valid ones there"
                    .to_owned()
            }
            Readiness::Unreachable(why) => format!("the API server does not answer: {why}"),
        }
    }
}

/// Asks a member how it is; never takes longer than `timeout`.
pub async fn probe(client: &Client, timeout: Duration) -> Health {
    let both = futures::future::join(readyz(client), version(client));
    match tokio::time::timeout(timeout, both).await {
        Ok((readiness, git_version)) => Health {
            readiness,
            git_version,
        },
        Err(_) => Health {
            readiness: Readiness::Unreachable(format!("no answer within {} s", timeout.as_secs())),
            git_version: None,
        },
    }
}

async fn readyz(client: &Client) -> Readiness {
    let request = match Request::get("/readyz?verbose").body(Vec::new()) {
        Ok(request) => request,
        Err(error) => return Readiness::Unreachable(error.to_string()),
    };
    match client.request_text(request).await {
        Ok(_) => Readiness::Ready,
        Err(kube::Error::Api(status)) if status.code >= 500 => {
            Readiness::Failing(failing_checks(&status.message))
        }
        Err(kube::Error::Api(status)) if status.code == 401 => Readiness::Refused,
        Err(error) => Readiness::Unreachable(reason(&error)),
    }
}

async fn version(client: &Client) -> Option<String> {
    Some(client.apiserver_version().await.ok()?.git_version)
}

/// The checks that a verbose health report marks as failed: lines such as
/// `[-]etcd failed: reason withheld`.
fn failing_checks(report: &str) -> Vec<String> {
    let failed = report.lines().filter_map(|line| line.strip_prefix("[-]"));
    failed
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
