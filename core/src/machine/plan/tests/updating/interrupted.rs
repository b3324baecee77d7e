//! An update that is edited or deleted in its middle: it keeps neither turn nor cordon that others
//! wait for.

use super::*;
use crate::machine::ControlPlaneMachine;
use crate::machine::plan::update;

const THREE: [&str; 3] = [OWN, "192.0.2.21", "192.0.2.22"];

/// Of three, with the turn; kubeadm's part is over, and its Node is cordoned.
fn half_way(jobs: &[(JobKind, UnitState)]) -> Observed {
    let observed = with_turn(old_control_plane(&THREE, jobs), ME);
    let mut observed = with_cluster(observed, |cluster| {
        cluster.components = Some(components("v1.36.3"));
        cluster.other_control_planes = vec![ControlPlaneMachine {
            name: "cp-1".into(),
            address: Some(THREE[1].into()),
            applied: None,
            leaves: false,
            look: LastLook::Idle,
            runs: None,
        }];
    });
    cordon(&mut observed);
    observed
}

fn cordon(observed: &mut Observed) {
    node_is(observed, |node| {
        node.unschedulable = true;
        node.annotations
            .insert(ANNOTATION_CORDONED.into(), "true".into());
    });
}

fn kinds(plan: &Plan) -> Vec<&'static str> {
    let kind = |action: &Action| match action {
        Action::AwaitComponents => "components",
        Action::UncordonNode { .. } => "uncordon",
        Action::ReturnTurn(TurnIsOver::Member(_)) => "return",
        Action::Drain { .. } => "drain",
        Action::TakeTurn => "take",
        Action::RunJob(JobKind::Kubelet) => "kubelet",
        _ => "other",
    };
    plan.actions.iter().map(kind).collect()
}

const UPGRADED: (JobKind, UnitState) = (JobKind::Upgrade, UnitState::Succeeded);

#[test]
fn what_may_not_go_on_gives_turn_and_node_back_unless_a_job_runs_or_has_stopped_its_member() {
    let back =
        json!({ "spec": { "versions": { "controlPlane": "v1.35.4", "kubelet": "v1.35.4" } } });
    let of = |jobs: &[(JobKind, UnitState)]| edited(half_way(jobs), &back);
    let refused = of(&[UPGRADED]);
    let put_down = plan(&refused, at(0));
    assert_eq!(kinds(&put_down), ["components", "uncordon", "return"]);
    let says = finding(&put_down, "UpToDate");
    assert_eq!(
        says.reason(),
        Reason::UnsupportedVersion,
        "{}",
        says.message()
    );
    assert!(update::ends(&put_down), "it is told with the outcome");
    let after = update::ended(&refused, &put_down).expect("the facts");
    let waits = plan(&after, at(0));
    expect("then", &waits, &[], ("UpToDate", "UnsupportedVersion", &[]));
    for job in [
        (JobKind::Kubelet, UnitState::Running(step("kubelet"))),
        (JobKind::Kubelet, failure("no")),
    ] {
        let kept = plan(&of(&[UPGRADED, job]), at(0));
        assert_eq!(kinds(&kept), [""; 0]);
    }
}

#[test]
fn what_cannot_be_rendered_any_more_gives_turn_and_node_back_too() {
    let mut observed = half_way(&[UPGRADED]);
    let mut value = observed.resolved.clone().expect("a value");
    let archives = json!(["https://mirror.example/images.tar"]);
    value["node"] = json!({ "software": { "source": "packages", "imageArchives": archives } });
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    let put_down = plan(&observed, at(0));
    let says = finding(&put_down, "UpToDate");
    assert_eq!(
        says.reason(),
        Reason::InvalidConfiguration,
        "{}",
        says.message()
    );
    assert_eq!(kinds(&put_down), ["components", "uncordon", "return"]);
}

#[test]
fn what_was_ended_is_told_without_another_look() {
    let mut new = from_packages(running(worker()));
    new = shows(new, &[], "v1.36.3");
    cordon(&mut new);
    let ends = plan(&new, at(0));
    assert_eq!(kinds(&ends), ["uncordon"]);
    let after = update::ended(&new, &ends).expect("the facts");
    let over = plan(&after, at(0));
    let says = says("UpToDate", "VersionsEqual");
    expect("a worker", &over, &[], says);
    assert_eq!(over.phase, Phase::Running);
    assert!(update::ended(&new, &over).is_none(), "nothing was done");

    let jobs = [UPGRADED, (JobKind::Kubelet, UnitState::Succeeded)];
    let mut new = shows(half_way(&[]), &jobs, "v1.36.3");
    runs(&mut new, "v1.36.3");
    let ends = plan(&new, at(0));
    assert_eq!(kinds(&ends), ["components", "uncordon", "return"]);
    let after = update::ended(&new, &ends).expect("the facts");
    expect("a control plane", &plan(&after, at(0)), &[], says);
}

