//! `tatara manager`: runs the controllers.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::manager::{self, ManagerArgs, ManagerError};

/// Sets up logging and the crypto backend, and runs the manager.
///
/// # Errors
/// The manager cannot start, or stops because of a failure.
pub async fn run(args: ManagerArgs) -> Result<(), ManagerError> {
    // It fails if a provider is installed already, which is fine.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let logs = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter(args.log.as_deref())))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if args.log_json {
        // the span names the object of a line; there is one span, so no list of them
        logs.json().with_span_list(false).init();
    } else {
        logs.init();
    }
    Box::pin(manager::run(args)).await
}

/// The filter of `tracing-subscriber`. It excludes the logs of kube's client and watcher: callers
/// log their errors, and kube would log the whole of a list that cannot be decoded, Secrets
/// included.
fn filter(wanted: Option<&str>) -> String {
    let wanted = wanted.unwrap_or("tatara=info,warn").split(',');
    let is_kube = |directive: &str| {
        let target = directive.trim().trim_start_matches('[');
        target.starts_with("kube_client") || target.starts_with("kube_runtime")
    };
    let kept = wanted.filter(|directive| !is_kube(directive));
    kept.chain(["kube_client=off", "kube_runtime=off"])
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kube_would_log_stays_off_whatever_is_asked_for() {
        for (wanted, logged) in [
            (None, "tatara=info,warn"),
            (Some("warn"), "warn"),
            (Some("tatara=debug,kube_client=trace"), "tatara=debug"),
            (Some("debug, kube_client::client=debug"), "debug"),
        ] {
            let filter = filter(wanted);
            assert_eq!(filter, format!("{logged},kube_client=off,kube_runtime=off"));
            assert!(EnvFilter::try_new(&filter).is_ok(), "{filter}");
        }
    }
}
