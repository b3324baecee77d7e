use serde_json::{Value, json};

use super::*;
use crate::api::names::ANNOTATION_PAUSED;
use crate::api::names::ANNOTATION_SETTINGS;
use crate::api::readable::UNREADABLE;
use crate::control_plane::MemberId;

fn member(name: &str) -> Member {
    Member {
        id: MemberId(7),
        name: name.into(),
        peer_urls: vec!["https://10.0.0.3:2380".into()],
        is_learner: false,
    }
}

fn condition(type_: &str, status: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn machine(name: &str, annotations: &Value, status: &Value) -> Arc<Machine> {
    let manifest = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": { "name": name, "uid": format!("uid-{name}"), "annotations": annotations },
        "spec": { "providerSpec": {} }, "status": status,
    });
    Arc::new(serde_json::from_value(manifest).expect("a Machine"))
}

fn at(address: &str) -> Value {
    json!({ "addresses": [{ "type": "InternalIP", "address": address }] })
}

/// Its SSH address, those that it reported, who claims it, and whether it is clean.
fn host(ssh: &str, reported: &[&str], claim: Option<&str>, clean: &str) -> Arc<Host> {
    let facts = json!({
        "hostname": "h-name", "os": "", "architecture": "", "kernel": "", "cpus": 1, "memoryBytes": 1,
        "diskBytes": 1, "machineID": "", "addresses": reported,
    });
    let mut manifest = json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": { "name": "h" },
        "spec": { "ssh": { "address": ssh, "credentialsRef": { "name": "key" } } },
        "status": {
            "facts": facts,
            "conditions": [condition("Reachable", "True"), condition("Clean", clean)],
        },
    });
    if let Some(name) = claim {
        manifest["spec"]["consumerRef"] = json!({ "name": name, "uid": format!("uid-{name}") });
    }
    Arc::new(serde_json::from_value(manifest).expect("a Host"))
}

fn hypervisor(reachable: &str, known: &str) -> Arc<Hypervisor> {
    let manifest = json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor", "metadata": { "name": "v" },
        "spec": { "url": "https://192.0.2.1:8443", "credentialsRef": { "name": "token" } },
        "status": { "conditions": [condition("Reachable", reachable), condition("MachinesKnown", known)] },
    });
    Arc::new(serde_json::from_value(manifest).expect("a Hypervisor"))
}

fn of_machine(machine: Arc<Machine>) -> Fleet {
    Fleet {
        machines: vec![machine],
        ..Fleet::default()
    }
}

fn of_host(host: Arc<Host>) -> Fleet {
    Fleet {
        hosts: vec![host],
        ..Fleet::default()
    }
}

#[track_caller]
fn expect(case: &str, fleet: &Fleet, expected: Option<&str>) {
    let found = fleet.holder(&member("s"));
    match (&found, expected) {
        (Some(found), Some(part)) => assert!(found.contains(part), "{case}: {found}"),
        (found, expected) => assert_eq!(found.as_deref(), expected, "{case}"),
    }
}

#[test]
fn a_machine_has_a_member_by_its_address_or_a_name_and_may_have_it_where_it_has_no_address() {
    let (empty, here, there) = (json!({}), at("10.0.0.3"), at("10.0.0.4"));
    let named = json!({ "addresses": there["addresses"], "nodeRef": { "name": "s" } });
    let begun = json!({ (ANNOTATION_SETTINGS): "{}" });
    let bad = json!({ (UNREADABLE): "why" });
    let table = [
        ("elsewhere", machine("m", &empty, &there), None),
        (
            "at its address",
            machine("m", &empty, &here),
            Some("Machine m"),
        ),
        (
            "of its name",
            machine("s", &empty, &there),
            Some("Machine s"),
        ),
        (
            "its Node has the name",
            machine("m", &empty, &named),
            Some("Machine m"),
        ),
        ("not begun", machine("m", &empty, &empty), None),
        (
            "begun somewhere",
            machine("m", &begun, &empty),
            Some("Machine m"),
        ),
        (
            "not read",
            machine("m", &bad, &empty),
            Some("Machine m cannot be read"),
        ),
    ];
    for (case, machine, expected) in table {
        expect(case, &of_machine(machine), expected);
    }
    let mut claimed = of_machine(machine("m", &begun, &empty));
    claimed.hosts = vec![host("10.0.0.4", &["10.0.0.4"], Some("m"), "True")];
    expect("begun, on a Host elsewhere", &claimed, None);
    expect("nothing of ours", &Fleet::default(), None);
}

