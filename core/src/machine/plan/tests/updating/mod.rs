//! A Machine whose versions differ from what its node runs.

mod addons;
mod archives;
mod control_plane;
mod ends;
mod gates;
mod interrupted;
mod settings;
mod unstarted;

use super::members::etcd_at;
use super::*;
use crate::api::names::ANNOTATION_CORDONED;
use crate::control_plane::component::{Answer, Component, ComponentState, Components};
use crate::machine::Peers;
use crate::node::Follow;

const OWN: &str = "192.0.2.11";

/// What a control plane asks for whose host is whole.
fn request() -> Request {
    Request {
        action: TurnAction::Upgrade,
        half_done: false,
    }
}

/// A worker of v1.35.4 under a control plane of v1.36.3 that wants v1.36.3; its host shows these
/// jobs, of which one that has succeeded has the steps of today.
fn old_worker(jobs: &[(JobKind, UnitState)]) -> Observed {
    let mut observed = from_packages(running(worker()));
    runs(&mut observed, "v1.35.4");
    observed = with_cluster(observed, |cluster| {
        cluster.peers.take_pods = true;
    });
    shows(observed, jobs, "v1.35.4")
}

/// A control plane of v1.35.4 that wants v1.36.3, alone or beside others.
fn old_control_plane(members: &[&str], jobs: &[(JobKind, UnitState)]) -> Observed {
    let mut observed = from_packages(running(control_plane()));
    runs(&mut observed, "v1.35.4");
    let observed = with_cluster(observed, |cluster| {
        cluster.version = Some("v1.35.4".into());
        cluster.etcd = Lookup::Known(etcd_at(members));
        cluster.components = Some(components("v1.35.4"));
        cluster.peers.take_pods = true;
    });
    shows(observed, jobs, "v1.35.4")
}

/// Its programs are installed by Tatara.
fn from_packages(mut observed: Observed) -> Observed {
    let mut value = observed.resolved.clone().expect("a value");
    value["node"] = json!({ "software": { "source": "packages" } });
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    observed
}

fn runs(observed: &mut Observed, kubelet: &str) {
    let Lookup::Known(Some(node)) = &observed.node else {
        panic!("a Node")
    };
    observed.node = Lookup::Known(Some(Arc::new(NodeView {
        kubelet_version: kubelet.into(),
        ..node.as_ref().clone()
    })));
}

fn node_is(observed: &mut Observed, change: impl FnOnce(&mut NodeView)) {
    let Lookup::Known(Some(node)) = &observed.node else {
        panic!("a Node")
    };
    let mut node = node.as_ref().clone();
    change(&mut node);
    observed.node = Lookup::Known(Some(Arc::new(node)));
}

fn components(version: &str) -> Arc<Components> {
    let serves = ComponentState::next(None, Answer::Serves, at(0));
    Arc::new(Components {
        version: Some(version.into()),
        states: Component::ALL.map(|name| (name, serves.clone())).into(),
    })
}

fn shows(observed: Observed, jobs: &[(JobKind, UnitState)], kubelet: &str) -> Observed {
    let identity = |kind| {
        let unit = match kind {
            JobKind::Images => units::archives(&observed).map(|unit| unit.expect("archives")),
            JobKind::Upgrade => units::upgrade(&observed),
            JobKind::Addons => units::addons(&observed),
            _ => units::kubelet(&observed),
        };
        unit.expect("a unit").identity
    };
    let jobs = jobs.iter().map(|(kind, state)| UnitStatus {
        identity: identity(*kind),
        ..unit(&observed, *kind, state.clone())
    });
    let jobs = jobs.collect();
    let mut observed = ours(observed, jobs);
    if let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    {
        seen.versions.kubelet = Some(kubelet.into());
    }
    observed
}

/// What its host shows was started with other steps than those of today.
fn with_other_steps(observed: &mut Observed) {
    let Placement::Held(held) = &mut observed.placement else {
        panic!("a host")
    };
    let Contact::Seen(seen) = &mut held.contact else {
        panic!("it answers")
    };
    for unit in &mut seen.units {
        unit.identity = "another".into();
    }
}

fn with_turn(observed: Observed, machine: &str) -> Observed {
    with_cluster(observed, |cluster| {
        cluster.turn = Some(Turn {
            action: TurnAction::Upgrade,
            ..turn_of(machine)
        });
    })
}

fn drain() -> Action {
    Action::Drain {
        node: "host-a".into(),
        uid: "node".into(),
    }
}

fn says<'a>(condition: &'a str, reason: &'a str) -> (&'a str, &'a str, &'a [&'a str]) {
    (condition, reason, &[])
}

