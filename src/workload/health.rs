//! The health of a workload cluster's control plane, as its API server reports it.

use std::time::Duration;

use http::Request;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::Instant;

use super::error::{Cause, reason, shortened};
use tatara_core::remedy;

/// The result of one probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The result of `/readyz`.
    pub readiness: Readiness,
    /// `gitVersion` of `/version`, such as `v1.36.3`; absent without an answer.
    pub git_version: Option<String>,
}

/// The known location of a control plane, for messages about one that does not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The namespace of its Cluster.
    pub namespace: String,
    /// The name of its Cluster.
    pub cluster: String,
    /// What a user does where the address leads nowhere, as a sentence.
    pub remedy: String,
    /// `host:port` of its API.
    pub endpoint: Option<String>,
    /// Whether the address is a virtual IP.
    pub is_virtual: bool,
    /// The Hosts that it runs on, by name.
    pub hosts: Vec<String>,
}

/// The result of `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Every check passed.
    Ready,
    /// These checks fail, such as `etcd`; empty if the answer names none.
    Failing(Vec<String>),
    /// It does not accept our credentials (401): they are expired or revoked.
    Refused,
    /// It did not answer, or refused the request.
    Unreachable {
        /// What happened.
        why: String,
        /// Of what kind that is.
        cause: Cause,
    },
}

impl Readiness {
    fn unreachable(error: &kube::Error) -> Self {
        Self::Unreachable {
            why: reason(error),
            cause: Cause::of(error),
        }
    }
}

impl Health {
    /// Whether the control plane is ready.
    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    /// The finding, since when, and the remedy, for a condition.
    pub fn sentence(&self, place: &Place, since: Timestamp) -> String {
        let on_host = match place.hosts.as_slice() {
            [] => String::new(),
            [host] => format!(" on Host {host}"),
            hosts => format!(" on Hosts {}", hosts.join(", ")),
        };
        match &self.readiness {
            Readiness::Ready => "the API server is ready".to_owned(),
            Readiness::Failing(checks) => {
                let which = match shortened(checks.join(", ")) {
                    none if none.is_empty() => none,
                    checks => format!(": {checks} failing"),
                };
                format!(
                    "the API server is not ready{which} (since {since:.0}). Check kube-apiserver and etcd{on_host}: tail -n 50 /var/log/pods/kube-system_kube-apiserver*/kube-apiserver/*.log, and the same for etcd"
                )
            }
            Readiness::Refused => format!(
                "the API server does not accept the credentials in Secret {0}-kubeconfig (401, since {since:.0}). Of an external control plane: store a valid kubeconfig there, key value. Of one that Tatara made: compare the clocks, and tls.crt of Secret {0}-ca with /etc/kubernetes/pki/ca.crt{on_host}",
                place.cluster
            ),
            Readiness::Unreachable {
                why,
                cause: Cause::Overloaded,
            } => format!(
                "the API server is overloaded (429, since {since:.0}): {why}. If that lasts, find who asks so much: {}",
                remedy::workload::api_load(&place.namespace, &place.cluster)
            ),
            Readiness::Unreachable { why, cause } => {
                let url = place.endpoint.as_ref().map_or_else(
                    || "the API server".to_owned(),
                    |endpoint| format!("https://{endpoint}/readyz"),
                );
                let holder = if place.is_virtual {
                    ", the machine that holds the virtual IP"
                } else {
                    ""
                };
                let remedy = match cause {
                    Cause::Given => place.remedy.clone(),
                    // the limit's own text names the table with the remedies
                    Cause::Limit => format!(
                        "If what answers there is not its API server: {}",
                        place.remedy
                    ),
                    Cause::Silence => format!(
                        "Check route and firewall between the manager and that address{holder}, and kube-apiserver{on_host}. If a certificate has expired: docs/operating.md#certificates"
                    ),
                    _ => format!(
                        "See kube-apiserver{on_host}. If a certificate has expired: docs/operating.md#certificates. If what answers there is not its API server: {}",
                        place.remedy
                    ),
                };
                format!("requests to {url} fail (since {since:.0}): {why}. {remedy}")
            }
        }
    }
}

/// Probes the health of a workload cluster, within `timeout`. One request after the other: at the
/// same time they would open two connections. If the first is not answered, the second is not sent.
pub async fn probe(client: &Client, timeout: Duration) -> Health {
    let deadline = Instant::now() + timeout;
    let readiness = tokio::time::timeout_at(deadline, readyz(client)).await;
    let readiness = readiness.unwrap_or_else(|_| Readiness::Unreachable {
        why: format!("no answer within {} s", timeout.as_secs()),
        cause: Cause::Silence,
    });
    let git_version = match readiness {
        Readiness::Unreachable { .. } => None,
        _ => tokio::time::timeout_at(deadline, version(client))
            .await
            .unwrap_or_default(),
    };
    Health {
        readiness,
        git_version,
    }
}

async fn readyz(client: &Client) -> Readiness {
    let request = match Request::get("/readyz?verbose").body(Vec::new()) {
        Ok(request) => request,
        Err(error) => return Readiness::unreachable(&kube::Error::HttpError(error)),
    };
    match client.request_text(request).await {
        Ok(_) => Readiness::Ready,
        Err(kube::Error::Api(status)) if status.code >= 500 => {
            Readiness::Failing(failing_checks(&status.message))
        }
        Err(kube::Error::Api(status)) if status.code == 401 => Readiness::Refused,
        Err(error) => Readiness::unreachable(&error),
    }
}

async fn version(client: &Client) -> Option<String> {
    Some(client.apiserver_version().await.ok()?.git_version)
}

/// The failed checks of a verbose health report: lines such as
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
