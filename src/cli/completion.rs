//! `tatara completion`: completion scripts for shells.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

/// Arguments of `tatara completion`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell, as in: source <(tatara completion bash)
    shell: Shell,
}

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
pub struct Error(#[source] std::io::Error);

impl Args {
    /// Writes the completion script to standard output.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn run(&self) -> Result<(), Error> {
        // written to memory first: clap_complete panics when a write fails
        let mut script = Vec::new();
        let mut command = super::Cli::command();
        clap_complete::generate(self.shell, &mut command, "tatara", &mut script);
        if self.shell == Shell::Fish {
            script.extend(values(&command).into_bytes());
        }
        std::io::stdout().write_all(&script).map_err(Error)
    }
}

/// Completes values of positional arguments in fish, which `clap_complete` does not.
fn values(command: &clap::Command) -> String {
    let lines = command.get_subcommands().filter_map(|command| {
        let all = command.get_positionals();
        let values = all.flat_map(clap::Arg::get_possible_values);
        let values: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        let (name, values) = (command.get_name(), values.join(" "));
        let line = format!(
            "complete -c tatara -n \"__fish_seen_subcommand_from {name}\" -f -a \"{values}\"\n"
        );
        (!values.is_empty()).then_some(line)
    });
    lines.collect()
}
