use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::controllers::cluster_cache::ClusterMemories;
use crate::controllers::machine::turn::take_down;
use crate::store::{Hook, Stores, Waker};
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::names::LABEL_CLUSTER;
use tatara_core::api::{Cluster, Host, Machine, MachineClass, MachineDeployment, MachineSet};
use tatara_core::control_plane::turn::{Holder, Marks};

/// The objects woken since the last call, as "Kind name".
type Woken = Box<dyn FnMut() -> BTreeSet<String>>;

fn waker<K>(kind: &'static str, all: &mut Vec<Woken>) -> Waker<K>
where
    K: Resource<DynamicType = ()> + 'static,
{
    let (waker, mut receiver) = Waker::channel();
    all.push(Box::new(move || {
        let mut woken = BTreeSet::new();
        while let Ok((object, _)) = receiver.try_recv() {
            woken.insert(format!("{kind} {}", object.name));
        }
        woken
    }));
    waker
}

fn wakers() -> (Wakers, Woken) {
    let mut all = Vec::new();
    let wakers = Wakers {
        clusters: waker("Cluster", &mut all),
        profiles: waker("ClusterProfile", &mut all),
        planners: waker("Planner", &mut all),
        machines: waker("Machine", &mut all),
        machine_sets: waker("MachineSet", &mut all),
        machine_deployments: waker("MachineDeployment", &mut all),
        machine_classes: waker("MachineClass", &mut all),
        hosts: waker("Host", &mut all),
        hypervisors: waker("Hypervisor", &mut all),
        credentials: waker("Secret", &mut all),
        gateway_credentials: waker("Gateway Secret", &mut all),
        bmc_credentials: waker("BMC Secret", &mut all),
    };
    let woken = move || all.iter_mut().flat_map(|woken| woken()).collect();
    (wakers, Box::new(woken))
}

fn owned(kind: &str, uid: &str) -> Value {
    let owner = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": kind, "name": uid, "uid": uid, "controller": true});
    json!([owner])
}

/// An object of cluster c with its name for UID.
fn object<K: DeserializeOwned>(name: &str, change: &Value) -> K {
    let mut object = json!({
        "metadata": {"namespace": "n", "name": name, "uid": name, "labels": {(LABEL_CLUSTER): "c"}},
        "spec": {
            "versions": {"kubelet": "v1.36.3"},
            "selector": {},
            "template": {"spec": {"versions": {"kubelet": "v1.36.3"}}},
            "clusterNetwork": {
                "services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": "",
            },
            "ssh": {"address": "192.0.2.1", "credentialsRef": {"name": "ssh"}},
        },
        "providerSpec": {},
    });
    merge(&mut object, change);
    serde_json::from_value(object).expect("an object")
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn stores() -> Arc<Stores> {
    let stores = Stores::default();
    let set = json!({"metadata": {"ownerReferences": owned("MachineDeployment", "pool")}});
    let machine = json!({"metadata": {"ownerReferences": owned("MachineSet", "pool-1")}});
    stores.clusters.hold(object::<Cluster>("c", &json!({})));
    let pool = object::<MachineDeployment>("pool", &json!({}));
    stores.machine_deployments.hold(pool);
    stores
        .machine_sets
        .hold(object::<MachineSet>("pool-1", &set));
    stores
        .machines
        .hold(object::<Machine>("pool-1-a", &machine));
    stores.machines.hold(object::<Machine>("alone", &json!({})));
    Arc::new(stores)
}

/// The objects woken by a change of an object.
fn woken_by<K: DeserializeOwned>(
    hook: fn(Arc<Stores>, Wakers) -> Hook<K>,
    name: &str,
    (before, after): (&Value, &Value),
    change: Change,
) -> BTreeSet<String> {
    let (wakers, mut woken) = wakers();
    let (before, after) = (object(name, before), object(name, after));
    hook(stores(), wakers)(&after, Some(&before), change);
    woken()
}

#[track_caller]
fn has(woken: &BTreeSet<String>, wanted: &[&str]) {
    for wanted in wanted {
        assert!(woken.contains(*wanted), "{wanted} sleeps: {woken:?}");
    }
}

fn paused() -> Value {
    json!({"metadata": {"annotations": {(ANNOTATION_PAUSED): ""}}})
}

#[test]
fn another_version_of_control_planes_wakes_the_sets_and_rolls_that_wait_for_it() {
    const WAIT: [&str; 2] = ["MachineDeployment pool", "MachineSet pool-1"];
    let versions = |version: &str| json!({ "kubelet": "v1.36.3", "controlPlane": version });
    let template = |version: &str| json!({ "spec": { "template": { "spec": { "versions": versions(version) } } } });
    let (old, new) = (template("v1.36.2"), template("v1.36.3"));
    let by =
        |before, after, change| woken_by(machine_deployment, "planes", (before, after), change);
    has(&by(&old, &new, Change::Applied), &WAIT);
    has(&by(&new, &new, Change::Deleted), &WAIT);
    assert!(!by(&new, &new, Change::Applied).contains("MachineSet pool-1"));
    let of = |version: &str| json!({ "spec": { "versions": versions(version) } });
    let (old, new) = (of("v1.36.2"), of("v1.36.3"));
    let mut goes = new.clone();
    goes["metadata"] = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let by = |before, after| woken_by(machine, "cp", (before, after), Change::Applied);
    has(&by(&old, &new), &WAIT);
    has(&by(&new, &goes), &WAIT);
}

#[test]
fn a_pause_that_comes_or_goes_wakes_all_that_it_holds_still() {
    let none = json!({});
    let paused = paused();
    for step in [(&none, &paused), (&paused, &none)] {
        let cluster = woken_by(clusters::cluster, "c", step, Change::Applied);
        let all = ["MachineDeployment pool", "MachineSet pool-1"];
        has(&cluster, &all);
        has(&cluster, &["Machine pool-1-a", "Machine alone"]);
        let pool = woken_by(machine_deployment, "pool", step, Change::Applied);
        has(&pool, &["MachineSet pool-1", "Machine pool-1-a"]);
        let set = woken_by(machine_set, "pool-1", step, Change::Applied);
        has(&set, &["Machine pool-1-a"]);
    }
    let lifted = woken_by(machine_set, "pool-1", (&paused, &paused), Change::Deleted);
    has(&lifted, &["Machine pool-1-a"]);
}

#[test]
fn a_change_that_nobody_looks_at_wakes_no_machines() {
    let (none, label) = (json!({}), json!({"metadata": {"labels": {"a": "b"}}}));
    let step = (&none, &label);
    let own = |woken: BTreeSet<String>| {
        let below = |name: &&String| name.starts_with("Machine ") || name.contains("Set");
        woken.iter().filter(below).cloned().collect::<Vec<_>>()
    };
    let cluster = woken_by(clusters::cluster, "c", step, Change::Applied);
    assert_eq!(own(cluster), Vec::<String>::new());
    let pool = woken_by(machine_deployment, "pool", step, Change::Applied);
    assert_eq!(own(pool), Vec::<String>::new());
    let set = woken_by(machine_set, "pool-1", step, Change::Applied);
    assert_eq!(own(set), ["MachineSet pool-1"]);
}

#[test]
fn sets_are_woken_when_the_control_plane_has_another_version() {
    let at = |version: &str| json!({"status": {"version": version}});
    let (old, new) = (at("v1.35.4"), at("v1.36.3"));
    let woken = woken_by(clusters::cluster, "c", (&old, &new), Change::Applied);
    has(&woken, &["MachineSet pool-1"]);
}

#[test]
fn the_machines_of_a_cluster_that_vanished_are_woken() {
    let none = json!({});
    let woken = woken_by(clusters::cluster, "c", (&none, &none), Change::Deleted);
    has(&woken, &["Machine pool-1-a", "Machine alone"]);
}

#[test]
fn a_control_plane_that_waits_for_workers_is_woken_by_their_end_whatever_its_spec_says() {
    let stores = stores();
    let condition = json!({"type": "Deleting", "status": "True", "reason": "WaitingForWorkers", "message": "1 worker",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let waits = json!({"status": {"conditions": [condition]}});
    stores.machines.hold(object::<Machine>("first", &waits));
    let (wakers, mut woken) = wakers();
    let gone = object::<Machine>("alone", &json!({}));
    machine(stores, wakers)(&gone, Some(&gone), Change::Deleted);
    let woken = woken();
    assert!(woken.contains("Machine first"), "{woken:?}");
    assert!(!woken.contains("Machine pool-1-a"), "{woken:?}");
}

#[test]
fn workers_that_wait_for_a_control_plane_are_woken_by_the_end_of_its_update() {
    let condition = |name: &str, status: &str, reason: &str| {
        json!({"type": name, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let with = |condition: Value| json!({"status": {"conditions": [condition]}});
    let stores = stores();
    let waits = with(condition("UpToDate", "False", "VersionSkew"));
    stores.machines.hold(object::<Machine>("worker", &waits));
    let mut planes = [
        with(condition("Updating", "True", "Updating")),
        with(condition("UpToDate", "True", "UpToDate")),
    ];
    for plane in &mut planes {
        let versions = json!({"kubelet": "v1.36.3", "controlPlane": "v1.36.3"});
        merge(plane, &json!({"spec": {"versions": versions}}));
    }
    let planes = planes.map(|plane| object::<Machine>("first", &plane));
    let (wakers, mut woken) = wakers();
    machine(stores, wakers)(&planes[1], Some(&planes[0]), Change::Applied);
    let woken = woken();
    assert!(woken.contains("Machine worker"), "{woken:?}");
    assert!(!woken.contains("Machine alone"), "{woken:?}");
}

#[test]
fn a_class_is_woken_when_it_is_used_no_more() {
    let of = |class: &str| json!({"valueFrom": {"machineClass": {"name": class}}});
    let direct = |class: &str| json!({"spec": {"providerSpec": of(class)}});
    let template =
        |class: &str| json!({"spec": {"template": {"spec": {"providerSpec": of(class)}}}});
    let both = ["MachineClass a", "MachineClass b"];
    let (a, b) = (template("a"), template("b"));
    has(
        &woken_by(machine_deployment, "pool", (&a, &b), Change::Applied),
        &both,
    );
    has(
        &woken_by(machine_set, "pool-1", (&a, &b), Change::Applied),
        &both,
    );
    has(
        &woken_by(machine_set, "pool-1", (&a, &a), Change::Deleted),
        &both[..1],
    );
    let inline = json!({"spec": {"providerSpec": {"value": {}}}});
    has(
        &woken_by(machine, "alone", (&direct("a"), &inline), Change::Applied),
        &both[..1],
    );
    let same = woken_by(machine_deployment, "pool", (&a, &a), Change::Applied);
    assert!(!same.contains("MachineClass a"), "{same:?}");
}

#[test]
fn a_cluster_whose_provider_changes_wakes_all_that_may_be_whose_it_is() {
    let theirs = json!({"apiVersion": "awsprovider/v1alpha1", "kind": "AWSClusterProviderSpec"});
    let theirs = json!({"spec": {"providerSpec": {"value": theirs}}});
    let all = ["MachineDeployment pool", "MachineSet pool-1"];
    let none = json!({});
    for states in [(&none, &theirs), (&theirs, &none)] {
        has(&woken_by(cluster, "c", states, Change::Applied), &all);
    }
    let same = woken_by(cluster, "c", (&theirs, &theirs), Change::Applied);
    assert!(!same.contains(all[0]) && !same.contains(all[1]), "{same:?}");
}

#[test]
fn the_host_of_a_machine_that_vanished_is_woken() {
    let (wakers, mut woken) = wakers();
    let stores = stores();
    let claim = json!({"spec": {"consumerRef": {"name": "alone", "uid": "alone", "cluster": "c"}}});
    stores.hosts.hold(object::<Host>("h", &claim));
    let gone: Machine = object("alone", &json!({}));
    machine(stores, wakers)(&gone, Some(&gone), Change::Deleted);
    has(&woken(), &["Host h"]);
}

#[test]
fn a_class_wakes_all_that_use_it() {
    let (wakers, mut woken) = wakers();
    let stores = stores();
    let provider = json!({"valueFrom": {"machineClass": {"name": "a"}}});
    let uses = json!({"spec": {"template": {"spec": {"providerSpec": provider}}}});
    stores
        .machine_deployments
        .hold(object::<MachineDeployment>("pool", &uses));
    let class: MachineClass = object("a", &json!({}));
    machine_class(stores, wakers)(&class, None, Change::Applied);
    has(&woken(), &["MachineClass a", "MachineDeployment pool"]);
}

#[test]
fn who_waits_for_the_turn_is_woken_by_what_is_news_of_it_on_the_ca_secret() {
    let (wakers, mut woken) = wakers();
    let stores = stores();
    let versions = json!({"spec": {"versions": {"kubelet": "v1.36.3", "controlPlane": "v1.36.3"}}});
    stores.machines.hold(object::<Machine>("cp", &versions));
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let cluster: Cluster = object("c", &json!({"spec": {"clusterNetwork": network}}));
    let known = ClusterMemories::default();
    let holder = |uid: &str| Marks {
        turn: Holder::Of(Turn {
            machine: uid.into(),
            name: uid.into(),
            action: TurnAction::Init,
        }),
        ..Marks::default()
    };
    let steps = [
        ("read for the first time", Some(holder("other")), true),
        ("the same", Some(holder("other")), false),
        ("given back", Some(Marks::default()), true),
        ("taken", Some(holder("cp")), true),
        ("lost", None, true),
        ("still lost", None, false),
    ];
    for (case, secret, wakes) in steps {
        take_down(&known, &stores, &wakers, &cluster, secret);
        let woken = woken();
        assert_eq!(woken.contains("Machine cp"), wakes, "{case}: {woken:?}");
        assert!(!woken.contains("Machine alone"), "a worker: {woken:?}");
    }
}

#[test]
fn what_a_gateway_tells_of_a_virtual_machine_without_a_machine_is_its_hypervisors() {
    let (stores, (wakers, mut woken)) = (stores(), wakers());
    let key = crate::gateway::ConnectionKey {
        namespace: "n".into(),
        name: "hypervisor-a".into(),
    };
    for (uid, expected) in [
        ("alone", "Machine alone"),
        ("given-up", "Hypervisor hypervisor-a"),
    ] {
        crate::manager::gateways::wake_machine(&stores, &wakers, &key, uid);
        assert_eq!(woken(), [expected.to_owned()].into());
    }
}

#[test]
fn a_control_plane_that_asks_for_the_turn_wakes_its_planner() {
    let of = |status: Value| json!({"spec": {"versions": {"controlPlane": "v1.36.3"}}, "status": status});
    let request = json!({"turnRequest": {"action": "upgrade", "since": "2026-11-29T08:00:00Z"}});
    let (idle, asks) = (of(json!({})), of(request));
    for (case, before, after, wakes) in [
        ("it asks", &idle, &asks, true),
        ("it asks no more", &asks, &idle, true),
        ("it asks on", &asks, &asks, false),
    ] {
        let woken = woken_by(machine, "cp", (before, after), Change::Applied);
        assert_eq!(woken.contains("Planner c"), wakes, "{case}: {woken:?}");
    }
}
