//! Which host a Machine takes.

mod spread;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;

use super::super::claim::{self, Chooser};
use super::*;
use crate::api::conditions::{Reason, Severity};
use crate::api::{Host, SshMachineProviderSpec};

fn choose(
    spec: &SshMachineProviderSpec,
    hosts: &[Arc<Host>],
    cluster: &str,
    uid: &str,
) -> Result<String, Why> {
    let chooser = Chooser {
        cluster,
        uid,
        is_control_plane: false,
    };
    claim::choose(spec, hosts, chooser, |_| None)
}

/// A Host that may be taken.
fn host(name: &str) -> Host {
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "Yes", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let conditions = ["Reachable", "Clean", "Available"].map(condition);
    let facts = json!({
        "hostname": name, "os": "debian 12", "architecture": "amd64", "kernel": "6.1",
        "cpus": 4, "memoryBytes": 8_i64 << 30, "diskBytes": 100_i64 << 30, "machineID": name,
    });
    let manifest = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": { "name": name, "namespace": "default", "uid": name, "generation": 3, "labels": { "pool": "a" } },
        "spec": { "ssh": { "address": name, "credentialsRef": { "name": "fleet-key" } } },
        "status": {
            "facts": facts,
            "conditions": conditions,
            "observedGeneration": 3,
        },
    });
    serde_json::from_value(manifest).expect("a Host")
}

fn changed(host: &Host, change: &Value) -> Arc<Host> {
    let mut value = serde_json::to_value(host).expect("JSON");
    merge(&mut value, change);
    Arc::new(serde_json::from_value(value).expect("a Host"))
}

fn lacks(host: &Host, condition: &str) -> Arc<Host> {
    let mut host = host.clone();
    let status = host.status.as_mut().expect("a status");
    let condition = status.conditions.iter_mut().find(|c| c.type_ == condition);
    condition.expect("the condition").status = "False".into();
    Arc::new(host)
}

fn wants(spec: Value) -> SshMachineProviderSpec {
    serde_json::from_value(spec).expect("a provider spec")
}

fn claim_of(uid: &str, cluster: &str) -> Value {
    json!({ "spec": { "consumerRef": { "name": "m", "uid": uid, "cluster": cluster } } })
}

#[test]
fn a_host_that_was_switched_off_while_it_was_free_is_taken() {
    let off = |reason: &str| {
        let mut host = host("a");
        let conditions = &mut host.status.as_mut().expect("a status").conditions;
        conditions[0].status = "Unknown".into();
        let mut power = conditions[0].clone();
        power.type_ = "PowerOn".into();
        power.status = "False".into();
        power.reason = reason.into();
        conditions.push(power);
        choose(&wants(json!({})), &[Arc::new(host)], "a", ME)
    };
    assert_eq!(off("SwitchedOff"), Ok("a".into()));
    let refusal = off("PoweredOff").expect_err("off for another reason");
    assert!(refusal.message().contains("1 unreachable"), "{refusal:?}");
}

