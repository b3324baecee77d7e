//! The limit of open files and connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard limit, and logs the result: the usual default,
/// 1024, is exhausted by a few hundred clusters.
pub fn raise_limit() {
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::warn!(%error, "failed to raise the limit of open files");
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    tracing::info!(
        limit,
        "limit of open files: a cluster takes up to 3, a host 1, and the rest of the manager about 100"
    );
}
