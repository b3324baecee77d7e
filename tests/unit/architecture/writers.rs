//! Who writes does not judge: what stands on an object, and forbids a write, is read by the core.

use std::collections::BTreeSet;

use super::sources::{Source, sources};

/// Where objects are written, and hosts changed.
const FOLDERS: [&str; 2] = ["controllers", "providers"];

/// A file that names one of these writes to an API server.
const WRITES: [&str; 4] = ["DeleteParams", "PatchParams", "PostParams", "patch"];

/// Names of what forbids a write, or says why: a judgement, which is a function of `core/src/…/live` or of another module of the core.
const JUDGES: [&str; 7] = [
    "ANNOTATION_PAUSED",
    "Reason",
    "consumer_ref",
    "deletion_timestamp",
    "maintenance",
    "permits",
    "releasing",
];

/// These name such a thing, and judge nothing by it just before a write.
const OTHERS: [(&str, &[&str], &str); 6] = [
    (
        "controllers/credential/mod.rs",
        &["consumer_ref"],
        "what it observes",
    ),
    (
        "controllers/host/released.rs",
        &["consumer_ref"],
        "which Machine is read",
    ),
    (
        "controllers/machine_set/live.rs",
        &["deletion_timestamp"],
        "what it observes",
    ),
    (
        "controllers/ownership.rs",
        &["Reason", "deletion_timestamp"],
        "whose object it is, before each pass",
    ),
    (
        "providers/install/steps.rs",
        &["Reason", "consumer_ref"],
        "news of what was done, and which Machine is read",
    ),
    (
        "providers/simulated.rs",
        &["Reason", "deletion_timestamp", "releasing"],
        "its machines, which are in memory",
    ),
];

/// What a file that writes names of what forbids a write.
fn judgements(source: &Source) -> BTreeSet<String> {
    let words = source.tokens();
    if !words.iter().any(|word| WRITES.contains(&word.as_str())) {
        return BTreeSet::new();
    }
    let judges = words.into_iter();
    judges
        .filter(|word| JUDGES.contains(&word.as_str()))
        .collect()
}

#[test]
fn who_writes_an_object_does_not_judge_by_it() {
    let mut found = Vec::new();
    for source in FOLDERS.iter().flat_map(|folder| sources("tatara", folder)) {
        let judgements = judgements(&source);
        if !judgements.is_empty() {
            found.push((source.path, judgements.into_iter().collect::<Vec<_>>()));
        }
    }
    found.sort();
    let others = OTHERS.map(|(path, words, _)| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        (path.to_owned(), words)
    });
    assert_eq!(found, others, "decide it in the core, and match on that");
}

#[test]
fn a_judgement_is_seen_only_in_code_of_a_file_that_writes() {
    for (text, expected) in [
        (
            "use crate::engine::patch; fn a(host: &Host) { if host.spec.maintenance {} }",
            &["maintenance"][..],
        ),
        (
            "use kube::api::PostParams; fn a() { b(Reason::Paused) }",
            &["Reason"],
        ),
        ("fn a(host: &Host) -> bool { host.spec.maintenance }", &[]),
        (
            "use crate::engine::patch; // maintenance\nconst A: &str = \"releasing\";",
            &[],
        ),
        (
            "use crate::engine::patch;\n#[cfg(test)]\nmod tests { use tatara_core::api::Reason; }",
            &[],
        ),
    ] {
        let source = Source {
            krate: "tatara",
            path: "controllers/host/perform.rs".into(),
            text: text.into(),
        };
        let found: Vec<String> = judgements(&source).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }
}
