//! From nothing to a Node.

mod another_cluster;
mod kept;
mod recorded;
mod running;

use super::*;
use crate::api::conditions::Reason;
use crate::control_plane::turn::Doubt;

/// Parts of a message.
type Parts = &'static [&'static str];

fn two_holders() -> Doubt {
    Doubt::TwoHolders(turn_of(ME), turn_of(OTHER))
}

#[test]
fn a_new_machine_is_adopted_before_anything_is_claimed() {
    for change in [
        json!({ "metadata": { "finalizers": [] } }),
        json!({ "spec": { "providerSpec": { "value": null } } }),
    ] {
        let plan = plan(&edited(worker(), &change), at(0));
        // what it chooses next is written down with that
        let host = Some("host-a".to_owned());
        assert_eq!(plan.actions, [Action::Adopt { host }], "{change}");
    }
    let mut none = edited(worker(), &json!({ "metadata": { "finalizers": [] } }));
    none.placement = Placement::None(Err(Why::new(Reason::NoHostAvailable, "none")));
    let nowhere = [Action::Adopt { host: None }];
    assert_eq!(plan(&none, at(0)).actions, nowhere, "no provider ID");
    let held = ours(worker(), Vec::new());
    let held = edited(held, &json!({ "spec": { "providerID": null } }));
    let host = Some("host-a".to_owned());
    assert_eq!(plan(&held, at(0)).actions, [Action::Adopt { host }]);
}

#[test]
fn hosts_are_claimed_and_prepared_before_the_control_plane_is_there() {
    let claim = plan(&worker(), at(0));
    let host = "host-a".to_owned();
    let says = ("InfrastructureReady", "Claiming", &["host-a"][..]);
    expect(
        "free host",
        &claim,
        &[Action::Acquire(Acquire::Place {
            name: host,
            instead: None,
        })],
        says,
    );
    assert_eq!(claim.phase, Phase::Pending);

    let unmarked = plan(&on(worker(), Ownership::Nobody, Vec::new()), at(0));
    let says = ("BootstrapReady", "TakingHost", &[][..]);
    expect("unmarked", &unmarked, &[Action::TakeHost], says);

    let taken = plan(&ours(worker(), Vec::new()), at(0));
    let says = ("BootstrapReady", "Preparing", &[][..]);
    let prepare = [Action::RunJob(JobKind::Prepare)];
    expect("marked", &taken, &prepare, says);

    let waiting = plan(&prepared(worker(), &[]), at(0));
    let says = (
        "BootstrapReady",
        "WaitingForControlPlane",
        &["Cluster a"][..],
    );
    expect("prepared", &waiting, &[], says);
    assert_eq!(
        finding(&waiting, "Ready").reason(),
        "WaitingForControlPlane"
    );
    assert_eq!(waiting.phase, Phase::Bootstrapping);
}

#[test]
fn a_claim_that_is_not_seen_yet_takes_no_second_host() {
    let mut observed = worker();
    observed.claiming = Some("host-b".into());
    let says = ("InfrastructureReady", "Claiming", &["host-b"][..]);
    expect("claimed", &plan(&observed, at(0)), &[], says);
}

#[test]
fn a_machine_that_lost_its_host_never_moves_to_another() {
    let says = ("InfrastructureReady", "HostLost", &["never moves"][..]);
    expect("node known", &plan(&had_node(worker()), at(0)), &[], says);
    let mut observed = running(worker());
    observed.placement = Placement::None(Ok("host-b".into()));
    expect("node there", &plan(&observed, at(0)), &[], says);
}

#[test]
fn init_needs_certificates_the_turn_and_no_control_plane() {
    type Change = fn(&mut ObservedCluster);
    let init = [Action::RunJob(JobKind::Init)];
    let take = [Action::TakeTurn];
    let cases: [(&str, Change, &[Action], &str, Parts); 9] = [
        (
            "no certificates",
            |c| c.certificates_ready = false,
            &[],
            "WaitingForCertificates",
            &["Cluster a"],
        ),
        (
            "an external control plane",
            |c| c.external = true,
            &[],
            "ControlPlaneJoinUnsupported",
            &["external control plane", "Delete this Machine"],
        ),
        ("nobody's turn", |_| (), &take, "TakingTurn", &[]),
        (
            "own turn",
            |c| c.turn = Some(turn_of(ME)),
            &init,
            "KubeadmInit",
            &[],
        ),
        (
            "another's turn",
            |c| c.turn = Some(turn_of(OTHER)),
            &[],
            "WaitingForTurn",
            &[
                "Machine cp-1",
                OTHER,
                "nobody has to act",
                "tatara describe machine cp-1 -n default",
            ],
        ),
        (
            "own turn, in doubt",
            |c| {
                c.turn = Some(turn_of(ME));
                c.in_doubt = Some(Box::new(two_holders()));
            },
            &[],
            "TurnInDoubt",
            &[
                "as the holder of the control-plane turn",
                "each may be running kubeadm init",
            ],
        ),
        (
            "in doubt, and made by another",
            |c| {
                c.initialized_by = Some(OTHER.into());
                c.in_doubt = Some(Box::new(two_holders()));
            },
            &[],
            "EndpointMissing",
            &[],
        ),
        (
            "made by another",
            |c| c.initialized_by = Some(OTHER.into()),
            &[],
            "EndpointMissing",
            &["delete this Machine"],
        ),
        (
            "made by another, own turn",
            |c| {
                c.initialized_by = Some(OTHER.into());
                c.turn = Some(turn_of(ME));
            },
            &[],
            "EndpointMissing",
            &[],
        ),
    ];
    for (case, change, actions, reason, parts) in cases {
        let observed = with_cluster(prepared(control_plane(), &[]), change);
        let says = ("BootstrapReady", reason, parts);
        expect(case, &plan(&observed, at(0)), actions, says);
    }
}

