//! Structured logging.

use tracing_subscriber::EnvFilter;

/// Starts logging to stderr. `RUST_LOG` sets the filter (default `info`).
pub fn start(json: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if json {
        lines.json().flatten_event(true).init();
    } else {
        lines.with_ansi(false).init();
    }
}
