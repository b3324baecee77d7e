//! The table of annotations and the constants that name them.

use std::collections::BTreeSet;

use super::*;

/// The values of the constants of `names.rs` that are annotations.
fn names() -> BTreeSet<&'static str> {
    let items = include_str!("api/names.rs").split("pub const ").skip(1);
    let annotations =
        items.filter(|item| item.starts_with("ANNOTATION_") || item.starts_with("HOOK_"));
    annotations
        .map(|item| item.split('"').nth(1).expect("a value"))
        .collect()
}

#[test]
fn every_annotation_has_a_row_and_every_row_is_one() {
    let rows: BTreeSet<&str> = ALL.iter().map(|one| one.name).collect();
    assert!(rows.len() > 20, "{rows:?}");
    assert_eq!(rows, names());
}

#[test]
fn no_kind_has_two_rows_of_one_name() {
    let mut seen = BTreeSet::new();
    for one in ALL {
        for kind in one.kinds {
            assert!(seen.insert((one.name, kind)), "{} of {kind}", one.name);
        }
    }
}

#[test]
fn what_a_person_sets_has_a_command_that_names_it_or_is_a_verb() {
    for one in ALL {
        for kind in one.kinds {
            let Some(command) = one.command() else {
                continue;
            };
            let command = command(&kind.to_lowercase(), "ns", "x");
            let is_verb = command.starts_with("tatara ");
            assert!(is_verb || command.contains(one.name), "{command}");
            assert!(command.contains(" x") && command.contains("-n ns"));
        }
    }
}

#[test]
fn an_annotation_is_found_by_kind_and_key() {
    let hook = format!("{HOOK_PRE_DRAIN}/backup");
    for (kind, key, meaning) in [
        (
            "Machine",
            ANNOTATION_HOST_IS_GONE,
            Some("what it ran on is destroyed, erased or disconnected for good"),
        ),
        (
            "Cluster",
            ANNOTATION_HOST_IS_GONE,
            Some(
                "what the Machine of this UID, which does not exist any more, ran on is gone for good",
            ),
        ),
        (
            "Machine",
            &hook,
            Some("its Node is not drained while this is there"),
        ),
        ("Host", &hook, None),
        ("Machine", "tatara.dev/hostess", None),
        ("Machine", "example.org/other", None),
    ] {
        let found = find(kind, key).map(|one| one.meaning);
        assert_eq!(found, meaning, "{key} of {kind}");
    }
}
