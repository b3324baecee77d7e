//! Whether a member's control plane is healthy, as it says itself.

use std::time::Duration;

use http::Request;
use k8s_openapi::jiff::Timestamp;
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

/// Where a control plane is, as far as that is known: what is said of one that does not answer names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `host:port` at which its API is asked.
    pub endpoint: Option<String>,
    /// That address moves between machines.
    pub is_virtual: bool,
    /// The Host that it runs on.
    pub host: Option<String>,
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

    /// What was found, since when, and what helps, for a condition.
    pub fn sentence(&self, place: &Place, since: Timestamp) -> String {
        let on_host = place.host.as_ref().map(|host| format!(" on Host {host}"));
        let on_host = on_host.unwrap_or_default();
        match &self.readiness {
            Readiness::Ready => "the API server is ready".to_owned(),
            Readiness::Failing(checks) => {
                let which = match checks.join(", ") {
                    none if none.is_empty() => none,
                    checks => format!(": {checks} failing"),
                };
                format!(
                    "the API server is not ready{which} (since {since:.0}). Look at kube-apiserver and etcd{on_host}: tail -n 50 /var/log/pods/kube-system_kube-apiserver*/kube-apiserver/*.log, and the same for etcd"
                )
            }
            Readiness::Refused => format!(
                "the API server does not accept the credentials of the kubeconfig Secret (401, since {since:.0}); put valid ones there"
            ),
            Readiness::Unreachable(why) => {
                let url = place.endpoint.as_ref().map_or_else(
                    || "the API server".to_owned(),
                    |endpoint| format!("https://{endpoint}/readyz"),
                );
                let holder = if place.is_virtual {
                    ", the machine that holds the virtual IP"
                } else {
                    ""
                };
                format!(
                    "the manager cannot use {url} (since {since:.0}): {why}. Check route and firewall between the manager and that address{holder}, and kube-apiserver{on_host}"
                )
            }
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
