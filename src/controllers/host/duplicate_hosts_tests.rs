//! Which Hosts are told of each other, by the keys under which the store has them.

use std::sync::Arc;
use tatara_core::Why;

use kube::ResourceExt as _;
use serde_json::json;
use tatara_core::Key;
use tatara_core::api::Host;
use tatara_core::api::conditions::Reason;
use tatara_core::api::host::HostFacts;
use tatara_core::host::{DuplicateHosts, is_same_server};

use crate::store::IndexKeys as _;

fn host(namespace: &str, name: &str, address: &str, machine_id: &str, hostname: &str) -> Arc<Host> {
    let host = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}")},
        "spec": {"ssh": {"address": address, "user": "root", "credentialsRef": {"name": "key"}}},
        "status": {"facts": {"hostname": hostname, "os": "debian 12", "architecture": "amd64", "kernel": "6.1",
            "cpus": 2, "memoryBytes": 1, "diskBytes": 1, "machineID": machine_id}},
    });
    Arc::new(serde_json::from_value(host).unwrap())
}

fn facts(host: &Host) -> Option<&HostFacts> {
    host.status.as_ref()?.facts.as_ref()
}

/// What `host` is told with all of `hosts` in the store.
fn problem(host: &Host, hosts: &[Arc<Host>]) -> Option<Why> {
    let by = |key: &Key| {
        let found = hosts.iter().filter(|host| host.keys().contains(key));
        found.cloned().collect()
    };
    DuplicateHosts::find(host, facts(host), by).problem(host, facts(host))
}

#[test]
fn hosts_that_have_nothing_in_common_are_no_twins() {
    let one = host("a", "one", "10.0.0.1", "11", "one");
    // names are free in each namespace; what is not known is not the same
    let others = [
        host("b", "one", "10.0.0.2", "22", "one"),
        host("a", "two", "10.0.0.3", "", ""),
        host("a", "three", "10.0.0.4", "", ""),
        Arc::clone(&one),
    ];
    for host in &others {
        assert_eq!(problem(host, &others), None, "{}", host.name_any());
    }
}

#[test]
fn a_copied_disk_is_told_on_both_hosts_with_what_to_do() {
    let one = host("a", "one", "10.0.0.1", "11", "one");
    let two = host("a", "two", "10.0.0.2", "11", "two");
    let all = [Arc::clone(&one), Arc::clone(&two)];
    let why = problem(&one, &all).unwrap();
    let message = why.message();
    assert_eq!(why.reason, Reason::DuplicateMachineID);
    assert!(
        message.contains("machine-id 11 is also that of Host a/two"),
        "{message}"
    );
    assert!(message.contains("systemd-machine-id-setup"), "{message}");
    assert!(
        problem(&two, &all)
            .unwrap()
            .message()
            .contains("Host a/one")
    );
    // a host is looked up by what it says now, not by what it said before
    let by = |key: &Key| {
        all.iter()
            .filter(|host| host.keys().contains(key))
            .cloned()
            .collect()
    };
    let changed = HostFacts {
        machine_id: "33".into(),
        ..facts(&one).unwrap().clone()
    };
    assert_eq!(
        DuplicateHosts::find(&one, Some(&changed), by),
        DuplicateHosts::default()
    );
}

#[test]
fn another_namespace_keeps_no_host_back_and_is_named() {
    let ours = host("a", "one", "10.0.0.1", "11", "one");
    for theirs in [
        host("b", "copy", "10.0.0.1", "11", "one"),
        host("b", "copy", "10.0.0.1", "", ""),
        host("b", "copy", "10.0.0.9", "11", "one"),
    ] {
        let all = [Arc::clone(&ours), theirs];
        for host in &all {
            assert_eq!(problem(host, &all), None, "{}", host.name_any());
        }
        let by = |key: &Key| {
            let found = all.iter().filter(|host| host.keys().contains(key));
            found.cloned().collect()
        };
        let note = DuplicateHosts::find(&ours, facts(&ours), by).note();
        assert!(note.contains("Host b/copy of another namespace"), "{note}");
    }
}

#[test]
fn one_private_address_behind_two_bastions_is_two_servers() {
    let behind = |name: &str, bastion: &str| {
        let mut host = host("a", name, "10.0.0.1", name, name);
        let jump = json!([{"address": bastion, "hostKeys": []}]);
        Arc::make_mut(&mut host).spec.ssh.jump = serde_json::from_value(jump).unwrap();
        host
    };
    let one = behind("one", "192.0.2.1");
    let elsewhere = [Arc::clone(&one), behind("two", "192.0.2.2")];
    assert_eq!(problem(&one, &elsewhere), None);
    let same = [Arc::clone(&one), behind("two", "192.0.2.1")];
    assert_eq!(
        problem(&one, &same).unwrap().reason,
        Reason::DuplicateAddress
    );
}

