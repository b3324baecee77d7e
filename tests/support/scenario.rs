//! Scenarios, as the text files in `tests/scenarios` have them: a title; why there is one; how it begins; what happens, a line each;
//! and, after a line of three dashes, what is told of that. Before the dashes, what begins with `#` is a comment.

use std::fmt::Display;
use std::fs;
use std::path::Path;

/// The line between what happens and what is told.
pub const THEN: &str = "---";

/// What scenarios of a folder happen in.
pub trait Play: Sized {
    /// How it begins, in the words after `start:`; or what may stand there.
    fn start(words: &str) -> Result<Self, String>;

    /// An event in its words; or why it cannot be, and what may stand there.
    fn happen(&mut self, words: &str) -> Result<(), String>;

    /// What is told of all that happened.
    fn transcript(&self, title: &str) -> String;
}

#[derive(Debug)]
pub struct Scenario {
    /// Of its file, in the repository.
    path: String,
    title: String,
    start: Line,
    events: Vec<Line>,
    /// All that stands in its file up to what is told.
    head: String,
    told: String,
}

#[derive(Debug)]
struct Line {
    number: usize,
    text: String,
}

/// Plays all scenarios of a folder of `tests/scenarios`, and compares what is told. With `INSTA_UPDATE=always` it is written.
#[track_caller]
pub fn check<P: Play>(folder: &str) {
    let folder = format!("tests/scenarios/{folder}");
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder));
    let names = entries.expect("scenarios").map(|entry| {
        let name = entry.expect("a scenario").file_name();
        format!("{folder}/{}", name.display())
    });
    let mut paths: Vec<String> = names.collect();
    paths.sort();
    let wrong: Vec<String> = paths
        .iter()
        .filter_map(|path| check_file::<P>(path).err())
        .collect();
    assert!(wrong.is_empty(), "\n\n{}\n", wrong.join("\n\n"));
    println!("{folder}: {} scenarios", paths.len());
}

fn check_file<P: Play>(path: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&file).map_err(|why| format!("{path}: {why}"))?;
    let scenario = Scenario::read(path, &text)?;
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let text = format!("{}{}", scenario.head, scenario.play::<P>()?);
        return fs::write(&file, text).map_err(|why| format!("{path}: {why}"));
    }
    scenario.holds::<P>()
}

impl Scenario {
    /// Of the text of a file. A new one may end with its events.
    pub fn read(path: &str, text: &str) -> Result<Self, String> {
        let dashes = format!("\n{THEN}\n");
        let (head, told) = match text.split_once(&dashes) {
            Some((head, told)) => (head, told),
            None => (text.trim_end(), ""),
        };
        let lines = head.lines().zip(1..).map(|(text, number)| Line {
            number,
            text: text.trim().to_owned(),
        });
        let mut lines = lines.filter(|line| !line.text.is_empty() && !line.text.starts_with('#'));
        let title = lines.next().map(|line| line.text).unwrap_or_default();
        let mut has_why = false;
        let start = lines.find_map(|line| {
            let start = line.text.strip_prefix("start:");
            has_why |= start.is_none();
            Some(Line {
                number: line.number,
                text: start?.trim().to_owned(),
            })
        });
        let events: Vec<Line> = lines.collect();
        match start {
            Some(start) if has_why && !events.is_empty() => Ok(Self {
                path: path.to_owned(),
                title,
                start,
                events,
                head: format!("{head}{dashes}"),
                told: told.to_owned(),
            }),
            _ => Err(format!(
                "{path}: a scenario has a line with its title, one or more with why it is there, a line `start: ...`, and an event on \
                 each line after that; then a line {THEN}, and what is told. Comments begin with #"
            )),
        }
    }

    /// What is told of it is what stands in it.
    pub fn holds<P: Play>(&self) -> Result<(), String> {
        let told = self.play::<P>()?;
        if told == self.told {
            Ok(())
        } else {
            Err(self.difference(&told))
        }
    }

    /// What is told of it; or which line is wrong, and why.
    fn play<P: Play>(&self) -> Result<String, String> {
        let at = |line: &Line, why| self.at(line.number, why);
        let mut play = P::start(&self.start.text).map_err(|why| at(&self.start, why))?;
        for event in &self.events {
            play.happen(&event.text).map_err(|why| at(event, why))?;
        }
        Ok(play.transcript(&self.title))
    }

    fn at(&self, line: usize, what: impl Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// The first line that is told otherwise.
    fn difference(&self, told: &str) -> String {
        let (mut expected, mut found) = (self.told.lines(), told.lines());
        let mut line = self.head.lines().count();
        loop {
            line += 1;
            let (expected, found) = (expected.next(), found.next());
            if expected != found || expected.is_none() {
                let said = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return self.at(
                    line,
                    format!(
                        "\n  written  {}\n  told     {}\nIf that is meant: INSTA_UPDATE=always hack/test unit scenarios, and read git diff",
                        said(expected),
                        said(found)
                    ),
                );
            }
        }
    }
}