#[test]
fn one_that_is_deleted_returns_the_turn_before_its_drain_and_waits_for_its_jobs() {
    let of = |jobs: &[(JobKind, UnitState)]| plan(&deleted(half_way(jobs), at(0)), at(1));
    let leaves = kinds(&of(&[UPGRADED]));
    assert_eq!(&leaves[..2], ["return", "drain"], "{leaves:?}");
    let running = (JobKind::Kubelet, UnitState::Running(step("kubelet")));
    let waits = of(&[UPGRADED, running]);
    let says = ("Deleting", "WaitingForHost", &["runs on its host"][..]);
    expect("its kubelet starts etcd anew", &waits, &[], says);
    // it alone can start its member again, should another one die
    let broken = kinds(&of(&[UPGRADED, (JobKind::Kubelet, failure("no"))]));
    assert_eq!(broken.first(), Some(&"drain"), "{broken:?}");
    assert!(!broken.contains(&"return"), "{broken:?}");
}

#[test]
fn one_that_is_deleted_starts_the_member_that_its_update_stopped_where_etcd_has_no_quorum() {
    let lost = |api: Answer| {
        let broken = [UPGRADED, (JobKind::Kubelet, failure("no"))];
        let observed = with_cluster(deleted(half_way(&broken), at(0)), |cluster| {
            let mut now = (*components("v1.36.3")).clone();
            for second in [5, 25] {
                let state = now.states.get(&Component::ApiServer);
                let state = ComponentState::next(state, api.clone(), at(second));
                now.states.insert(Component::ApiServer, state);
            }
            cluster.components = Some(Arc::new(now));
            cluster.etcd = Lookup::Unknown("no answer".into());
        });
        plan(&observed, at(30))
    };
    let stopped = lost(Answer::Fails("its port is closed".into()));
    assert_eq!(kinds(&stopped), ["kubelet"]);
    for api in [Answer::Serves, Answer::Untrusted("expired".into())] {
        let serves = lost(api);
        assert_eq!(kinds(&serves), [""; 0], "its member serves as well");
        assert_eq!(
            finding(&serves, "Deleting").reason(),
            Reason::EtcdUnreachable
        );
    }
}

#[test]
fn a_drain_goes_no_further_where_no_other_node_takes_pods() {
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let mut alone = with_cluster(old_worker(&done), |c| c.peers.take_pods = false);
    cordon(&mut alone);
    let goes_on = plan(&alone, at(0));
    assert_eq!(kinds(&goes_on), ["kubelet"]);
    // somebody else cordoned it before
    node_is(&mut alone, |node| {
        node.annotations.remove(ANNOTATION_CORDONED);
    });
    assert_eq!(kinds(&plan(&alone, at(0))), ["drain", "kubelet"]);
}

#[test]
fn one_that_is_half_upgraded_keeps_the_turn_unless_what_is_in_the_way_needs_it() {
    let of = |sick: &str, change: fn(&mut ObservedCluster)| {
        let failed = UnitState::Failed(Failure {
            at: step("upgrade"),
            ..match failure("no") {
                UnitState::Failed(failure) => failure,
                other => panic!("{other:?}"),
            }
        });
        let observed = with_turn(old_control_plane(&THREE, &[(JobKind::Upgrade, failed)]), ME);
        let observed = with_cluster(observed, |cluster| {
            let mut members = (*etcd_at(&THREE)).clone();
            let id = members.at(sick).expect("a member").id;
            members.health.remove(&id);
            cluster.etcd = Lookup::Known(Arc::new(members));
            let other = |name: &str, address: &str| ControlPlaneMachine {
                name: name.into(),
                address: Some(address.into()),
                ..ControlPlaneMachine::default()
            };
            cluster.other_control_planes = vec![other("cp-1", THREE[1]), other("cp-2", THREE[2])];
            change(cluster);
        });
        let waits = plan(&observed, at(0));
        let says = finding(&waits, "UpToDate");
        assert_eq!(says.reason(), Reason::QuorumAtRisk, "{}", says.message());
        kinds(&waits)
    };
    let kept = of(THREE[1], |_| ());
    assert_eq!(kept, [""; 0], "no other control plane begins meanwhile");
    let leaves = of(THREE[1], |cluster| {
        cluster.other_control_planes[0].leaves = true;
    });
    assert_eq!(leaves, ["return"], "the dead one leaves");
    let no_machine = of(THREE[2], |cluster| {
        cluster.other_control_planes.pop();
    });
    assert_eq!(no_machine, ["return"], "the Cluster removes it");
}

#[test]
fn a_job_that_was_started_before_an_edit_says_that_the_edit_follows() {
    let mut observed = half_way(&[(JobKind::Upgrade, UnitState::Running(step("kubeadm")))]);
    let follows = "; what was edited since follows when this attempt has ended";
    let says = |observed: &Observed| finding(&plan(observed, at(0)), "Updating").message();
    assert!(!says(&observed).contains(follows));
    with_other_steps(&mut observed);
    assert!(says(&observed).ends_with(follows), "{}", says(&observed));
}
