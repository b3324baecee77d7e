//! The commands that messages name are built in one place, `core/src/remedy`.

use super::sources::{Source, all};

/// Programs with their verbs, as a command begins; a text that is about one of them goes on
/// otherwise.
const COMMANDS: [&str; 8] = [
    "kubectl ",
    "tatara describe ",
    "tatara logs ",
    "tatara kubeconfig ",
    "tatara machine declare-gone {",
    "tatara cluster ",
    "tatara rollout ",
    "tatara crds | ",
];

/// Whether a string has a command; a string that is nothing but the beginning of one is for
/// recognising them.
fn has_command(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '#']);
    COMMANDS.iter().any(|command| {
        let mut found = text.match_indices(command);
        found.any(|(at, _)| at + command.len() < text.len())
    })
}

#[test]
fn commands_in_messages_are_built_in_one_place() {
    let names_one = |source: &&Source| source.strings().iter().any(|text| has_command(text));
    let sources = all();
    let builders: Vec<&str> = sources
        .iter()
        .filter(names_one)
        .map(|source| &*source.path)
        // what a command line prints of itself is its own
        .filter(|path| !path.starts_with("cli/") && !path.starts_with("remedy/"))
        .collect();
    assert!(
        builders.is_empty(),
        "move the commands to core/src/remedy: {builders:?}"
    );
}

#[test]
fn a_command_is_recognised_by_its_program_and_verb() {
    for (text, expected) in [
        (r#""to go on: kubectl -n {} annotate {}""#, true),
        (r#""{}; kubectl {host} {ANNOTATION}-""#, true),
        (r#""see tatara describe machine {name}""#, true),
        (r#"r"kubectl get nodes""#, true),
        // whys.rs knows commands by this
        (r#""kubectl ""#, false),
        (r#""kubelet, kubeadm and kubectl""#, false),
        (
            r#""declare it gone (tatara machine declare-gone, docs)""#,
            false,
        ),
    ] {
        assert_eq!(has_command(text), expected, "{text}");
    }
}
