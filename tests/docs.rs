//! The documents say what the code does.

// what fails here fails the test
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::Path;

/// CamelCase words in the code of controllers that are no condition, reason, phase or state; some are codes of the
/// gateway, which have another name in a condition.
const OTHER: &str = "Apply BadSpec ChecksumMismatch Cluster ConfigMap Credentials DiskFull Failed False Healthy InternalIP \
    Joined MachineBusy MachineDeployment MachineSet Node Output PoolFull PoolInactive PuTTY Secret Session Simulated True \
    Unauthenticated Unknown";

fn code(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_test = path.to_string_lossy().contains("tests");
        if path.is_dir() {
            code(&path, into);
        } else if !is_test && path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = text.lines().filter_map(|line| line.split("//").next());
            into.extend(lines);
        }
    }
}

fn is_word(text: &&str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphabetic())
        && letters.any(|c| c.is_ascii_lowercase())
}

#[test]
fn every_reason_that_the_code_can_give_is_in_troubleshooting() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for folder in [
        "src/controllers",
        "src/gateway",
        "src/provider",
        "src/remote",
    ] {
        code(&root.join(folder), &mut text);
    }
    let words: BTreeSet<&str> = text.split('"').filter(is_word).collect();
    assert!(words.contains("DuplicateAddress") && words.len() > 100);
    let page = std::fs::read_to_string(root.join("docs/troubleshooting.md")).expect("the page");
    let named: BTreeSet<&str> = page.split('`').chain(OTHER.split(' ')).collect();
    let missing: Vec<_> = words.difference(&named).collect();
    assert!(
        missing.is_empty(),
        "not in docs/troubleshooting.md: {missing:?}"
    );
    let known = |word: &&&str| !words.contains(**word);
    let named = page.split('`').filter(is_word).collect::<BTreeSet<_>>();
    let stale: Vec<_> = named.iter().filter(known).collect();
    assert!(
        stale.is_empty(),
        "in docs/troubleshooting.md, not in the code: {stale:?}"
    );
}