#[test]
fn a_worker_goes_from_kubeadm_over_its_drain_to_the_kubelet() {
    use JobKind::{Kubelet, Upgrade};
    use UnitState::{Running, Succeeded};
    let of = |jobs: &[(JobKind, UnitState)]| plan(&old_worker(jobs), at(0));
    let begin = of(&[]);
    let run = [Action::RunJob(Upgrade)];
    expect(
        "it begins",
        &begin,
        &run,
        says("Updating", "KubeadmUpgrade"),
    );
    assert_eq!(begin.phase, Phase::Updating);
    let differs = finding(&begin, "UpToDate");
    assert_eq!(differs.message(), "kubelet v1.35.4, wanted v1.36.3");
    assert_eq!(finding(&begin, "Ready").status, Status::True);
    let attached = of(&[(Upgrade, Running(step("upgrade")))]);
    let told = ("Updating", "KubeadmUpgrade", &["2/9 upgrade"][..]);
    expect("a restarted manager attaches", &attached, &run, told);
    let drains = of(&[(Upgrade, Succeeded)]);
    let run = [drain(), Action::RunJob(Kubelet)];
    expect("drained first", &drains, &run, says("Updating", "Draining"));
    let done = [(Upgrade, Succeeded), (Kubelet, Running(step("kubelet")))];
    let replaced = of(&done);
    let run = [Action::RunJob(Kubelet)];
    expect("once", &replaced, &run, says("Updating", "KubeletUpdate"));
    let failed = of(&[(Upgrade, Succeeded), (Kubelet, failure("no"))]);
    expect("a failure", &failed, &run, says("Updating", "UpdateFailed"));
    assert_eq!(finding(&failed, "UpToDate").reason(), Reason::UpdateFailed);
    let installed = shows(
        old_worker(&[]),
        &[(Upgrade, Succeeded), (Kubelet, Succeeded)],
        "v1.36.3",
    );
    let waits = plan(&installed, at(0));
    expect("its Node", &waits, &[], says("Updating", "WaitingForNode"));
    // somebody put the old program back
    let undone = of(&[(Upgrade, Succeeded), (Kubelet, Succeeded)]);
    let run = [drain(), Action::RunJob(Kubelet)];
    expect("again", &undone, &run, says("Updating", "Draining"));
}

#[test]
fn what_was_cordoned_takes_pods_again_when_all_is_ready() {
    let mut new = from_packages(running(worker()));
    new = shows(new, &[], "v1.36.3");
    node_is(&mut new, |node| {
        node.unschedulable = true;
        node.annotations
            .insert(ANNOTATION_CORDONED.into(), "true".into());
    });
    let uncordon = [Action::UncordonNode {
        node: "host-a".into(),
        uid: "node".into(),
    }];
    let ends = plan(&new, at(0));
    expect("it ends", &ends, &uncordon, says("Updating", "Updating"));
    node_is(&mut new, |node| node.ready = Some(false));
    let waits = plan(&new, at(0));
    expect("not yet", &waits, &[], says("Updating", "WaitingForNode"));
    // by others
    node_is(&mut new, |node| {
        node.ready = Some(true);
        node.annotations.remove(ANNOTATION_CORDONED);
    });
    let theirs = plan(&new, at(0));
    expect("theirs", &theirs, &[], says("UpToDate", "VersionsEqual"));
    assert_eq!(theirs.phase, Phase::Running);
}

#[test]
fn nothing_is_drained_that_has_no_other_place() {
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let kubelet = [Action::RunJob(JobKind::Kubelet)];
    let alone = with_cluster(old_worker(&done), |c| c.peers = Peers::default());
    let excluded = json!({ "metadata": { "annotations": { (ANNOTATION_EXCLUDE_DRAIN): "" } } });
    let mut silent = old_worker(&done);
    node_is(&mut silent, |node| {
        (node.ready, node.ready_reason) = (None, "NodeStatusUnknown".into());
    });
    let cases = [alone, edited(old_worker(&done), &excluded), silent];
    for observed in cases {
        let plan = plan(&observed, at(0));
        expect(
            "no drain",
            &plan,
            &kubelet,
            says("Updating", "KubeletUpdate"),
        );
    }
    let timed = json!({
        "spec": { "deletion": { "nodeDrainTimeoutSeconds": 10 } },
        "status": { "conditions": [{
            "type": "Draining", "status": "True", "reason": "DrainBlocked", "message": "a budget",
            "lastTransitionTime": at(0).to_string(),
        }] },
    });
    let timed = edited(old_worker(&done), &timed);
    let all = [drain(), kubelet[0].clone()];
    expect(
        "in time",
        &plan(&timed, at(9)),
        &all,
        says("Draining", "Draining"),
    );
    let late = plan(&timed, at(10));
    expect("late", &late, &kubelet, says("Draining", "DrainTimedOut"));
}

