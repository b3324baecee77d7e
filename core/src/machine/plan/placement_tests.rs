use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::*;
use crate::api::libvirt_machine_provider_spec::{Disk, RootDisk};
use crate::wire::{Amount, Pool};

const GIB: i64 = 1 << 30;

fn candidate(name: &str, free_cpus: i64, free_gib: i64) -> Candidate {
    let amount = |limit, free| Amount {
        limit,
        allocated: limit - free,
    };
    Candidate {
        name: name.into(),
        uid: format!("uid-{name}"),
        labels: [("pool".to_owned(), "a".to_owned())].into(),
        capacity: Some(Capacity {
            acceleration: "kvm".into(),
            cpus: amount(32, free_cpus),
            memory_bytes: amount(64 * GIB, free_gib * GIB),
            pools: Some(vec![Pool {
                name: "default".into(),
            }]),
            networks: Some(vec!["default".into()]),
            bridges: Some(vec!["br0".into()]),
        }),
        ..Candidate::default()
    }
}

fn wanted(cpus: u32, gib: i64) -> LibvirtMachineProviderSpec {
    LibvirtMachineProviderSpec {
        hypervisor_selector: LabelSelector {
            match_labels: Some([("pool".to_owned(), "a".to_owned())].into()),
            ..LabelSelector::default()
        },
        root_disk: RootDisk {
            pool: "default".into(),
            ..RootDisk::default()
        },
        cpus,
        memory: Quantity(format!("{gib}Gi")),
        ..LibvirtMachineProviderSpec::default()
    }
}

#[test]
fn the_hypervisor_with_the_least_load_is_chosen() {
    let candidates = [candidate("busy", 8, 8), candidate("idle", 30, 60)];
    assert_eq!(
        choose(&wanted(2, 4), &candidates, "m").as_deref(),
        Ok("idle")
    );
}

