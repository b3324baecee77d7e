use serde_json::{Value, json};

use super::*;

const CA: &str = "sha256:ca";

/// The marker of a Machine of a Cluster. The Machine under test is `me` of Cluster `a`.
fn of(uid: &str, cluster: &str) -> Marker {
    Marker {
        namespace: "n".into(),
        cluster: cluster.into(),
        machine: format!("machine-{uid}"),
        uid: uid.into(),
        ..Marker::default()
    }
}

fn says(authority: Option<&str>, owner: Option<Marker>) -> Sighting {
    Sighting {
        authority: authority.map(str::to_owned),
        owner,
    }
}

/// A claim by Machine `uid` that names this Cluster.
fn claim(uid: &str, cluster: &str) -> Value {
    json!({"name": format!("machine-{uid}"), "uid": uid, "cluster": cluster})
}

fn host_of(name: &str, claim: &Value) -> Arc<Host> {
    let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"ssh": {"address": "192.0.2.1", "credentialsRef": {"name": "key"}}, "consumerRef": claim}});
    Arc::new(serde_json::from_value(host).expect("a Host"))
}

/// A Machine with these annotations and this status.
fn machine_with(uid: &str, cluster: &str, annotations: &Value, status: &Value) -> Arc<Machine> {
    let metadata = json!({"name": format!("machine-{uid}"), "namespace": "n", "uid": uid,
        "labels": {(LABEL_CLUSTER): cluster}, "annotations": annotations});
    let machine = json!({"metadata": metadata, "spec": {}, "status": status});
    Arc::new(serde_json::from_value(machine).expect("a Machine"))
}

fn running(uid: &str, cluster: &str) -> Arc<Machine> {
    let status = json!({"nodeRef": {"name": "node"}});
    machine_with(uid, cluster, &json!({}), &status)
}

fn pending(uid: &str, cluster: &str) -> Arc<Machine> {
    machine_with(uid, cluster, &json!({}), &Value::Null)
}

/// The witness among these Hosts (with observations), none of which this Machine holds, and these
/// Machines.
fn asked(
    authority: Option<&str>,
    hosts: &[(Arc<Host>, Option<Sighting>)],
    machines: &[Arc<Machine>],
) -> Result<Option<Witness>, Unread> {
    let machine_of = |uid: &str| {
        let found = machines.iter().find(|m| m.uid().as_deref() == Some(uid));
        found.cloned()
    };
    let all: Vec<_> = hosts.iter().map(|(host, _)| host.clone()).collect();
    let sighting = |name: &str| {
        let of = hosts.iter().find(|(host, _)| host.name_any() == name);
        of.and_then(|(_, sighting)| sighting.clone())
    };
    host(&all, &of("me", "a"), authority, sighting, machine_of)
}

fn witness(owner: Option<Marker>, is_claimed: bool) -> Witness {
    Witness::Host {
        name: "h".into(),
        owner,
        is_claimed,
    }
}

#[test]
fn a_host_with_the_key_of_the_ca_is_a_witness_whoever_claims_it() {
    let ours = || Some(of("m", "a"));
    for (case, claim, said, machines, expected) in [
        (
            "free",
            Value::Null,
            Some(says(Some(CA), ours())),
            vec![],
            Some(witness(ours(), false)),
        ),
        (
            "no marker",
            Value::Null,
            Some(says(Some(CA), None)),
            vec![],
            Some(witness(None, false)),
        ),
        (
            "claimed by the Machine of its marker",
            claim("m", "a"),
            Some(says(Some(CA), ours())),
            vec![running("m", "a")],
            Some(witness(ours(), true)),
        ),
        (
            "which does not exist",
            claim("m", "a"),
            Some(says(Some(CA), ours())),
            vec![],
            Some(witness(ours(), false)),
        ),
        (
            "claimed by another Machine",
            claim("other", "a"),
            Some(says(Some(CA), ours())),
            vec![running("other", "a"), running("m", "a")],
            Some(witness(ours(), false)),
        ),
        (
            "with this Machine's marker, and without its claim",
            Value::Null,
            Some(says(Some(CA), Some(of("me", "a")))),
            vec![pending("me", "a")],
            Some(witness(Some(of("me", "a")), false)),
        ),
        (
            "with this Machine's UID in its claim, and not its host",
            claim("me", "a"),
            Some(says(Some(CA), ours())),
            vec![pending("me", "a")],
            Some(witness(ours(), false)),
        ),
        (
            "another key",
            Value::Null,
            Some(says(Some("sha256:other"), ours())),
            vec![],
            None,
        ),
        (
            "no key",
            Value::Null,
            Some(says(None, ours())),
            vec![],
            None,
        ),
        (
            "silent since it was first asked",
            Value::Null,
            Some(says(None, None)),
            vec![],
            None,
        ),
        ("never asked", Value::Null, None, vec![], None),
    ] {
        let hosts = [(host_of("h", &claim), said)];
        assert_eq!(asked(Some(CA), &hosts, &machines), Ok(expected), "{case}");
    }
}

