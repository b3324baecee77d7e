//! The bugs that `hack/planted` puts back: each patch says what it is, and fits to the code as it is now.

use std::path::Path;
use std::process::Command;

use crate::docs::file;

const FOLDER: &str = "tests/planted";

/// Their paths in the repository.
fn patches() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let files = std::fs::read_dir(folder).expect("the folder");
    let names = files.map(|entry| entry.expect("a file").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let patches = names.filter(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|end| end == "patch")
    });
    patches.map(|name| format!("{FOLDER}/{name}")).collect()
}

#[test]
fn each_planted_bug_says_what_it_is_and_changes_what_decides_alone() {
    let worlds = file("core/tests/explore/worlds/mod.rs");
    let patches = patches();
    assert!(patches.len() >= 10, "{patches:?}");
    for patch in patches {
        let text = file(&patch);
        let (head, diff) = text.split_once("\ndiff --git ").expect("a diff");
        let said: Vec<_> = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(_, what)| !what.is_empty())
            .collect();
        let names: Vec<_> = said.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["What", "Once", "World", "Finds"], "{patch}");
        let world = format!("name: \"{}\",", said[2].1);
        assert!(worlds.contains(&world), "{patch}: there is no {world}");
        let mut changed = diff.lines().filter(|line| line.starts_with("+++ "));
        let is_core = |line: &str| line.starts_with("+++ b/core/src/");
        assert!(changed.all(is_core), "{patch} changes what does not decide");
    }
}

#[test]
fn each_planted_bug_fits_to_the_code() {
    // each alone: two may change the same lines
    for patch in patches() {
        let mut git = Command::new("git");
        git.current_dir(env!("CARGO_MANIFEST_DIR"));
        let done = git.args(["apply", "--check", &patch]).output();
        let done = done.expect("git");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }
}