/// Case, what stands on each of two hypervisors of rack a and on one of rack b, where a control
/// plane goes, and a worker.
type Spread<'a> = (&'a str, [&'a [Option<bool>]; 3], &'a str, &'a str);

#[test]
fn failure_domains_are_filled_evenly_before_load_is_looked_at() {
    // what stands there: a control plane, or a worker; of one Machine the kind is not known
    let (plane, worker, unknown) = (Some(true), Some(false), None);
    let in_rack = |name: &str, free, stands: &[Option<bool>], own| {
        let mut crowd = Crowd::default();
        for its in stands {
            crowd.count(own, *its);
        }
        Candidate {
            failure_domain: name.get(..1).map(str::to_owned),
            crowd,
            ..candidate(name, 30, free)
        }
    };
    let cases: [Spread; 5] = [
        (
            "rack a holds two",
            [&[], &[unknown, unknown], &[unknown]],
            "b1",
            "b1",
        ),
        (
            "workers fill the other rack",
            [&[plane], &[], &[worker, worker]],
            "b1",
            "a1",
        ),
        (
            "control planes fill the other rack",
            [&[worker], &[], &[plane, plane]],
            "a1",
            "b1",
        ),
        (
            "all together decide among equals",
            [&[plane], &[], &[]],
            "b1",
            "b1",
        ),
        (
            "both kinds in both racks",
            [&[plane], &[worker], &[plane, worker]],
            "a1",
            "a1",
        ),
    ];
    for (case, [a1, a2, b1], control_plane, other) in cases {
        for (own, expected) in [(true, control_plane), (false, other)] {
            let candidates = [
                in_rack("a1", 60, a1, own),
                in_rack("a2", 50, a2, own),
                in_rack("b1", 20, b1, own),
            ];
            let chosen = choose(&wanted(2, 4), &candidates, "m");
            assert_eq!(
                chosen.as_deref(),
                Ok(expected),
                "{case}; control plane: {own}"
            );
        }
    }
}

#[test]
fn what_is_reserved_and_not_made_yet_is_not_given_away_again() {
    let mut full = candidate("one", 4, 8);
    full.reserved = Demand {
        cpus: 3,
        memory: GIB,
    };
    let refusal = choose(&wanted(2, 4), &[full], "m").expect_err("no room");
    assert_eq!(refusal.reason, "NoHypervisorAvailable");
    assert_eq!(
        refusal.message(),
        "1 Hypervisor matches the selector: 1 full; the Machine needs 2 CPUs and 4096 MiB, and the Hypervisor with the most free memory has 1 CPUs and 7168 MiB left"
    );
}

#[test]
fn a_refusal_counts_why_each_one_that_matches_cannot_be_used() {
    let away = Candidate {
        capacity: None,
        ..candidate("away", 0, 0)
    };
    let kept = Candidate {
        held_back: Some("in maintenance"),
        ..candidate("kept", 30, 60)
    };
    let candidates = [away, kept, candidate("small", 1, 1)];
    let refusal = choose(&wanted(2, 4), &candidates, "m").expect_err("no room");
    assert_eq!(
        refusal.message(),
        "3 Hypervisors match the selector: 1 full, 1 in maintenance, 1 unreachable; the Machine needs 2 CPUs and 4096 MiB, and the Hypervisor with the most free memory has 1 CPUs and 1024 MiB left"
    );
}

#[test]
fn a_selector_that_matches_none_says_so() {
    let mut other = wanted(1, 1);
    other.failure_domain = Some("nowhere".into());
    let refusal = choose(&other, &[candidate("one", 30, 60)], "m").expect_err("none");
    assert_eq!(refusal.reason, "NoMatchingHypervisor");
}

#[test]
fn a_hypervisor_without_what_a_machine_names_is_not_chosen() {
    let disk = |pool: &str| Disk {
        name: "data".into(),
        pool: pool.into(),
        ..Disk::default()
    };
    let mut on_bridge = wanted(2, 4);
    on_bridge.interfaces = vec![
        Interface::Bridge("br7".into()),
        Interface::Network("default".into()),
    ];
    let mut in_network = wanted(2, 4);
    in_network.interfaces = vec![Interface::Network("lan".into())];
    let mut in_pool = wanted(2, 4);
    in_pool.disks = vec![disk("default"), disk("fast")];
    let mut root = wanted(2, 4);
    root.root_disk.pool = "fast".into();
    for (spec, what) in [
        (on_bridge, "bridge br7"),
        (in_network, "network lan"),
        (in_pool, "pool fast"),
        (root, "pool fast"),
    ] {
        let idle = candidate("idle", 30, 60);
        let mut other = candidate("other", 8, 8);
        let refusal = choose(&spec, std::slice::from_ref(&idle), "m").expect_err(what);
        assert!(
            refusal.message().contains(&format!("1 without {what}")),
            "{refusal:?}"
        );
        // a gateway that does not say what it has is taken at its word
        other.capacity = other.capacity.map(|capacity| Capacity {
            pools: None,
            networks: None,
            bridges: None,
            ..capacity
        });
        assert_eq!(choose(&spec, &[idle, other], "m").as_deref(), Ok("other"));
    }
}

#[test]
fn a_hypervisor_that_was_left_is_chosen_last_and_never_left_for() {
    let left = Candidate {
        was_left: true,
        ..candidate("idle", 30, 60)
    };
    let candidates = [left.clone(), candidate("busy", 8, 8)];
    let spec = wanted(2, 4);
    assert_eq!(choose(&spec, &candidates, "m").as_deref(), Ok("busy"));
    assert_eq!(choose(&spec, &[left], "m").as_deref(), Ok("idle"));
    assert!(is_elsewhere(&spec, &candidates, "idle"));
    assert!(!is_elsewhere(&spec, &candidates, "busy"));
    assert!(!is_elsewhere(&spec, &candidates[1..], "busy"));
}
