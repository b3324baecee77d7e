//! One file says which Rust this is built with; what cargo makes every package repeat agrees with it.

use std::path::Path;

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text of a key whose line is `key = "text"`.
fn value<'a>(toml: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = toml.lines();
    lines.find_map(|line| {
        line.strip_prefix(key)?
            .strip_prefix(" = \"")?
            .strip_suffix('"')
    })
}

#[test]
fn every_package_asks_for_the_minor_version_of_the_toolchain() {
    let toolchain = file("rust-toolchain.toml");
    let channel = value(&toolchain, "channel").expect("a channel");
    let (minor, patch) = channel.rsplit_once('.').expect("major.minor.patch");
    let is_release = minor.contains('.') && patch.parse::<u8>().is_ok();
    assert!(is_release, "{channel} is another one from day to day");
    for package in ["", "gateway/", "gateway/net/", "gateway/wire/"] {
        let manifest = file(&format!("{package}Cargo.toml"));
        assert_eq!(value(&manifest, "rust-version"), Some(minor), "{package}");
    }
}
