//! `tatara completion`: what a shell needs to complete our commands.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

/// Arguments of `tatara completion`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell, as in: source <(tatara completion bash)
    shell: Shell,
}

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
pub struct Error(#[source] std::io::Error);

impl Args {
    /// Writes the completion script to standard output.
    pub fn run(&self) -> Result<(), Error> {
        // written to memory first: clap_complete panics where it cannot write
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut super::Cli::command(),
            "tatara",
            &mut script,
        );
        std::io::stdout().write_all(&script).map_err(Error)
    }
}
