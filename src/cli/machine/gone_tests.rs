use serde_json::{Value, json};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn of<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object")
}

fn condition(status: &str) -> Value {
    json!([{ "type": "Reachable", "status": status, "reason": "R", "message": "",
        "lastTransitionTime": at(-60).to_string() }])
}

fn server(reachable: &str, power: &str) -> Host {
    let ssh = json!({ "address": "192.0.2.1", "credentialsRef": { "name": "key" } });
    let status = json!({ "conditions": condition(reachable), "bmc": { "powerState": power } });
    let claim = json!({ "name": "cp", "uid": "u", "cluster": "c" });
    let spec = json!({ "ssh": ssh, "consumerRef": claim });
    of(json!({ "metadata": { "name": "h" }, "spec": spec, "status": status }))
}

fn member(name: &str) -> Machine {
    of(json!({
        "metadata": { "name": name, "uid": name },
        "spec": { "providerSpec": {}, "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
        "status": { "nodeRef": { "name": name } },
    }))
}

/// A control plane beside another, in deletion, whose host does not answer.
fn known() -> Known {
    let machine = json!({
        "metadata": { "name": "cp", "namespace": "n", "uid": "u", "deletionTimestamp": at(0).to_string(),
            "labels": { "cluster.k8s.io/cluster-name": "c" }, "annotations": { "tatara.dev/host": "h" } },
        "spec": { "providerSpec": {}, "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
        "status": { "nodeRef": { "name": "node-h" } },
    });
    let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "" });
    let made = json!({ (ANNOTATION_INITIALIZED): "u" });
    let cluster = json!({ "metadata": { "name": "c", "namespace": "n", "annotations": made },
        "spec": { "clusterNetwork": network } });
    Known {
        machine: of(machine),
        cluster: Some(of(cluster)),
        others: vec![member("other")],
        host: Some(server("False", "Off")),
        hypervisor: None,
    }
}

type Case = (&'static str, fn(&mut Known), Option<(bool, &'static str)>);

/// Whether something shows that it is there, or nothing would come of it; and a part of what is
/// told.
#[track_caller]
fn expect(table: &[Case]) {
    for (case, change, expected) in table {
        let mut known = known();
        change(&mut known);
        let found = objection(&known, at(0));
        let Some((is_shown, part)) = expected else {
            assert_eq!(found, None, "{case}");
            continue;
        };
        let is_so = matches!(found, Some(Objection::Shown(_)));
        assert_eq!(is_so, *is_shown, "{case}");
        let Some(Objection::Shown(why) | Objection::Useless(why)) = &found else {
            panic!("{case}: nothing speaks against it");
        };
        assert!(why.contains(part), "{case}: {why}");
    }
}

#[test]
fn what_shows_that_a_machine_is_there_speaks_against_it() {
    expect(&[
        ("silent and off", |_| (), None),
        (
            "answers",
            |k| k.host = Some(server("True", "Off")),
            Some((true, "condition Reachable of Host h")),
        ),
        (
            "on",
            |k| k.host = Some(server("False", "On")),
            Some((true, "is on")),
        ),
        (
            "another's host",
            |k| {
                let mut host = server("True", "On");
                host.spec.consumer_ref = None;
                k.host = Some(host);
            },
            None,
        ),
        (
            "its claim was removed",
            |k| {
                let mut host = server("True", "On");
                host.spec.consumer_ref = None;
                let marker = json!({ "namespace": "n", "name": "cp", "uid": "u" });
                host.status.as_mut().expect("it").marker = Some(of(marker));
                k.host = Some(host);
            },
            Some((true, "restore the claim")),
        ),
        ("its Host is missing", |k| k.host = None, None),
    ]);
}

#[test]
fn nothing_is_declared_of_which_nothing_would_come() {
    expect(&[
        (
            "declared",
            |k| {
                let all = k.machine.annotations_mut();
                all.insert(ANNOTATION_HOST_IS_GONE.into(), "u".into());
            },
            Some((false, "already")),
        ),
        (
            "the last",
            |k| k.others.clear(),
            Some((false, "the last control-plane")),
        ),
        (
            "the others leave, or have not joined",
            |k| {
                let mut leaves = member("leaves");
                leaves.metadata.deletion_timestamp = k.machine.metadata.deletion_timestamp.clone();
                let mut fresh = member("fresh");
                fresh.status = None;
                k.others = vec![leaves, fresh];
            },
            Some((false, "the last control-plane")),
        ),
        (
            "the last, with its Cluster",
            |k| {
                k.others.clear();
                k.cluster = None;
            },
            None,
        ),
        (
            "no host",
            |k| {
                k.machine.annotations_mut().clear();
                (k.host, k.machine.status) = (None, None);
            },
            Some((false, "has no host")),
        ),
        (
            "no record of its host",
            |k| {
                k.machine.annotations_mut().clear();
                k.host = None;
            },
            None,
        ),
    ]);
}

#[test]
fn the_host_of_a_machine_is_told_by_claim_then_marker_then_choice() {
    let named = |name: &str, change: fn(&mut Host)| {
        let mut host = server("False", "Off");
        host.metadata.name = Some(name.into());
        host.spec.consumer_ref = None;
        change(&mut host);
        host
    };
    let claimed = || {
        named("claimed", |host| {
            host.spec.consumer_ref = server("False", "Off").spec.consumer_ref;
        })
    };
    let marked = || {
        named("marked", |host| {
            let marker = json!({ "namespace": "n", "name": "cp", "uid": "u" });
            host.status.as_mut().expect("it").marker = Some(of(marker));
        })
    };
    let (chosen, other) = (|| named("h", |_| ()), || named("other", |_| ()));
    for (hosts, expected) in [
        (
            vec![other(), chosen(), marked(), claimed()],
            Some("claimed"),
        ),
        (vec![chosen(), marked()], Some("marked")),
        (vec![other(), chosen()], Some("h")),
        (vec![other()], None),
    ] {
        let found = host(&known().machine, &hosts);
        let name = found.and_then(|host| host.metadata.name);
        assert_eq!(name.as_deref(), expected);
    }
}

#[test]
fn what_comes_of_it_depends_on_what_the_machine_is() {
    let of_control_plane = consequences(&known()).join("\n");
    for part in [
        "takes effect at once",
        "Node node-h",
        "etcd member",
        "Host h is not reset",
        "twice",
    ] {
        assert!(of_control_plane.contains(part), "{of_control_plane}");
    }
    let mut worker = known();
    worker.machine.metadata.deletion_timestamp = None;
    worker.machine.spec.versions = None;
    (worker.machine.status, worker.host) = (None, None);
    let all = worker.machine.annotations_mut();
    all.clear();
    all.insert(ANNOTATION_HYPERVISOR.into(), "v".into());
    let of_worker = consequences(&worker).join("\n");
    for part in ["delete machine cp", "Hypervisor v"] {
        assert!(of_worker.contains(part), "{of_worker}");
    }
    for part in ["etcd", "Node", "Host h"] {
        assert!(!of_worker.contains(part), "{of_worker}");
    }
}