#[test]
fn with_one_ca_for_several_clusters_a_host_speaks_for_its_own_and_one_edit_silences_none() {
    let theirs = || Some(says(Some(CA), Some(of("m", "b"))));
    let unmarked = || Some(says(Some(CA), None));
    let is_witness = Ok(Some(witness(None, false)));
    for (case, claim, said, machine, expected) in [
        (
            "the marker of b",
            Value::Null,
            theirs(),
            pending("x", "a"),
            Ok(None),
        ),
        (
            "the marker of b, whatever claims it",
            claim("m", "a"),
            theirs(),
            running("m", "a"),
            Ok(None),
        ),
        (
            "runs in b, and has lost its marker",
            claim("m", "b"),
            unmarked(),
            running("m", "b"),
            is_witness.clone(),
        ),
        (
            "its claim was edited, or is right",
            claim("m", "a"),
            unmarked(),
            running("m", "b"),
            is_witness.clone(),
        ),
        (
            "its label was edited, or is right",
            claim("m", "b"),
            unmarked(),
            running("m", "a"),
            is_witness.clone(),
        ),
        (
            "its Machine does not run yet",
            claim("m", "b"),
            unmarked(),
            pending("m", "b"),
            is_witness.clone(),
        ),
        (
            "its Machine does not exist",
            claim("gone", "b"),
            unmarked(),
            running("m", "b"),
            is_witness.clone(),
        ),
    ] {
        let hosts = [(host_of("h", &claim), said)];
        assert_eq!(asked(Some(CA), &hosts, &[machine]), expected, "{case}");
    }
}

#[test]
fn a_host_that_says_nothing_hides_none_and_without_the_ca_nobody_can_tell() {
    let of_a = || Some(says(Some(CA), Some(of("m", "a"))));
    let hosts = [
        (host_of("g", &Value::Null), Some(says(None, None))),
        (host_of("h", &Value::Null), of_a()),
        (host_of("i", &Value::Null), of_a()),
    ];
    let first = Some(witness(Some(of("m", "a")), false));
    assert_eq!(asked(Some(CA), &hosts, &[]), Ok(first));
    assert_eq!(asked(None, &hosts, &[]), Err(Unread));
    assert_eq!(asked(None, &[], &[]), Err(Unread), "no host yet");
    assert_eq!(asked(Some(CA), &[], &[]), Ok(None));
}

#[test]
fn only_the_hosts_of_running_machines_of_other_clusters_are_not_asked() {
    for (case, claim, machine, is_asked) in [
        ("free", Value::Null, pending("x", "a"), true),
        ("runs in b", claim("m", "b"), running("m", "b"), false),
        ("starts in b", claim("m", "b"), pending("m", "b"), true),
        ("a claim of a", claim("m", "a"), running("m", "b"), true),
        ("a label of a", claim("m", "b"), running("m", "a"), true),
        (
            "its Machine is gone",
            claim("m", "b"),
            pending("x", "b"),
            true,
        ),
    ] {
        let machine_of =
            |uid: &str| (machine.uid().as_deref() == Some(uid)).then(|| machine.clone());
        let hosts = to_ask(&[host_of("h", &claim)], &of("me", "a"), machine_of);
        assert_eq!(hosts.len() == 1, is_asked, "{case}");
    }
}

#[test]
fn a_machine_for_which_kubeadm_was_started_is_a_witness_until_it_is_proven_to_have_ended() {
    let started = json!({(ANNOTATION_SETTINGS): "{}"});
    let begun = |uid: &str| machine_with(uid, "a", &started, &Value::Null);
    let says = |machines: &[Arc<Machine>], ended: &str| {
        let has_ended = |uid: &str| uid == ended;
        machine(machines, &of("me", "a"), has_ended, |_| None)
    };
    let other = Some(Witness::Worker("machine-m".into()));
    assert_eq!(says(&[pending("m", "a"), begun("me")], ""), None);
    assert_eq!(says(&[begun("me"), begun("m")], ""), other);
    assert_eq!(says(&[begun("m")], "m"), None);
    assert_eq!(says(&[begun("x"), begun("m")], "x"), other);
    // a control-plane Machine is named as the creator of the control plane
    let mut maker = Machine::clone(&begun("cp"));
    let versions = json!({"kubelet": "1.36.3", "controlPlane": "1.36.3"});
    maker.spec = serde_json::from_value(json!({ "versions": versions })).expect("a spec");
    let maker = [begun("m"), Arc::new(maker)];
    let other = Some(Witness::Machine("machine-cp".into()));
    assert_eq!(says(&maker, ""), other);
}

#[test]
fn a_control_plane_machine_with_another_label_is_a_witness_unless_another_cluster_records_it() {
    let started = json!({(ANNOTATION_SETTINGS): "{}"});
    let stray = Witness::Stray {
        machine: "machine-m".into(),
        label: Some("b".into()),
    };
    let known = Witness::Machine("machine-m".into());
    for (case, control_plane, recorded, witness) in [
        ("recorded nowhere", "1.36.3", None, Some(stray)),
        ("recorded by this Cluster", "1.36.3", Some("a"), Some(known)),
        ("recorded by its own", "1.36.3", Some("b"), None),
        ("a worker", "", None, None),
    ] {
        let mut begun = Machine::clone(&machine_with("m", "b", &started, &Value::Null));
        let versions = json!({"kubelet": "1.36.3", "controlPlane": control_plane});
        let spec = json!({"versions": versions});
        begun.spec = serde_json::from_value(spec).expect("a spec");
        let recorded = |_: &Machine| recorded.map(str::to_owned);
        let found = machine(&[Arc::new(begun)], &of("me", "a"), |_| false, recorded);
        assert_eq!(found, witness, "{case}");
    }
}