#[test]
fn the_bmc_of_another_namespace_counts_once_that_has_logged_in_there() {
    let with_bmc = |namespace: &str, status: Option<serde_json::Value>| {
        let mut host = host(namespace, "h", namespace, namespace, namespace);
        let of = Arc::make_mut(&mut host);
        let bmc =
            json!({"address": "https://bmc.example", "credentialsRef": {"name": "bmc"}, "tls": {}});
        of.spec.bmc = Some(serde_json::from_value(bmc).unwrap());
        of.status.as_mut().unwrap().bmc = status.map(|s| serde_json::from_value(s).unwrap());
        host
    };
    let ours = with_bmc("a", None);
    for (theirs, is_twin) in [
        (with_bmc("b", None), false),
        (with_bmc("b", Some(json!({}))), true),
    ] {
        let all = [Arc::clone(&ours), theirs];
        let by = |key: &Key| {
            let found = all.iter().filter(|host| host.keys().contains(key));
            found.cloned().collect()
        };
        assert_eq!(
            !DuplicateHosts::find(&ours, None, by).bmc.is_empty(),
            is_twin
        );
    }
}

#[test]
fn everything_that_two_hosts_share_is_told_at_once() {
    let one = host("a", "one", "10.0.0.1", "11", "debian");
    let two = host("a", "two", "10.0.0.1", "11", "debian");
    let why = problem(&one, &[Arc::clone(&one), two]).unwrap();
    let message = why.message();
    assert_eq!(why.reason, Reason::DuplicateAddress);
    for part in [
        "spec.ssh.address 10.0.0.1",
        "machine-id 11",
        "its hostname debian is also that of Host a/two",
        "hostnamectl",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn hosts_that_may_mean_one_system_of_one_bmc_are_told() {
    let with_bmc = |name: &str, address: &str, system: Option<&str>| {
        let mut host = host("a", name, name, name, name);
        let bmc = json!({"address": address, "systemID": system, "credentialsRef": {"name": "bmc"}, "tls": {}});
        Arc::make_mut(&mut host).spec.bmc = Some(serde_json::from_value(bmc).unwrap());
        host
    };
    let one = with_bmc("one", "https://BMC.example/", Some("1"));
    let others = [
        (
            "the same",
            with_bmc("o", "https://bmc.example", Some("1")),
            true,
        ),
        (
            "its port",
            with_bmc("o", "https://bmc.example:443", Some("1")),
            true,
        ),
        (
            "not named",
            with_bmc("o", "https://bmc.example", None),
            true,
        ),
        (
            "another system",
            with_bmc("o", "https://bmc.example", Some("2")),
            false,
        ),
        (
            "another BMC",
            with_bmc("o", "https://bmc2.example", Some("1")),
            false,
        ),
        ("none", host("a", "o", "o", "o", "o"), false),
    ];
    for (case, other, is_twin) in others {
        let all = [Arc::clone(&one), other];
        let by = |key: &Key| {
            let found = all.iter().filter(|host| host.keys().contains(key));
            found.cloned().collect()
        };
        assert_eq!(
            !DuplicateHosts::find(&one, None, by).bmc.is_empty(),
            is_twin,
            "{case}"
        );
    }
}

#[test]
fn another_host_stands_for_a_server_by_its_place_or_by_the_machine_id_that_was_seen() {
    let original = host("a", "one", "10.0.0.1", "11", "one");
    let copy = host("a", "two", "10.0.0.1", "", "");
    let marked: fn(&Host) -> bool = |_| true;
    let unmarked: fn(&Host) -> bool = |_| false;
    let is = is_same_server;
    assert!(is(&copy, None, &original, unmarked), "its place");
    assert!(is(&original, None, &copy, unmarked), "the other way");
    assert!(!is(&copy, None, &copy, marked), "itself");
    let mut port = Host::clone(&copy);
    port.spec.ssh.port = 2222;
    assert!(!is(&port, None, &original, marked), "another place");
    let seen = facts(&original);
    assert!(is(&port, seen, &original, marked), "what it answers");
    assert!(!is(&port, seen, &original, unmarked), "a copy of its disk");
    let unseen = host("a", "three", "10.0.0.3", "", "");
    assert!(!is(&port, facts(&unseen), &unseen, marked), "none");
    let mut deleted = Host::clone(&original);
    let time = serde_json::from_value(json!("2027-01-15T08:00:00Z")).unwrap();
    deleted.metadata.deletion_timestamp = Some(time);
    assert!(!is(&copy, seen, &deleted, marked), "it goes as well");
}
