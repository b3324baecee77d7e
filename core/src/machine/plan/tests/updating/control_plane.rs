//! A control plane that is updated: its turn, and what etcd allows of it.

use super::*;
use crate::machine::plan::update;

/// Who is in its way may need the turn to leave.
#[test]
fn one_that_is_whole_returns_its_turn_where_another_holds_it_up() {
    let with = |look| {
        let granted = with_turn(
            old_control_plane(&[OWN, "192.0.2.21", "192.0.2.22"], &[]),
            ME,
        );
        let granted = with_cluster(granted, |cluster| {
            cluster.other_control_planes = vec![crate::machine::ControlPlaneMachine {
                name: "cp-1".into(),
                address: Some("192.0.2.21".into()),
                look,
                runs: look.job(),
                ..Default::default()
            }];
        });
        let plan = plan(&granted, at(0));
        let returns = |action: &Action| matches!(action, Action::ReturnTurn(_));
        let starts = |action: &Action| matches!(action, Action::RunJob(_));
        let is = |what: fn(&Action) -> bool| plan.actions.iter().any(what);
        (is(returns), is(starts))
    };
    assert_eq!(with(LastLook::Idle), (false, true));
    assert_eq!(with(LastLook::Runs(JobKind::Join)), (true, false));
    assert_eq!(with(LastLook::Silent), (true, false));
    // that host is asked in a moment
    assert_eq!(with(LastLook::Never), (false, false));
}

#[test]
fn a_control_plane_has_the_turn_while_it_is_updated() {
    use UnitState::Succeeded;
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let of = |observed: &Observed| plan(observed, at(0));
    let upgrades = [Action::RunJob(JobKind::Upgrade)];
    for members in [&three[..1], &three] {
        let asks = of(&old_control_plane(members, &[]));
        expect("it asks", &asks, &[], says("UpToDate", "TakingTurn"));
        assert_eq!(asks.asks, Some(request()));
        let begin = of(&with_turn(old_control_plane(members, &[]), ME));
        assert_eq!(
            (begin.actions.as_slice(), begin.asks),
            (&upgrades[..], None)
        );
    }
    let another = of(&with_turn(old_control_plane(&three, &[]), OTHER));
    assert_eq!(another.asks, Some(request()), "it stands in the queue");
    let told = (
        "UpToDate",
        "WaitingForTurn",
        &["Machine cp-1 is updated"][..],
    );
    expect("one at a time", &another, &[], told);
    let sick = with_cluster(old_control_plane(&three, &[]), |cluster| {
        let mut members = (*etcd_at(&three)).clone();
        let id = members.at(three[1]).expect("a member").id;
        members.health.remove(&id);
        cluster.etcd = Lookup::Known(Arc::new(members));
    });
    expect(
        "the quorum",
        &of(&sick),
        &[],
        says("UpToDate", "QuorumAtRisk"),
    );
    let moved = with_cluster(old_control_plane(&three, &[]), |cluster| {
        let mut members = (*etcd_at(&["192.0.2.19", three[1]])).clone();
        for (member, name) in members.list.iter_mut().zip(["old", ""]) {
            member.name = name.into();
        }
        cluster.etcd = Lookup::Known(Arc::new(members));
    });
    let unlisted: &[&str] = &[
        "no member at 192.0.2.11 or named host-a, but old (192.0.2.19), 192.0.2.21",
        "set it back; if its member was removed, delete this Machine",
    ];
    let told = ("UpToDate", "MemberUnknown", unlisted);
    expect("no member", &of(&moved), &[], told);
    let unread = with_cluster(old_control_plane(&three, &[]), |cluster| {
        cluster.etcd = Lookup::Unknown("no answer".into());
    });
    expect(
        "no list",
        &of(&unread),
        &[],
        says("UpToDate", "EtcdUnreachable"),
    );

    let mine = |jobs: &[(JobKind, UnitState)]| with_turn(old_control_plane(&three, jobs), ME);
    let run = [Action::RunJob(JobKind::Upgrade)];
    expect(
        "kubeadm",
        &of(&mine(&[])),
        &run,
        says("Updating", "KubeadmUpgrade"),
    );
    let done = [(JobKind::Upgrade, Succeeded)];
    let waits = says("Updating", "WaitingForControlPlane");
    expect("its API server", &of(&mine(&done)), &[], waits);
    let serves = with_cluster(mine(&done), |c| c.components = Some(components("v1.36.3")));
    let kubelet = [drain(), Action::RunJob(JobKind::Kubelet)];
    expect(
        "kubelet",
        &of(&serves),
        &kubelet,
        says("Updating", "Draining"),
    );
    // the API of a lone one is away meanwhile
    let mut away = mine(&[(JobKind::Upgrade, failure("no"))]);
    away.node = Lookup::Unknown("no answer".into());
    let tried = of(&away);
    expect("again", &tried, &run, says("Updating", "UpdateFailed"));
    assert_eq!(finding(&tried, "BootstrapReady").status, Status::True);
}

