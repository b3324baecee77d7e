//! Queries of a workload cluster for its profile, and the `ServiceAccount` of its consumers.

use std::time::Duration;

use kube::Client;
use secrecy::SecretString;

use crate::workload::properties::Properties;
use crate::workload::{Error, consumer, properties};

/// Time limit of our requests to a workload cluster.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The answer of a workload cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkloadAnswer {
    pub(super) properties: Option<Properties>,
    pub(super) token: Option<SecretString>,
    /// Why the answer is incomplete, for messages.
    pub(super) problem: Option<String>,
}

/// Queries a workload cluster for its properties and for the token of its consumers. Without a
/// response the answer is empty except for the problem, which the profile reports.
pub(super) async fn ask(workload: &Client) -> WorkloadAnswer {
    let asking = async {
        let properties = properties::list(workload).await?;
        Ok::<_, Error>((properties, consumer::token(workload).await?))
    };
    match in_time(asking).await {
        Ok((properties, token)) => WorkloadAnswer {
            properties: Some(properties),
            token,
            problem: None,
        },
        Err(problem) => WorkloadAnswer {
            problem: Some(problem),
            ..WorkloadAnswer::default()
        },
    }
}

/// Creates or repairs the `ServiceAccount` of consumers. Returns what the workload cluster refused,
/// for messages.
///
/// # Errors
/// Why the workload cluster did not respond in time.
pub(super) async fn make_account(workload: &Client) -> Result<Option<String>, String> {
    let documents = consumer::documents().unwrap_or_default();
    let outcome = in_time(consumer::ensure(workload, documents)).await?;
    let problem = outcome.failed.iter().chain(&outcome.pending).next();
    Ok(problem.map(|problem| format!("failed to make the account of its consumers: {problem}")))
}

async fn in_time<T>(asking: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, asking).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let error = error.sentence();
            tracing::debug!(error, "workload API query failed");
            Err(error)
        }
        Err(_) => {
            let seconds = TIMEOUT.as_secs();
            Err(format!("its API did not answer within {seconds} s"))
        }
    }
}
