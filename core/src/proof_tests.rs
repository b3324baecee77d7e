//! What is evidence, and what it is accepted for.

use super::*;
use crate::api::host::HostFacts;
use crate::node::{Failure, Finding, Job, Owner, Progress, SoftwareVersions, UnitStatus};

const ME: &str = "11111111-0000-4000-8000-000000000001";
const OTHER: &str = "22222222-0000-4000-8000-000000000002";

fn marker(uid: &str) -> Marker {
    Marker {
        management: "management".into(),
        namespace: "default".into(),
        cluster: "a".into(),
        machine: "m".into(),
        uid: uid.into(),
    }
}

fn at(index: u32) -> Progress {
    Progress {
        step: "release".into(),
        index,
        total: 5,
    }
}

fn seen(owner: Ownership, occupied: bool, units: &[(&str, JobKind, UnitState)]) -> Observation {
    let finding = Finding::from("finding: occupied: /var/lib/etcd/member exists".to_owned());
    let units = units.iter().map(|(machine, unit, state)| UnitStatus {
        retried: None,
        job: Job::new(*unit, machine),
        identity: String::new(),
        state: state.clone(),
    });
    Observation {
        clock: 0,
        kubeadm_runs: String::new(),
        facts: HostFacts::default(),
        owner,
        occupied: occupied.then_some(finding).into_iter().collect(),
        units: units.collect(),
        versions: SoftwareVersions::default(),
        kubelet_active: false,
        pods_run: false,
        installation: None,
        authority: None,
    }
}

fn owned(uid: &str) -> Ownership {
    Ownership::Owner(Owner {
        marker: marker(uid),
        initialized: false,
        joined: false,
    })
}