#[test]
fn the_end_of_an_update_asks_the_components_and_goes_by_that_answer_alone() {
    use UnitState::Succeeded;
    let of = |observed: &Observed| plan(observed, at(0));
    let both = [(JobKind::Upgrade, Succeeded), (JobKind::Kubelet, Succeeded)];
    let new = with_turn(
        old_control_plane(&[OWN, "192.0.2.21", "192.0.2.22"], &[]),
        ME,
    );
    let new = with_cluster(new, |c| c.components = Some(components("v1.36.3")));
    let mut new = shows(new, &both, "v1.36.3");
    runs(&mut new, "v1.36.3");
    let ends = of(&new);
    let is_ended = |plan: &Plan| {
        let ends = [Action::AwaitComponents];
        let [first @ .., Action::ReturnTurn(TurnIsOver::Member(_))] = &plan.actions[..] else {
            return false;
        };
        first == ends
    };
    assert!(is_ended(&ends), "{:?}", ends.actions);
    // what lasts less than people are told of counts
    let answers = |component, answers: &[Answer]| {
        with_cluster(new.clone(), |cluster| {
            let mut now = (*components("v1.36.3")).clone();
            for (answer, second) in answers.iter().zip([5, 25]) {
                let state = now.states.get(&component);
                let state = ComponentState::next(state, answer.clone(), at(second));
                now.states.insert(component, state);
            }
            cluster.components = Some(Arc::new(now));
        })
    };
    let fails = Answer::Fails("500".into());
    let unwell = |observed: &Observed| {
        let cluster = observed.cluster.as_ref().expect("a cluster");
        update::unwell(observed, cluster.components.as_deref())
    };
    for sick in [&[fails.clone()][..], &[fails.clone(), fails]] {
        let sick = answers(Component::Scheduler, sick);
        assert!(is_ended(&of(&sick)), "it may serve by now");
        let why = unwell(&sick).expect("an answer that is no end");
        assert!(why.contains("kube-scheduler on cp-0"), "{why}");
    }
    // a scheduler that listens elsewhere is never asked, an API server and etcd are
    let unasked = || [Answer::Unasked("no".into()), Answer::Unasked("no".into())];
    for (component, goes) in [
        (Component::Scheduler, true),
        (Component::ControllerManager, true),
        (Component::ApiServer, false),
        (Component::Etcd, false),
    ] {
        let why = unwell(&answers(component, &unasked()));
        assert_eq!(why.is_none(), goes, "{component:?}: {why:?}");
    }
    let unknown = with_cluster(new.clone(), |cluster| cluster.components = None);
    assert!(unwell(&unknown).is_some(), "not asked");
    let over = with_cluster(new, |cluster| cluster.turn = None);
    expect("over", &of(&over), &[], says("UpToDate", "VersionsEqual"));
}

