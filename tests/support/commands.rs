//! Programs that tests run, and what they print.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

/// Runs it, which must succeed; what it printed, without the space around it.
pub fn done(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("a program");
    let status = output.status;
    assert!(status.success(), "{command:?}: {status}: {}", both(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Output and errors.
pub fn both(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// The `NAME=value` lines that scripts of hack/ print.
pub fn values(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}