#[test]
fn a_host_is_taken_only_when_nothing_speaks_against_it() {
    let a = host("a");
    let cases = [
        ("free", Arc::new(a.clone()), None),
        (
            "claimed",
            changed(&a, &claim_of(OTHER, "b")),
            Some("1 claimed"),
        ),
        (
            "paused",
            changed(
                &a,
                &json!({ "metadata": { "annotations": { (ANNOTATION_PAUSED): "" } } }),
            ),
            Some("1 paused"),
        ),
        (
            "maintenance",
            changed(&a, &json!({ "spec": { "maintenance": true } })),
            Some("1 in maintenance"),
        ),
        (
            "deleting",
            changed(
                &a,
                &json!({ "metadata": { "deletionTimestamp": at(0).to_string() } }),
            ),
            Some("1 being deleted"),
        ),
        (
            "edited since it was asked",
            changed(&a, &json!({ "metadata": { "generation": 4 } })),
            Some("1 not checked yet"),
        ),
        ("unreachable", lacks(&a, "Reachable"), Some("1 unreachable")),
        (
            "no sudo",
            {
                let mut host = a.clone();
                let conditions = &mut host.status.as_mut().expect("a status").conditions;
                conditions[0].status = "False".into();
                conditions[0].reason = "SudoRefused".into();
                Arc::new(host)
            },
            Some("1 refusing the login"),
        ),
        ("dirty", lacks(&a, "Clean"), Some("1 not clean")),
        (
            "small",
            changed(&a, &json!({ "status": { "facts": { "cpus": 1 } } })),
            Some("1 below the requirements"),
        ),
        (
            "no facts",
            changed(&a, &json!({ "status": { "facts": null } })),
            Some("1 below the requirements"),
        ),
        (
            "unavailable",
            lacks(&a, "Available"),
            Some("1 not available"),
        ),
        (
            "never asked",
            changed(&a, &json!({ "status": null })),
            Some("1 not checked yet"),
        ),
    ];
    let wanted = wants(json!({ "requirements": { "cpus": 2 } }));
    for (case, host, obstacle) in cases {
        let chosen = choose(&wanted, &[host], "a", ME);
        match obstacle {
            None => assert_eq!(chosen.as_deref(), Ok("a"), "{case}"),
            Some(words) => {
                let refusal = chosen.expect_err(case);
                let reason = if words == "1 not checked yet" {
                    "WaitingForHost"
                } else {
                    "NoHostAvailable"
                };
                assert_eq!(refusal.reason, reason, "{case}");
                let message = refusal.message();
                assert!(
                    message.starts_with("1 host matches the selector: "),
                    "{case}: {message}"
                );
                assert!(message.contains(words), "{case}: {message}");
            }
        }
    }
}

#[test]
fn the_refusal_counts_what_stands_in_the_way() {
    let a = host("a");
    let hosts: Vec<Arc<Host>> = (0..4)
        .map(|i| match i {
            3 => changed(&a, &json!({ "spec": { "maintenance": true } })),
            _ => changed(&a, &claim_of(OTHER, "b")),
        })
        .collect();
    let refusal = choose(&wants(json!({})), &hosts, "a", ME).expect_err("none is free");
    assert_eq!(
        refusal.message(),
        "4 hosts match the selector: 3 claimed, 1 in maintenance: a; free, repair or add one; the reasons: kubectl -n default get hosts"
    );
}

#[test]
fn a_host_that_is_checked_soon_is_waited_for_and_trouble_beside_it_is_told() {
    let a = host("a");
    let unseen = || changed(&a, &json!({ "status": null }));
    let claimed = || changed(&a, &claim_of(OTHER, "b"));
    let table = [
        (vec![unseen()], Reason::WaitingForHost, Severity::Normal),
        (
            vec![unseen(), claimed()],
            Reason::WaitingForHost,
            Severity::Normal,
        ),
        (vec![claimed()], Reason::NoHostAvailable, Severity::Warning),
        (
            vec![unseen(), lacks(&a, "Clean")],
            Reason::NoHostAvailable,
            Severity::Warning,
        ),
    ];
    for (hosts, reason, severity) in table {
        let refusal = choose(&wants(json!({})), &hosts, "a", ME).expect_err("none is free");
        assert_eq!(refusal.reason, reason, "{}", refusal.message());
        assert_eq!(refusal.reason.severity(), severity);
    }
}

