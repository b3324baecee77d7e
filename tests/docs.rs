//! The documents say what the code does.

// what fails here fails the test
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

/// CamelCase words in the code of controllers that are no condition, reason, phase or state; some are codes of the
/// gateway, which have another name in a condition.
const OTHER: &str = "Apply BadSpec ChecksumMismatch Cluster ConfigMap Credentials DiskFull Failed False Healthy \
    ImageRefused InternalIP Joined MachineBusy MachineDeployment MachineSet Node Output PoolFull PoolInactive PuTTY \
    Secret Session Simulated True Unauthenticated Unknown UnknownField";

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

/// As they are, before a blank is filled in: an editor, or a linter, reads them.
#[test]
fn the_examples_are_yaml_with_three_kinds_of_blanks_and_nothing_that_we_do_not_know() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/examples");
    let objects = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).expect("an example");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
        objects
    };
    let mut hosts = objects("10-hosts.yaml");
    for (host, letter) in hosts.iter_mut().zip(["A", "B", "C"]) {
        let ssh = &host["spec"]["ssh"];
        assert_eq!(ssh["address"], format!("ADDRESS-{letter}"));
        assert_eq!(ssh["hostKeys"], json!([format!("KEY-{letter}")]));
        let read: Result<tatara::api::Host, _> = serde_json::from_value(host.take());
        read.expect("a Host");
    }
    assert_eq!(hosts.len(), 3);
    let cluster = objects("20-cluster.yaml").remove(0);
    let value = cluster["spec"]["providerSpec"]["value"].clone();
    let settings = tatara::api::ClusterProviderSpec::decode(Some(&value)).expect("settings");
    let endpoint = settings.control_plane_endpoint.expect("an endpoint");
    assert_eq!(endpoint.host, "ENDPOINT");
    let machines = objects("30-machines.yaml");
    let specs = [
        &machines[0]["spec"]["providerSpec"]["value"],
        &machines[1]["providerSpec"]["value"],
    ];
    for spec in specs {
        tatara::api::MachineProviderSpec::decode(spec).expect("a provider spec");
    }
    let deployment: Result<tatara::api::MachineDeployment, _> =
        serde_json::from_value(machines[2].clone());
    deployment.expect("a MachineDeployment");
}