#[test]
fn a_host_with_its_address_has_a_member_unless_it_is_free_and_clean() {
    let (here, claimed, dirty) = ("10.0.0.3", "claimed for Machine m", "not known to be clean");
    let mut silent = host(here, &[here], None, "True");
    if let Some(status) = &mut Arc::make_mut(&mut silent).status {
        status.conditions.retain(|one| one.type_ != "Reachable");
    }
    let mut paused = host(here, &[here], None, "True");
    let annotation = [(ANNOTATION_PAUSED.to_owned(), String::new())];
    Arc::make_mut(&mut paused).metadata.annotations = Some(annotation.into());
    let mut off = silent.clone();
    let switched = json!({
        "type": "PowerOn", "status": "False", "reason": "SwitchedOff", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    if let Some(status) = &mut Arc::make_mut(&mut off).status {
        let switched = serde_json::from_value(switched).expect("a condition");
        status.conditions.push(switched);
    }
    let table = [
        ("clean, and switched off", off, None),
        ("clean when it was paused", paused, Some("is paused")),
        (
            "claimed",
            host(here, &[here], Some("m"), "True"),
            Some(claimed),
        ),
        (
            "its second address",
            host("h.example", &["192.0.2.9", here], Some("m"), "True"),
            Some(claimed),
        ),
        (
            "claimed, elsewhere",
            host("10.0.0.4", &["10.0.0.4"], Some("m"), "True"),
            None,
        ),
        ("free and clean", host(here, &[here], None, "True"), None),
        (
            "free, and something is on it",
            host(here, &[here], None, "False"),
            Some(dirty),
        ),
        ("clean when it last answered", silent, Some(dirty)),
        (
            "it never reported",
            host("h.example", &[], None, "True"),
            Some("has not reported its addresses"),
        ),
    ];
    for (case, host, expected) in table {
        expect(case, &of_host(host), expected);
    }
}

#[test]
fn a_hypervisor_has_none_only_if_it_answers_and_knows_the_machines_of_all() {
    let table = [
        ("it knows all", hypervisor("True", "True"), None),
        (
            "it does not answer",
            hypervisor("False", "True"),
            Some("Hypervisor v"),
        ),
        (
            "one of nobody",
            hypervisor("True", "False"),
            Some("Hypervisor v"),
        ),
    ];
    for (case, hypervisor, expected) in table {
        let fleet = Fleet {
            hypervisors: vec![hypervisor],
            ..Fleet::default()
        };
        expect(case, &fleet, expected);
    }
}

#[test]
fn a_member_without_a_name_is_found_by_its_address_alone() {
    let here = of_host(host("10.0.0.3", &["10.0.0.3"], Some("m"), "True"));
    assert!(here.holder(&member("")).is_some());
    let there = of_host(host("10.0.0.4", &["10.0.0.4"], Some("m"), "True"));
    assert_eq!(there.holder(&member("")), None);
    assert!(there.holder(&member("h-name")).is_some(), "by its hostname");
}

fn node(name: &str, address: &str, is_control_plane: bool) -> Arc<NodeView> {
    let label = (CONTROL_PLANE.to_owned(), String::new());
    Arc::new(NodeView {
        name: name.into(),
        labels: is_control_plane.then_some(label).into_iter().collect(),
        addresses: vec![NodeAddress {
            type_: "InternalIP".into(),
            address: address.into(),
        }],
        ..NodeView::default()
    })
}

#[test]
fn the_nodes_that_may_be_its_are_its_own_and_each_control_plane_that_nobody_else_is() {
    let of = |cluster: &str, name: &str| {
        let mut status = at("10.0.0.1");
        status["nodeRef"] = json!({ "name": name });
        let mut machine = machine("m", &json!({}), &status);
        let label = [(LABEL_CLUSTER.to_owned(), cluster.to_owned())];
        Arc::make_mut(&mut machine).metadata.labels = Some(label.into());
        of_machine(machine)
    };
    let other = Member {
        id: MemberId(8),
        name: "o".into(),
        peer_urls: vec!["https://10.0.0.8:2380".into()],
        is_learner: false,
    };
    let members = Members {
        list: vec![member("s"), other],
        ..Members::default()
    };
    let ours = of("c", "m-node");
    let table = [
        ("its name", &ours, node("s", "10.9.9.9", false), true),
        ("its address", &ours, node("x", "10.0.0.3", false), true),
        ("a worker", &ours, node("x", "10.9.9.9", false), false),
        (
            "a Machine's name",
            &ours,
            node("m-node", "10.9.9.9", true),
            false,
        ),
        (
            "a Machine's address",
            &ours,
            node("x", "10.0.0.1", true),
            false,
        ),
        (
            "another member's name",
            &ours,
            node("o", "10.9.9.9", true),
            false,
        ),
        ("nobody's", &ours, node("x", "10.9.9.9", true), true),
        (
            "the name is another cluster's",
            &of("d", "x"),
            node("x", "10.9.9.9", true),
            true,
        ),
    ];
    for (case, fleet, node, expected) in table {
        let its = fleet.nodes_of("c", (&members, &members.list[0]), &[node]);
        assert_eq!(!its.is_empty(), expected, "{case}");
    }
}
