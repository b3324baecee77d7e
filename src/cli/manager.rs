//! `tatara manager`: runs the controllers.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::manager::{self, ManagerArgs, ManagerError};

/// Sets up logging and the crypto backend, and runs the manager.
pub async fn run(args: ManagerArgs) -> Result<(), ManagerError> {
    // With another provider installed already there is nothing to do.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    // What kube's client and watcher warn of, the caller says in its own words.
    let filter = EnvFilter::try_from_env("TATARA_LOG")
        .unwrap_or_else(|_| EnvFilter::new("tatara=info,kube_client=off,kube_runtime=off,warn"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if args.log_json {
        // the span says what a line is about; there is one, so no list of them
        logs.json().with_span_list(false).init();
    } else {
        logs.init();
    }
    Box::pin(manager::run(args)).await
}
