//! How long a file may be, that every test of the tier runs, and that tests beside each other do not meet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::sources::all;

/// Longest source file, in lines; tests apart.
const CEILING: usize = 400;

#[test]
fn no_source_file_is_longer_than_the_ceiling() {
    for source in all() {
        let lines = source.text.lines().count();
        assert!(
            lines <= CEILING,
            "{}: {}: {lines} lines; split it",
            source.krate,
            source.path
        );
    }
}

#[test]
fn no_test_of_the_tier_unit_is_left_out() {
    for root in ["", "gateway/"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{root}tests/unit"));
        let texts = texts(&folder);
        assert!(!texts.is_empty(), "{}", folder.display());
        for (path, text) in texts {
            let mut lines = text.lines().map(str::trim_start);
            let is_marked = lines.any(|line| line.starts_with("#[ignore"));
            assert!(!is_marked, "{} has a test that never runs", path.display());
        }
    }
}

/// Tests run beside each other, each with hosts or a hypervisor of its own; `hack/fleet` refuses a
/// network that is in use.
#[test]
fn no_two_tests_have_the_same_network() {
    let mut users = BTreeMap::<String, Vec<String>>::new();
    for (path, text) in texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")) {
        for network in text.split('"').filter(|string| is_network(string)) {
            let user = path.display().to_string();
            users.entry(network.to_owned()).or_default().push(user);
        }
    }
    assert!(!users.is_empty());
    users.retain(|_, users| users.len() > 1);
    assert!(users.is_empty(), "networks of several tests: {users:#?}");
}

/// The first three numbers of a network under 10.0.0.0/8, such as `10.77.0`.
fn is_network(text: &str) -> bool {
    let numbers: Vec<_> = text.split('.').collect();
    let [first, rest @ ..] = numbers.as_slice() else {
        return false;
    };
    *first == "10" && rest.len() == 2 && rest.iter().all(|number| number.parse::<u8>().is_ok())
}

/// All files of Rust below a folder, if there is one.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| {
        if path.is_dir() {
            return texts(&path);
        }
        if path.extension().is_none_or(|of| of != "rs") {
            return Vec::new();
        }
        let text = std::fs::read_to_string(&path).expect("text");
        vec![(path, text)]
    });
    found.collect()
}
