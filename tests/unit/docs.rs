//! The documents say what the code does.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tatara_core::api::conditions::{ConditionType, Reason, Severity};
use tatara_core::kubeadm::KubernetesVersion;
use tatara_core::kubeadm::version::{NEWEST_MINOR, OLDEST_MINOR};

pub fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn page() -> String {
    file("docs/troubleshooting.md")
}

fn is_word(text: &&str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphabetic())
        && letters.any(|c| c.is_ascii_lowercase())
}

/// States and phases in the page's tables, which are no reasons or conditions.
const STATES: &str = "Available Bootstrapping Claimed Failed Installing NotReady Pending Provisioning Quarantined \
    Registering Releasing Running Unknown Unreachable";

#[test]
fn every_condition_and_reason_is_in_troubleshooting_and_no_other() {
    let page = page();
    let named: BTreeSet<&str> = page.split('`').filter(is_word).collect();
    let conditions = ConditionType::ALL.iter().map(|type_| type_.as_str());
    let known: BTreeSet<&str> = Reason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .chain(conditions)
        .collect();
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "not in the page: {missing:?}");
    let stale: Vec<_> = named
        .difference(&known)
        .filter(|word| !STATES.split(' ').any(|state| state == **word))
        .collect();
    assert!(stale.is_empty(), "in the page, not in the code: {stale:?}");
}

/// What an Event warns of is what the page gives somebody to do.
#[test]
fn nobody_is_warned_of_what_passes_by_itself() {
    let page = page();
    let mut acted_upon = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !cells[3].starts_with("nobody") || cells[3].contains("you") {
            acted_upon.extend(cells[1].split('`').filter_map(Reason::parse));
        }
    }
    for reason in Reason::ALL {
        let warns = reason.severity() == Severity::Warning;
        assert!(
            !warns || acted_upon.contains(reason),
            "{reason}: nobody acts"
        );
    }
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
        let read: Result<tatara_core::api::Host, _> = serde_json::from_value(host.take());
        read.expect("a Host");
    }
    assert_eq!(hosts.len(), 3);
    let cluster = objects("20-cluster.yaml").remove(0);
    let value = cluster["spec"]["providerSpec"]["value"].clone();
    let settings = tatara_core::api::ClusterProviderSpec::decode(Some(&value)).expect("settings");
    let endpoint = settings.control_plane_endpoint.expect("an endpoint");
    assert_eq!(endpoint.host, "ENDPOINT");
    let machines = objects("30-machines.yaml");
    let specs = [
        &machines[0]["spec"]["providerSpec"]["value"],
        &machines[1]["providerSpec"]["value"],
    ];
    for spec in specs {
        tatara_core::api::MachineProviderSpec::decode(spec).expect("a provider spec");
    }
    let deployment: Result<tatara_core::api::MachineDeployment, _> =
        serde_json::from_value(machines[2].clone());
    deployment.expect("a MachineDeployment");
}

/// A version that hack/versions pins.
fn pinned(name: &str) -> String {
    let text = file("hack/versions");
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(&format!("{name}=")));
    let mut words = value.unwrap_or_default().split_whitespace();
    words.next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_on_versions_has_the_range_of_the_code_and_what_the_tests_run() {
    let page = file("docs/versions.md");
    assert!(page.contains(&format!("v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR}")));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| 1."));
    let minors: Vec<u64> = rows
        .filter_map(|row| row.split(' ').next()?.parse().ok())
        .collect();
    let range: Vec<u64> = (OLDEST_MINOR..=NEWEST_MINOR).rev().collect();
    assert_eq!(minors, range);
    for name in [
        "KUBERNETES",
        "KUBERNETES_PREVIOUS",
        "KUBERNETES_OLDEST",
        "ETCD",
        "ETCD_PREVIOUS",
        "COREDNS",
    ] {
        assert!(page.contains(&pinned(name)), "{name}");
    }
    let newest: KubernetesVersion = pinned("KUBERNETES").parse().expect("a version");
    assert_eq!(newest.minor(), NEWEST_MINOR, "hack/versions");
}

#[test]
fn the_examples_and_the_page_on_day_2_have_the_versions_that_the_tests_run() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let versions = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        words
            .filter(|word| word.starts_with("v1.") && word.matches('.').count() == 2)
            .map(|word| word.trim_end_matches('.').to_owned())
            .filter(|word| word.matches('.').count() == 2)
            .collect()
    };
    let example = versions(&file("templates/examples/30-machines.yaml"));
    assert_eq!(example, BTreeSet::from([new.clone()]));
    let page = versions(&file("docs/day-2.md"));
    assert_eq!(page, BTreeSet::from([new, old]));
    let removed = format!("v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR} removed");
    assert!(file("docs/day-2.md").contains(&removed));
}