#[test]
fn no_control_plane_begins_while_a_job_runs_on_the_host_of_another() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let beside = with_cluster(old_control_plane(&three, &[]), |cluster| {
        cluster.other_control_planes = vec![crate::machine::ControlPlaneMachine {
            name: "cp-1".into(),
            address: Some(three[1].into()),
            applied: None,
            leaves: false,
            look: LastLook::Idle,
            runs: Some(JobKind::Kubelet),
        }];
    });
    let parts = &["runs on the host of control-plane Machine cp-1"][..];
    let told = ("UpToDate", "WaitingForTurn", parts);
    expect("one at a time", &plan(&beside, at(0)), &[], told);
}

#[test]
fn a_job_that_nothing_is_recorded_of_is_followed_before_all_is_said_to_be_up_to_date() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let at_rest = |jobs: &[(JobKind, UnitState)]| {
        let mut observed = old_control_plane(&three, &[]);
        runs(&mut observed, "v1.36.3");
        observed = with_cluster(observed, |cluster| {
            cluster.components = Some(components("v1.36.3"));
            cluster.version = Some("v1.36.3".into());
        });
        let mut observed = shows(observed, jobs, "v1.36.3");
        observed.learn_look();
        observed
    };
    let says_current = says("UpToDate", "VersionsEqual");
    expect("none runs", &plan(&at_rest(&[]), at(0)), &[], says_current);
    for kind in [JobKind::Upgrade, JobKind::Kubelet] {
        let mut observed = at_rest(&[(kind, UnitState::Running(step("upgrade")))]);
        assert_eq!(observed.last_look, LastLook::Runs(kind));
        let follows = plan(&observed, at(0));
        assert_eq!(follows.actions, [Action::RunJob(kind)]);
        assert_ne!(
            finding(&follows, "UpToDate").status,
            Status::True,
            "{kind:?}"
        );
        // it is followed, and its host not asked meanwhile
        observed.placement = held(Contact::NotAsked);
        let waits = plan(&observed, at(1));
        assert_eq!(waits.actions, []);
        assert_ne!(finding(&waits, "UpToDate").status, Status::True, "{kind:?}");
    }
}

#[test]
fn no_control_plane_begins_before_the_hosts_of_the_others_were_asked() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let beside = with_cluster(old_control_plane(&three, &[]), |cluster| {
        cluster.other_control_planes = vec![crate::machine::ControlPlaneMachine {
            name: "cp-1".into(),
            address: Some(three[1].into()),
            look: LastLook::Never,
            ..Default::default()
        }];
    });
    let parts = &["asks the host of control-plane Machine cp-1"][..];
    let told = ("UpToDate", "WaitingForTurn", parts);
    expect("just started", &plan(&beside, at(0)), &[], told);
}

#[test]
fn a_host_that_does_not_answer_a_new_manager_holds_others_up_while_its_member_serves() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let beside = |serves: bool| {
        let mut members = etcd_at(&three);
        if !serves {
            let members = Arc::make_mut(&mut members);
            let id = members.at(three[1]).expect("a member").id;
            let dead = MemberHealth::Unhealthy("no route to host".into());
            members.health.insert(id, dead);
        }
        with_cluster(old_control_plane(&three, &[]), |cluster| {
            cluster.etcd = Lookup::Known(members);
            cluster.other_control_planes = vec![crate::machine::ControlPlaneMachine {
                name: "cp-1".into(),
                address: Some(three[1].into()),
                look: LastLook::Silent,
                ..Default::default()
            }];
        })
    };
    let parts = &["etcd member of control-plane Machine cp-1 serves"][..];
    let told = ("UpToDate", "WaitingForTurn", parts);
    expect("it may run kubeadm", &plan(&beside(true), at(0)), &[], told);
    // judged as if it were down, as it is
    let guarded = says("UpToDate", "QuorumAtRisk");
    expect("it is dead", &plan(&beside(false), at(0)), &[], guarded);
}
