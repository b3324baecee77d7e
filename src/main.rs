//! The `tatara` binary.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use tatara::cli::{Cli, printable};

/// A manager of thousands of Machines spends much of its time in the allocator (`make
/// bench-simulated`). Its feature `no_thp` stays on: huge pages are half empty in one that has
/// little to do (`make bench-idle`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", printable(&with_causes(&*error)));
            ExitCode::FAILURE
        }
    }
}

/// An error and what caused it, on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