/// A reader finds the way of a Machine, in at most this many files.
const LONGEST_WAY: usize = 20;

#[test]
fn the_way_of_a_machine_goes_through_functions_that_exist() {
    let page = file("docs/architecture.md");
    let mut files = BTreeSet::new();
    for line in page
        .lines()
        .filter(|line| line.starts_with("| `src/") || line.starts_with("| `core/src/"))
    {
        let words: Vec<&str> = line.split('`').collect();
        let [_, path, " | ", function, text] = words.as_slice() else {
            continue;
        };
        if !text.starts_with(" | ") {
            continue;
        }
        let has_it = file(path).contains(&format!("fn {function}"));
        assert!(has_it, "{path} has no function {function}");
        files.insert(*path);
    }
    assert!(
        (15..=LONGEST_WAY).contains(&files.len()),
        "{} files",
        files.len()
    );
}

/// Variants of an enum, as its source says.
/// Alphabetical, each once, and in files that exist.
#[test]
fn the_glossary_names_where_each_noun_is() {
    let page = file("docs/glossary.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    let nouns = rows.iter().skip(1).map(|row| row.split(" | ").next());
    let nouns: Vec<String> = nouns.flatten().map(str::to_lowercase).collect();
    assert!(nouns.len() >= 30 && nouns.is_sorted(), "{nouns:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for row in rows {
        let place = row
            .trim_end_matches(" |")
            .rsplit(" | ")
            .next()
            .unwrap_or_default();
        let paths = place.split('`').skip(1).step_by(2);
        for path in paths {
            assert!(root.join(path).exists(), "{path} of: {row}");
        }
    }
}

fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let body = source.split(&format!("pub enum {name} {{")).nth(1);
    let body = body.expect("the enum").split("\n}").next();
    let lines = body.unwrap_or_default().lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_suffix(','));
    names.map(str::to_owned).collect()
}

#[test]
fn the_diagrams_have_the_phases_and_states_that_the_code_has() {
    let page = file("docs/architecture.md");
    let diagrams: Vec<BTreeSet<String>> = page
        .split("stateDiagram-v2")
        .skip(1)
        .map(|diagram| {
            let lines = diagram.split("```").next().unwrap_or_default().lines();
            let words =
                lines.flat_map(|line| line.split(':').next().unwrap_or_default().split(" --> "));
            let words = words.map(|word| word.trim().to_owned());
            words
                .filter(|word| !word.is_empty() && word != "[*]")
                .collect()
        })
        .collect();
    let phases = variants(&file("core/src/machine/plan/summary.rs"), "Phase");
    let states = variants(&file("core/src/host/plan/mod.rs"), "State");
    assert_eq!(diagrams, [phases, states]);
}

/// A table that nobody reads to its end guards nothing.
const MOST_GUARDS: usize = 30;

#[test]
fn each_guard_between_tenants_has_a_test_that_is_there() {
    let page = file("docs/security.md");
    let table = page.split("## Who reaches what").nth(1);
    let table = table.and_then(|rest| rest.split("\n## ").next());
    let rows = table
        .expect("the table")
        .lines()
        .skip_while(|line| !line.starts_with("|---"));
    let rows: Vec<&str> = rows.skip(1).filter(|line| line.starts_with('|')).collect();
    assert!(
        (20..=MOST_GUARDS).contains(&rows.len()),
        "{} rows",
        rows.len()
    );
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [_, _, guard, test] = cells[..] else {
            panic!("four cells: {row}")
        };
        assert!(!guard.trim().is_empty(), "{row}");
        // one for each part of what stops it
        for named in test.trim_end_matches(" |").split(", ") {
            let named = named.trim_matches('`');
            let (path, name) = named.split_once("::").expect("path::name");
            assert!(is_test(&file(path), name), "{path} has no test {name}");
        }
    }
}

/// Whether the source has a test of this name, which is not left out.
pub fn is_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let call = format!("fn {name}(");
    let found = lines.iter().position(|line| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.starts_with(&call)
    });
    let above = |at: usize| lines[..at].iter().rev();
    found.is_some_and(|at| {
        let attributes =
            above(at).take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        attributes.into_iter().any(|line| line.contains("test"))
    })
}
