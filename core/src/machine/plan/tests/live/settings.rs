use super::*;
use crate::machine::live::settings::{created_with, made_with, may_begin};
use crate::settings::Settings;

fn registry(name: &str) -> Settings {
    let settings = json!({ "kubeadm.clusterConfiguration": { "imageRepository": name } });
    serde_json::from_value(settings).expect("settings")
}

/// A control-plane Machine on whose machine kubeadm was started, with these settings.
fn made(name: &str, uid: &str, repository: &str) -> Machine {
    let mut machine = machine(name, uid, true);
    let text = Value::Object(registry(repository)).to_string();
    machine
        .annotations_mut()
        .insert(ANNOTATION_SETTINGS.into(), text);
    machine
}

#[test]
fn a_node_is_made_with_what_its_cluster_has_by_its_record_or_by_that_of_another() {
    let recorded = |observed| {
        with_cluster(observed, |cluster| {
            cluster.settings.recorded = registry("of-record");
        })
    };
    let others = || Some(registry("of-another"));
    for (case, observed, kind, expected) in [
        (
            "record",
            recorded(control_plane()),
            JobKind::Join,
            Some("of-record"),
        ),
        ("none", control_plane(), JobKind::Join, Some("of-another")),
        ("no join", control_plane(), JobKind::Prepare, None),
    ] {
        let record = created_with(&observed, kind, others);
        assert_eq!(record.is_some(), expected.is_some(), "{case}");
        let has = |name: &str| record.as_ref().is_some_and(|text| text.contains(name));
        assert!(expected.is_none_or(has), "{case}: {record:?}");
    }
    let no_cluster = Observed {
        cluster: None,
        ..control_plane()
    };
    assert_eq!(created_with(&no_cluster, JobKind::Join, others), None);
}

#[test]
fn a_control_plane_is_like_the_one_that_made_it_or_like_another_that_was_begun() {
    let me = control_plane();
    let first = made("cp-1", OTHER, "first");
    let own = Arc::new(made("cp-0", ME, "own"));
    let begun = Arc::new(made("cp-2", "third", "third"));
    let fresh = Arc::new(machine("cp-3", "fourth", true));
    let all = [own.clone(), fresh.clone(), begun];
    assert_eq!(made_with(&me, Some(&first), &all), Some(registry("first")));
    assert_eq!(made_with(&me, None, &all), Some(registry("third")));
    assert_eq!(made_with(&me, None, &[own, fresh]), None);
}

#[test]
fn only_the_machine_that_is_next_begins() {
    let observed = running(worker());
    assert_eq!(may_begin(&observed, &machine("w-0", ME, false)), None);
    assert!(may_begin(&observed, &machine("w-1", OTHER, false)).is_some());
}