type Case = (&'static str, Observation, bool, Option<Evidence>);

/// What each host proves; what it proves is about this Machine and frees the host.
fn prove(cases: Vec<Case>) {
    for (case, seen, begun, evidence) in cases {
        let proof = Proof::of_host(&marker(ME), begun, &seen);
        let found = proof.as_ref().ok().map(Proof::evidence);
        assert_eq!(found, evidence, "{case}: {proof:?}");
        if let Ok(proof) = proof {
            let clean = Clean::from(&proof).expect(case);
            assert!(clean.is_about(ME) && !clean.is_about(OTHER), "{case}");
        }
    }
}

#[test]
fn a_host_proves_its_reset_by_the_record_of_it() {
    use UnitState::{Failed, Interrupted, Running, Succeeded};
    let failed = Failed(Failure {
        attempt: 0,
        since: None,
        causes: Vec::new(),
        at: at(5),
        exit_code: 1,
        findings: Vec::new(),
        output: String::new(),
    });
    let of = |machine, state| [(machine, JobKind::Reset, state)];
    let alone = |state| seen(Ownership::Nobody, false, &of(ME, state));
    let marked = seen(owned(ME), false, &of(ME, Succeeded));
    let dirty = seen(Ownership::Nobody, true, &of(ME, Succeeded));
    let others = seen(Ownership::Nobody, false, &of(OTHER, Succeeded));
    let taken = seen(owned(OTHER), true, &of(ME, Succeeded));
    let reset = Some(Evidence::Reset);
    prove(vec![
        ("reset", alone(Succeeded), true, reset),
        ("its marker is still there", marked, true, None),
        (
            "cut, marker removed",
            alone(Interrupted(at(5))),
            true,
            reset,
        ),
        ("cut before that", alone(Interrupted(at(4))), true, None),
        ("in its last step", alone(Running(at(5))), true, None),
        ("failed", alone(failed), true, None),
        ("reset, and something came back", dirty, true, None),
        ("another Machine's reset", others, true, None),
        ("reset, and another's now", taken, true, reset),
    ]);
}

#[test]
fn a_host_proves_that_nothing_started_only_where_nothing_was_begun() {
    let nothing = || seen(Ownership::Nobody, false, &[]);
    let others = || seen(owned(OTHER), true, &[]);
    let prepared = [(ME, JobKind::Prepare, UnitState::Succeeded)];
    let unmarked = seen(Ownership::Nobody, false, &prepared);
    let broken = seen(Ownership::Unreadable("{".into()), false, &[]);
    let never = Some(Evidence::NeverStarted);
    prove(vec![
        ("nothing there", nothing(), false, never),
        ("begun: /var is lost", nothing(), true, None),
        ("another's", others(), false, never),
        ("another's, and begun", others(), true, None),
        ("steps of it without a marker", unmarked, false, None),
        ("a marker that cannot be read", broken, false, None),
        ("its marker", seen(owned(ME), false, &[]), false, None),
    ]);
}

#[test]
fn each_act_names_what_it_accepts() {
    let gone = |value, counts| HostIsGone { value, counts };
    let deleted: Result<(), String> = Ok(());
    // case, evidence, frees a host, moves the turn, ends the Machine
    let cases = [
        (
            "off",
            Proof::of_power(ME, PowerState::Off),
            [false, true, true],
        ),
        (
            "deleted",
            Proof::of_gateway(ME, &deleted),
            [false, true, true],
        ),
        (
            "user",
            Proof::of_user(ME, gone(ME, true)),
            [false, true, true],
        ),
        (
            "simulated",
            Proof::of_simulation(ME, false),
            [false, true, true],
        ),
        (
            "limit",
            Proof::of_time_limit(ME, true),
            [false, false, true],
        ),
        (
            "retained",
            Proof::of_retained(ME, true),
            [false, false, true],
        ),
    ];
    for (case, proof, accepted) in cases {
        let proof = proof.expect(case);
        let found = [
            Clean::from(&proof).is_some(),
            Ended::from(&proof).is_some(),
            Over::from(&proof).is_some(),
        ];
        assert_eq!(found, accepted, "{case}");
    }
    let refused: Result<(), String> = Err("away".into());
    for (case, proof) in [
        ("on", Proof::of_power(ME, PowerState::On)),
        (
            "a BMC that does not say",
            Proof::of_power(ME, PowerState::Unknown),
        ),
        (
            "on its way off",
            Proof::of_power(ME, PowerState::PoweringOff),
        ),
        ("refused", Proof::of_gateway(ME, &refused)),
        ("another Machine", Proof::of_user(ME, gone(OTHER, true))),
        ("holds nothing", Proof::of_user(ME, gone(ME, false))),
        ("in memory", Proof::of_simulation(ME, true)),
        ("before the limit", Proof::of_time_limit(ME, false)),
        ("not retained", Proof::of_retained(ME, false)),
    ] {
        assert_eq!(proof, None, "{case}");
    }
}

#[test]
fn a_control_plane_is_proven_by_the_marker_and_the_key_of_the_clusters_own_ca() {
    let made = |is_made: bool, key: Option<&str>| {
        let mut owner = owned(OTHER);
        if let Ownership::Owner(owner) = &mut owner {
            owner.initialized = is_made;
        }
        let mut seen = seen(owner, true, &[]);
        seen.authority = key.map(str::to_owned);
        seen
    };
    let ca = Some("sha256:ca");
    let unmarked = || {
        let mut unmarked = seen(Ownership::Nobody, true, &[]);
        unmarked.authority = ca.map(str::to_owned);
        unmarked
    };
    let cases = [
        ("made", "management", ca, made(true, ca), true),
        ("begun", "management", ca, made(false, ca), false),
        ("elsewhere", "another", ca, made(true, ca), false),
        (
            "a CA from before",
            "management",
            ca,
            made(true, Some("sha256:old")),
            false,
        ),
        ("no key", "management", ca, made(true, None), false),
        (
            "the CA is not read",
            "management",
            None,
            made(true, ca),
            false,
        ),
        (
            "nothing is known",
            "management",
            None,
            made(true, None),
            false,
        ),
        ("no marker", "management", ca, unmarked(), false),
    ];
    for (case, management, authority, seen, is_proven) in cases {
        let proof = InitProof::of_host(management, authority, &seen);
        let by = proof.as_ref().map(InitProof::by);
        assert_eq!(by, is_proven.then(|| marker(OTHER)).as_ref(), "{case}");
    }
}
