//! The page on durable facts has all of them, and names code and tests that are there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::docs::{file, is_test};

/// A table that nobody reads to its end helps nobody.
const MOST_FACTS: usize = 50;
/// Where its files are.
const ROOTS: [&str; 2] = ["src/", ""];
/// What a script names that is not ours.
const FOREIGN: [&str; 1] = ["containerd.sock"];

/// A row: the fact, who writes and reads it, what becomes of it, what shows that.
struct Row {
    fact: String,
    code: String,
    shown: String,
}

fn rows() -> Vec<Row> {
    let page = file("docs/durable-facts.md");
    let lines = page.lines().filter(|line| line.starts_with("| "));
    let rows = lines.filter(|line| !line.starts_with("| fact "));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [fact, code, _, shown] = cells[..] else {
            panic!("four cells: {row}")
        };
        Row {
            fact: fact.into(),
            code: code.into(),
            shown: shown.into(),
        }
    })
    .collect()
}

/// The words in backticks, `a/{b,c}.rs` as two.
fn named(cell: &str) -> Vec<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words
        .flat_map(|word| match word.split_once('{') {
            Some((before, rest)) => {
                let (inner, after) = rest.split_once('}').unwrap_or((rest, ""));
                let each = inner.split(',');
                each.map(|one| format!("{before}{one}{after}")).collect()
            }
            None => vec![word.to_owned()],
        })
        .collect()
}

fn facts() -> BTreeSet<String> {
    rows().iter().flat_map(|row| named(&row.fact)).collect()
}

/// The labels, annotations and finalizers of `core/src/api/names.rs`.
fn names() -> BTreeSet<String> {
    let source = file("core/src/api/names.rs");
    let kinds = ["ANNOTATION_", "LABEL_", "FINALIZER_", "HOOK_"];
    let constants = source.split("pub const ").skip(1);
    constants
        .filter(|constant| kinds.iter().any(|kind| constant.starts_with(kind)))
        .filter_map(|constant| Some(constant.split_once('"')?.1.split_once('"')?.0.to_owned()))
        .collect()
}

/// The names of files that scripts on hosts have as constants.
fn files_on_hosts() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/node");
    let entries = ["", "lib", "steps"].map(|folder| std::fs::read_dir(root.join(folder)));
    let entries = entries.into_iter().flat_map(|all| all.expect("a folder"));
    let mut files = BTreeSet::new();
    for entry in entries {
        // a folder has no text
        let text = std::fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("readonly "));
        let words = lines.flat_map(|line| line.split(' '));
        let paths = words.filter_map(|word| word.split_once('=')?.1.rsplit_once('/'));
        let names = paths.map(|(_, name)| name).filter(|name| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '-' || c == '.';
            !name.is_empty() && name.chars().all(is_plain)
        });
        files.extend(names.map(str::to_owned));
    }
    files
}

#[test]
fn every_label_annotation_and_finalizer_is_on_the_page_and_no_other() {
    let (facts, names) = (facts(), names());
    assert!(names.len() > 40, "{names:?}");
    let missing: Vec<_> = names.difference(&facts).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    for row in rows() {
        for fact in named(&row.fact) {
            let is_name = fact.contains(".dev/") || fact.contains(".io/");
            let is_in = |path: &String| path.contains('/') && source(path).contains(&fact);
            let is_known = || names.contains(&fact) || named(&row.code).iter().any(is_in);
            assert!(
                !is_name || is_known(),
                "on the page, not in the code: {fact}"
            );
        }
    }
}

#[test]
fn every_file_that_a_script_names_is_on_the_page() {
    let facts = facts();
    let on_page: BTreeSet<&str> = facts.iter().flat_map(|fact| fact.split('/')).collect();
    let files = files_on_hosts();
    assert!(files.len() > 8, "{files:?}");
    let ours = files.iter().map(String::as_str);
    let missing: Vec<_> = ours
        .filter(|name| !on_page.contains(name) && !FOREIGN.contains(name))
        .collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

/// A file that the page names.
fn source(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut below = ROOTS.iter().map(|folder| format!("{folder}{path}"));
    let found = below.find(|path| root.join(path).is_file());
    file(&found.unwrap_or_else(|| panic!("there is no {path}")))
}

#[test]
fn every_fact_has_code_and_a_test_that_are_there_or_says_that_none_shows_it() {
    let rows = rows();
    assert!((30..=MOST_FACTS).contains(&rows.len()), "{}", rows.len());
    for row in &rows {
        let paths = named(&row.code).into_iter();
        let paths: Vec<String> = paths.filter(|word| word.contains('/')).collect();
        assert!(!paths.is_empty(), "no code: {}", row.fact);
        for path in paths {
            assert!(!source(&path).is_empty(), "{path}");
        }
        let tests = named(&row.shown);
        assert!(
            !tests.is_empty() || row.shown.contains("none"),
            "{}",
            row.fact
        );
        for test in tests {
            let (path, name) = test.split_once("::").expect("path::name");
            assert!(is_test(&file(path), name), "{path} has no test {name}");
        }
    }
}