#[test]
fn a_host_that_is_not_merely_claimed_is_named_with_what_is_awaited_or_wrong() {
    let says = |name: &str, available: &str, reachable: &str, mut change: Value| {
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({ "type": kind, "status": status, "reason": reason, "message": "why; do it",
                "lastTransitionTime": "2026-01-01T00:00:00Z" })
        };
        change["status"]["conditions"] = json!([
            condition("Reachable", reachable, available),
            condition("Available", "False", available),
        ]);
        changed(&host(name), &change)
    };
    let claim = || claim_of(OTHER, "b");
    let releasing = || {
        let mut claim = claim();
        claim["spec"]["consumerRef"]["releasing"] = true.into();
        claim
    };
    let edited = || json!({ "metadata": { "generation": 4 } });
    let claimed = || changed(&host("a"), &claim());
    for (other, expected) in [
        (
            says("c", "SshUnreachable", "False", releasing()),
            "1 claimed, 1 being released: c (SshUnreachable). Host c: why; do it",
        ),
        (
            says("c", "Resetting", "True", releasing()),
            "1 claimed, 1 being released: c (Resetting); waiting until c is released",
        ),
        (
            says("c", "Freeing", "True", edited()),
            "1 claimed, 1 being released: c (Freeing); waiting until c is released",
        ),
        (
            says("c", "MachineGone", "True", claim()),
            "1 claimed, 1 claimed by a Machine that does not exist: c (MachineGone). Host c: why; do it",
        ),
        (
            says("c", "SshUnreachable", "False", claim()),
            "1 claimed, 1 claimed and not answering: c (SshUnreachable); free, repair or add one; the reasons: kubectl -n default get hosts",
        ),
        // what it said was of another address
        (
            says("c", "SshUnreachable", "False", edited()),
            "1 claimed, 1 not checked yet: c; waiting until c is checked",
        ),
        (
            changed(&host("c"), &json!({ "status": null })),
            "1 claimed, 1 not checked yet: c; waiting until c is checked",
        ),
    ] {
        let refusal = choose(&wants(json!({})), &[claimed(), other], "a", ME);
        let message = refusal.expect_err("none is free").message();
        assert_eq!(message, format!("2 hosts match the selector: {expected}"));
    }
}

#[test]
fn many_that_claim_at_once_spread_over_the_hosts() {
    let hosts: Vec<Arc<Host>> = (0..20).map(|i| Arc::new(host(&format!("h{i}")))).collect();
    let chosen: BTreeSet<String> = (0..20)
        .filter_map(|i| choose(&wants(json!({})), &hosts, "a", &format!("uid-{i}")).ok())
        .collect();
    assert!(chosen.len() > 8, "{chosen:?}");
}

proptest! {
    /// Machines choose on a view of the hosts that may be old, and claim by compare-and-swap.
    #[test]
    fn no_host_is_ever_claimed_twice_and_no_machine_claims_two(
        passes in prop::collection::vec((0_usize..6, any::<bool>()), 1..60),
        free in prop::collection::vec(select(vec!["free", "dirty", "maintenance"]), 4),
    ) {
        let mut live: Vec<Arc<Host>> = free
            .iter()
            .enumerate()
            .map(|(i, state)| {
                let host = host(&format!("h{i}"));
                match *state {
                    "dirty" => lacks(&host, "Clean"),
                    "maintenance" => changed(&host, &json!({ "spec": { "maintenance": true } })),
                    _ => Arc::new(host),
                }
            })
            .collect();
        let mut seen = live.clone();
        let mut claims: BTreeMap<String, String> = BTreeMap::new();
        for (machine, refresh) in passes {
            if refresh {
                seen.clone_from(&live);
            }
            let uid = format!("uid-{machine}");
            // What a Machine remembers of its own claim, it knows also while the view is old.
            let known = claims.values().any(|owner| *owner == uid);
            let chosen = choose(&wants(json!({})), &seen, "a", &uid);
            let Ok(name) = chosen else { continue };
            let at = seen.iter().position(|host| host.name_any() == name).expect("a host");
            prop_assert!(free[at] == "free", "{} is {}", name, free[at]);
            prop_assert!(seen[at].spec.consumer_ref.is_none());
            if known || seen[at] != live[at] {
                continue;
            }
            live[at] = changed(&live[at], &claim_of(&uid, "a"));
            prop_assert!(claims.insert(name, uid).is_none());
        }
    }
}
