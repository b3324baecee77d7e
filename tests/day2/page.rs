//! The commands of docs/day-2.md, run as they stand there by a shell that has what the quickstart prints at its end.

use std::process::Command;

use crate::support::commands::done;
use crate::support::world::{World, root};

/// The page, and the shell of somebody who reads it.
pub struct Page {
    text: String,
    /// The line with which the quickstart says where kubectl, tatara and the kubeconfig are.
    export: String,
}

impl Page {
    /// Begins as the page does: with the whole quickstart.
    pub fn begin(world: &World) -> Self {
        let printed = world.quickstart("up");
        let export = printed
            .lines()
            .find(|line| line.trim().starts_with("export "));
        Self {
            text: std::fs::read_to_string(root().join("docs/day-2.md")).expect("the page"),
            export: export.expect("what to try next").trim().to_owned(),
        }
    }

    /// Runs a block of a section, counted from 0; the commands print what they say.
    pub fn run(&self, section: &str, at: usize) {
        self.shell(&self.block(section, at));
    }

    /// The commands of a block.
    pub fn block(&self, section: &str, at: usize) -> String {
        let mut blocks = blocks(self.section(section));
        assert!(at < blocks.len(), "{section}: {at}");
        blocks.swap_remove(at)
    }

    /// Runs a command that stands in the text of a section.
    pub fn run_inline(&self, section: &str, begin: &str) {
        let text = self.section(section);
        let from = text
            .find(&format!("`{begin}"))
            .unwrap_or_else(|| panic!("{section}: {begin}"));
        let command = text[from + 1..].split('`').next().unwrap_or_default();
        self.shell(command);
    }

    fn shell(&self, commands: &str) {
        println!("{commands}");
        let mut shell = Command::new("bash");
        shell.args(["-ec", &format!("{}\n{commands}", self.export)]);
        shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        println!("{}", done(&mut shell));
    }

    fn section(&self, title: &str) -> &str {
        let mut sections = self.text.split("\n## ");
        let found = sections.find(|section| section.starts_with(&format!("{title}\n")));
        found.unwrap_or_else(|| panic!("no section {title}"))
    }
}

/// The blocks of code of a text: what is indented after a blank line, by as much.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<(String, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    let mut before = "";
    for line in text.lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        if indent.len() < 4 {
            is_open = is_open && line.is_empty();
        } else if is_open {
            blocks.last_mut().expect("a block").1.push(line);
        } else if before.is_empty() {
            is_open = true;
            blocks.push((indent, vec![line]));
        }
        before = line;
    }
    let block = |(indent, lines): &(String, Vec<&str>)| {
        let line = |line: &&str| {
            line.strip_prefix(indent.as_str())
                .unwrap_or(line)
                .to_owned()
        };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    blocks.iter().map(block).collect()
}
