mod claimed;
mod foreign;
mod freed;
mod guarded;
mod installation;
mod kstatus;
mod pace;
mod power;
mod reset;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::duplicate_hosts::DuplicateHosts;
use super::super::observed::{Consumer, Owner as Known};
use super::*;
use crate::api::Host;
use crate::api::conditions::Status;
use crate::api::host::HostFacts;
use crate::api::installation::WipePolicy;
use crate::api::names::FINALIZER_IN_USE;
use crate::node::{
    Attempts, DECIDED_LATE, DECIDED_STEP, Failure, Job, JobKind, Owner, Progress, SoftwareVersions,
    UnitState, UnitStatus,
};
use crate::proof::Proof;

/// The Machine of the claim is being deleted, and was a node.
const LEAVING: Consumer = Consumer::Exists {
    is_deleting: true,
    is_begun: true,
};
/// The Machine of the claim is being deleted, and nothing was begun for it.
const UNBEGUN: Consumer = Consumer::Exists {
    is_deleting: true,
    is_begun: false,
};
/// The Machine of the claim is not being deleted.
const STAYING: Consumer = Consumer::Exists {
    is_deleting: false,
    is_begun: true,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn marker(management: &str, uid: &str) -> Marker {
    Marker {
        management: management.into(),
        namespace: "default".into(),
        cluster: "a".into(),
        machine: "w-0".into(),
        uid: uid.into(),
    }
}

fn marked(management: &str, uid: &str) -> Ownership {
    Ownership::Owner(Owner {
        marker: marker(management, uid),
        initialized: false,
        joined: false,
    })
}

fn seen(owner: Ownership) -> Observation {
    Observation {
        clock: 0,
        kubeadm_runs: String::new(),
        facts: HostFacts::default(),
        owner,
        occupied: Vec::new(),
        units: Vec::new(),
        versions: SoftwareVersions::default(),
        kubelet_active: false,
        pods_run: false,
        installation: None,
        authority: None,
    }
}

/// Host `h0` with these changes, which says this.
fn observed(change: &Value, contact: Contact) -> Observed {
    let mut manifest = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": { "name": "h0", "namespace": "default", "uid": "h0" },
        "spec": { "ssh": { "address": "192.0.2.10", "credentialsRef": { "name": "fleet-key" } } },
    });
    for part in ["metadata", "spec", "status"] {
        for (name, value) in change[part].as_object().into_iter().flatten() {
            manifest[part][name] = value.clone();
        }
    }
    let host: Host = serde_json::from_value(manifest).expect("a Host");
    Observed {
        host: Arc::new(host),
        management: "here".into(),
        duplicates: DuplicateHosts::default(),
        contact,
        bmc: None,
        is_missed: false,
        has_its_marker: false,
        heard_at: None,
        first_contact_keys: Vec::new(),
        following: None,
        owner: Known::Unknown,
        consumer: LEAVING,
        rivals: Vec::new(),
        marked_rival: None,
        guards: None,
        may_guard: None,
        stands_in: None,
        unrecorded: None,
        cluster_goes: false,
        attempts: Attempts::default(),
        has_media: true,
        installation: None,
    }
}

fn claim(uid: &str, releasing: bool) -> Value {
    json!({
        "metadata": { "finalizers": [FINALIZER_IN_USE] },
        "spec": { "consumerRef": { "name": "w-0", "uid": uid, "cluster": "a", "releasing": releasing } },
    })
}

fn saying(change: &Value, owner: Ownership) -> Observed {
    observed(change, Contact::Seen(Box::new(seen(owner))))
}

/// The host has this unit of Machine `m`.
fn with_unit(mut observed: Observed, unit: JobKind, state: UnitState) -> Observed {
    let Contact::Seen(seen) = &mut observed.contact else {
        panic!("it answers")
    };
    seen.units.push(UnitStatus {
        retried: None,
        job: Job::new(unit, "m"),
        identity: String::new(),
        state,
    });
    observed
}

/// The Machine of the claim is this now.
fn of(consumer: Consumer, mut observed: Observed) -> Observed {
    observed.consumer = consumer;
    observed
}

/// Evidence that the claim of Machine `m` may be cleared.
fn free_of(observed: &Observed) -> Action {
    let Contact::Seen(seen) = &observed.contact else {
        panic!("it answers")
    };
    let proof = Proof::of_host(&marker("here", "m"), observed.consumer.is_begun(), seen);
    Action::Free(Clean::from(&proof.expect("a proof")).expect("accepted"))
}

fn occupied(mut observed: Observed) -> Observed {
    if let Contact::Seen(seen) = &mut observed.contact {
        let line = "finding: kubelet: /var/lib/kubelet is not empty; remedy: remove it";
        seen.occupied = vec![crate::node::Finding::from(line.to_owned())];
    }
    observed
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    let found = plan.findings.iter().find(|f| f.condition == condition);
    found.unwrap_or_else(|| panic!("no {condition} in {:#?}", plan.findings))
}

#[track_caller]
fn expect(case: &str, plan: &Plan, state: State, actions: &[Action], reason: &str, says: &[&str]) {
    assert_eq!(plan.state, state, "{case}");
    assert_eq!(plan.actions, actions, "{case}");
    let available = finding(plan, "Available");
    assert_eq!(available.reason(), reason, "{case}");
    for part in says {
        let message = &available.message();
        assert!(
            message.contains(part),
            "{case}: no \"{part}\" in: {message}"
        );
    }
}

#[test]
fn a_clean_host_is_available_claimed_or_freed() {
    let nobody = || Ownership::Nobody;
    let maintenance = json!({ "spec": { "maintenance": true } });
    let cases: [(&str, Value, State, &[Action], &str); 3] = [
        ("free", json!({}), State::Available, &[], "Available"),
        ("claimed", claim("m", false), State::Claimed, &[], "Claimed"),
        (
            "kept back",
            maintenance,
            State::Maintenance,
            &[],
            "Maintenance",
        ),
    ];
    for (case, change, state, actions, reason) in cases {
        let new = Consumer::Exists {
            is_deleting: false,
            is_begun: false,
        };
        let plan = plan(&of(new, saying(&change, nobody())), at(0));
        expect(case, &plan, state, actions, reason, &[]);
        assert_eq!(finding(&plan, "Clean").status, Status::True, "{case}");
    }
}

#[test]
fn a_host_that_cannot_be_asked_says_why_and_is_asked_again() {
    for (reason, message) in [
        (
            Reason::CredentialMissing,
            "Secret fleet-key does not exist; create it",
        ),
        (
            Reason::CredentialMalformed,
            "Secret fleet-key has no ssh-privatekey",
        ),
    ] {
        let error = ContactError {
            reason,
            message: message.into(),
            transient: false,
        };
        let plan = plan(&observed(&json!({}), Contact::Failed(error)), at(0));
        let reason = reason.as_str();
        expect(reason, &plan, State::Unreachable, &[], reason, &[message]);
        assert_eq!(finding(&plan, "Reachable").status, Status::False);
        assert_ne!(plan.next, Next::OnChange);
    }
}

fn step() -> Progress {
    Progress {
        step: "kubeadm-reset".into(),
        index: 1,
        total: 3,
    }
}