#[test]
fn a_control_plane_that_its_host_remembers_is_recorded_and_never_made_again() {
    let mut observed = prepared(control_plane(), &[(JobKind::Init, UnitState::Succeeded)]);
    let owner = Ownership::Owner(Owner {
        marker: observed.marker.clone(),
        initialized: true,
        joined: false,
    });
    let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    else {
        panic!("a host")
    };
    seen.owner = owner;
    let says = ("BootstrapReady", "KubeadmInit", &["recording it"][..]);
    expect(
        "not recorded",
        &plan(&observed, at(0)),
        &[Action::RecordInitialized],
        says,
    );
    let recorded = with_cluster(observed, |c| c.initialized_by = Some(ME.into()));
    let says = ("NodeHealthy", "WaitingForNode", &[ME][..]);
    expect("recorded", &plan(&recorded, at(0)), &[], says);
}

#[test]
fn a_worker_joins_once_the_api_answers_and_its_version_fits() {
    let running = |version: &str| {
        let observed = with_cluster(worker(), |cluster| {
            cluster.initialized_by = Some(OTHER.into());
            cluster.version = Some(version.into());
        });
        prepared(observed, &[])
    };
    let says = ("BootstrapReady", "KubeadmJoin", &[][..]);
    let join = [Action::RunJob(JobKind::Join)];
    expect("ready", &plan(&running("v1.36.3"), at(0)), &join, says);

    let mut silent = running("v1.36.3");
    silent.node = Lookup::Unknown("the API of Cluster a does not answer".into());
    let says = (
        "BootstrapReady",
        "WaitingForControlPlane",
        &["does not answer"][..],
    );
    expect("silent API", &plan(&silent, at(0)), &[], says);

    for (version, parts) in [
        (
            "v1.35.4",
            &["spec.versions.kubelet", "v1.36.3", "ahead of", "v1.35.4"],
        ),
        (
            "v1.40.0",
            &["spec.versions.kubelet", "v1.36.3", "behind", "v1.37"],
        ),
    ] {
        let skewed = running(version);
        let says = ("BootstrapReady", "VersionSkew", &parts[..]);
        expect(version, &plan(&skewed, at(0)), &[], says);
    }
}

#[test]
fn a_unit_is_attached_to_started_again_or_waited_for() {
    let run = [Action::RunJob(JobKind::Prepare)];
    let cases: [(&str, UnitState, &[Action], &str, Parts); 5] = [
        (
            "running",
            UnitState::Running(step("containerd")),
            &run,
            "Preparing",
            &["2/9 containerd"],
        ),
        (
            "interrupted",
            UnitState::Interrupted(step("containerd")),
            &run,
            "Preparing",
            &[
                "interrupted in step containerd",
                "Tatara runs all its steps again",
            ],
        ),
        (
            "failed",
            failure("no space left on device\n"),
            &run,
            "PrepareFailed",
            &["2/9 containerd failed with exit code 1", "no space left"],
        ),
        (
            "failed with the error among much else",
            failure(
                "[kubelet-start] Starting the kubelet\nerror: the API did not answer\nTo see the stack trace\n",
            ),
            &run,
            "PrepareFailed",
            &[
                "exit code 1: error: the API did not answer\n[kubelet-start]",
                "To see the stack trace",
            ],
        ),
        (
            "changed",
            UnitState::Succeeded,
            &run,
            "Preparing",
            &["changed"],
        ),
    ];
    for (case, state, actions, reason, parts) in cases {
        let mut status = unit(&worker(), JobKind::Prepare, state);
        status.identity = "another".into();
        let plan = plan(&ours(worker(), vec![status]), at(0));
        expect(case, &plan, actions, ("BootstrapReady", reason, parts));
    }
}

#[test]
fn a_unit_that_failed_waits_longer_each_time() {
    let interrupted = || UnitState::Interrupted(step("containerd"));
    for state in [|| failure("no"), interrupted] {
        waits_longer_each_time(state);
    }
}

fn waits_longer_each_time(state: fn() -> UnitState) {
    let waits = [1, 3, 20].map(|failed| {
        let failed = Attempts {
            since: None,
            failed,
            last: Some(at(0)),
            error: None,
        };
        let status = unit(&worker(), JobKind::Prepare, state());
        let mut observed = ours(worker(), vec![status]);
        observed.attempts = [(JobKind::Prepare, failed)].into();
        let early = plan(&observed, at(0));
        assert_eq!(early.actions, []);
        let late = plan(&observed, at(61));
        assert_eq!(late.actions, [Action::RunJob(JobKind::Prepare)]);
        match early.next {
            Next::After(wait) => wait,
            Next::OnChange => panic!("nothing would wake it"),
        }
    });
    assert!(waits.is_sorted() && waits[0] < waits[2], "{waits:?}");
}
