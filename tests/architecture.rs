//! The rules of the source tree that no compiler checks.

// what fails here fails the test
#![allow(clippy::expect_used)]

use std::path::Path;

/// I/O, clocks and tasks, as [`code`] spells them. Addresses as data are in `core::net`.
const FORBIDDEN: &str = "kube::Client kube::Api kube::client kube::api kube::runtime crate::store \
    crate::remote crate::clock tokio russh reqwest asyncfn std::fs std::net std::env std::process \
    Instant SystemTime ::now(";
/// Longest file under `src/`, in lines; tests apart.
const CEILING: usize = 400;

/// Path below `src/` and text of every source file, tests apart.
fn sources(folder: &str) -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(src.join(folder.trim_start_matches('/'))).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = format!("{folder}/{}", entry.file_name().display());
        if entry.path().is_dir() {
            found.extend(sources(&path));
        } else if names(&path).last() == Some("rs")
            && !names(&path).any(|name| name.ends_with("tests"))
        {
            let text = std::fs::read_to_string(entry.path()).expect("text");
            found.push((path, text));
        }
    }
    found
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '.']).filter(|name| !name.is_empty())
}

/// Types, what is rendered for a host and an installer, plans and proofs: nothing but data and decisions.
fn is_pure(path: &str) -> bool {
    let first = names(path).next().expect("a name");
    ["api", "kubeadm", "node", "installer"].contains(&first)
        || names(path).any(|n| n.starts_with("plan") || n == "proof")
}

/// Code without comments, spaces, and the tests at its end; `use a::{b, c}` also as `a::b a::c`.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split("//").next());
    let mut code = lines.collect::<String>().replace(' ', "");
    for statement in code.clone().split(';') {
        let (base, list) = statement.split_once("::{").unwrap_or_default();
        let base = base.rsplit("use").next().unwrap_or_default();
        let names = list.split([',', '{', '}']);
        code.extend(names.map(|name| format!(" {base}::{name}")));
    }
    code
}

fn forbidden(text: &str) -> Vec<&'static str> {
    let code = code(text);
    let mut words = FORBIDDEN.split_whitespace().collect::<Vec<_>>();
    words.retain(|word| code.contains(word));
    words
}

#[test]
fn what_decides_does_no_input_or_output_and_reads_no_clock() {
    for (path, text) in sources("").iter().filter(|(path, _)| is_pure(path)) {
        let found = forbidden(text);
        assert!(found.is_empty(), "src{path}: {found:?} is for observe");
    }
}

#[test]
fn the_rule_sees_what_is_imported_in_braces_and_no_comment() {
    let seen = forbidden("use kube::{ResourceExt,\n    Client};\npub async  fn a() {}");
    assert_eq!(seen, ["kube::Client", "asyncfn"]);
    assert!(forbidden("/// as tokio does\nuse kube::{Resource}; // russh").is_empty());
    assert!(is_pure("/controllers/machine/plan/deleting.rs") && is_pure("/api/host.rs"));
    assert!(!is_pure("/controllers/host/execute.rs"));
}

#[test]
fn no_source_file_is_longer_than_the_ceiling() {
    for (path, text) in sources("") {
        let lines = text.lines().count();
        assert!(lines <= CEILING, "src{path}: {lines} lines; split it");
    }
}
