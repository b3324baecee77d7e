//! The commands of `tatara` that messages name are built in one file.

use super::sources::all;

#[test]
fn commands_of_tatara_in_messages_are_built_in_one_file() {
    let names_one = |text: &String| {
        ["describe", "logs"]
            .iter()
            .any(|verb| text.contains(&format!("tatara {verb} ")))
    };
    let sources = all();
    // what a command line prints of itself is its own
    let others = sources
        .iter()
        .filter(|source| !source.path.starts_with("cli/"));
    let builds = others.filter(|source| source.strings().iter().any(names_one));
    let builds: Vec<&str> = builds.map(|source| &*source.path).collect();
    assert_eq!(builds, ["remedy.rs"]);
}