#[test]
fn the_budget_that_blocks_the_drain_is_what_people_see_first() {
    let observed = old_worker(&[(JobKind::Upgrade, UnitState::Succeeded)]);
    let mut drains = plan(&observed, at(0));
    assert_eq!(finding(&drains, "Ready").reason(), Reason::NodeReady);
    let found = Finding::yes(ConditionType::Draining, Reason::DrainBlocked, "a budget");
    assert!(drains.learn(&observed, Some(found)));
    let ready = finding(&drains, "Ready");
    let told = (ready.status, ready.reason(), ready.message());
    assert_eq!(
        told,
        (Status::True, Reason::DrainBlocked, "a budget".to_owned())
    );
    // by which others see that its kubelet comes next
    assert_eq!(finding(&drains, "Updating").reason(), Reason::Draining);
}

/// Case, what is observed, whether it is begun, reason and a part of the message of `UpToDate`.
type Case = (&'static str, Observed, bool, (&'static str, &'static str));

#[test]
fn versions_move_in_the_order_that_kubernetes_allows() {
    let upgrade = [Action::RunJob(JobKind::Upgrade)];
    let under = |version: &str| {
        let version = version.to_owned();
        with_cluster(old_worker(&[]), |cluster| cluster.version = Some(version))
    };
    let wants =
        |observed, versions: Value| edited(observed, &json!({ "spec": { "versions": versions } }));
    let lone = || with_turn(old_control_plane(&[OWN], &[]), ME);
    let both = |version: &str| json!({ "kubelet": version, "controlPlane": version });
    let updating = |observed| {
        with_cluster(observed, |c| {
            c.peers.versions.updating = Some("cp-1".into());
        })
    };
    let left = |observed| {
        with_cluster(observed, |cluster| {
            let version = "v1.32.0".parse().expect("a version");
            cluster.peers.versions.oldest_kubelet = Some(("w-9".into(), version));
        })
    };
    let cases: Vec<Case> = vec![
        (
            "ahead",
            under("v1.35.4"),
            false,
            ("VersionSkew", "ahead of the control plane at v1.35.4"),
        ),
        (
            "a control plane moves",
            updating(old_worker(&[])),
            false,
            ("VersionSkew", "control-plane Machine cp-1 is updated"),
        ),
        (
            "back, within the skew",
            wants(old_worker(&[]), json!({ "kubelet": "v1.34.1" })),
            true,
            ("Updating", "wanted v1.34.1"),
        ),
        (
            "back, too far",
            wants(old_worker(&[]), json!({ "kubelet": "v1.32.1" })),
            false,
            ("UnsupportedVersion", "set a full version of v1.33 to v1.36"),
        ),
        (
            "one minor up",
            lone(),
            true,
            ("Updating", "control plane v1.35.4, wanted v1.36.3; kubelet"),
        ),
        (
            "a patch back",
            wants(lone(), both("v1.35.3")),
            false,
            ("UnsupportedVersion", "does not go back"),
        ),
        (
            "a minor left out",
            with_cluster(wants(lone(), both("v1.36.3")), |c| {
                c.version = Some("v1.34.4".into());
                c.components = Some(components("v1.34.4"));
            }),
            false,
            ("UnsupportedVersion", "set a full version of v1.35 first"),
        ),
        (
            "a kubelet left behind",
            left(lone()),
            false,
            ("VersionSkew", "machine w-9 still runs kubelet v1.32.0"),
        ),
    ];
    for (case, observed, goes, (reason, part)) in cases {
        let actions: &[Action] = if goes { &upgrade } else { &[] };
        let mut said = plan(&observed, at(0));
        if !goes {
            // the turn that was taken before the edit
            let put_down =
                |a: &Action| matches!(a, Action::AwaitComponents | Action::ReturnTurn(_));
            said.actions.retain(|action| !put_down(action));
        }
        expect(case, &said, actions, ("UpToDate", reason, &[part]));
        assert_eq!(finding(&said, "Ready").status, Status::True, "{case}");
    }
}

#[test]
fn a_job_that_is_followed_is_the_updates_and_the_node_stays_as_it_is() {
    let mut observed = old_worker(&[]);
    observed.placement = held(Contact::NotAsked);
    observed.follow = Some(Follow {
        job: observed.marker.job(JobKind::Upgrade),
        progress: Some(step("upgrade")),
        since: at(0),
        retried: None,
    });
    let told = ("Updating", "KubeadmUpgrade", &["2/9 upgrade"][..]);
    expect("its Node is there", &plan(&observed, at(0)), &[], told);
    let updating = json!({ "status": { "conditions": [{
        "type": "Updating", "status": "True", "reason": "KubeadmUpgrade", "message": "",
        "lastTransitionTime": at(0).to_string(),
    }] } });
    let mut away = edited(observed, &updating);
    away.node = Lookup::Unknown("no answer".into());
    let said = plan(&away, at(0));
    expect("its API is away", &said, &[], told);
    assert_eq!(said.phase, Phase::Updating);
    assert_eq!(
        finding(&said, "NodeHealthy").reason(),
        Reason::ApiUnreachable
    );
}
