//! The `tatara-gateway` binary.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use tatara_gateway::args::Args;
use tatara_gateway::{log, server};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let args = Args::parse();
    log::start(args.log_json);
    match server::run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its chain of causes, on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
