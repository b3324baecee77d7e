//! A control plane that is updated: its turn, and what etcd allows of it.

use super::*;

#[test]
fn a_control_plane_has_the_turn_while_it_is_updated() {
    use UnitState::Succeeded;
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let of = |observed: &Observed| plan(observed, at(0));
    let take = [
        Action::TakeTurn(TurnAction::Upgrade),
        Action::RunJob(JobKind::Upgrade),
    ];
    for members in [&three[..1], &three] {
        let begin = of(&old_control_plane(members, &[]));
        expect("it begins", &begin, &take, says("UpToDate", "TakingTurn"));
        // what was told before stands until the job tells more
        assert!(begin.is_quick());
    }
    let another = of(&with_turn(old_control_plane(&three, &[]), OTHER));
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

    let both = [(JobKind::Upgrade, Succeeded), (JobKind::Kubelet, Succeeded)];
    let mut new = shows(serves, &both, "v1.36.3");
    runs(&mut new, "v1.36.3");
    let ends = of(&new);
    let returned = |action: &Action| matches!(action, Action::ReturnTurn(TurnIsOver::Member(_)));
    assert!(
        ends.actions.iter().all(returned) && ends.actions.len() == 1,
        "{:?}",
        ends.actions
    );
    let sick = with_cluster(new.clone(), |cluster| {
        let fails = [0, 20].into_iter();
        let fails = fails.fold(None, |before: Option<ComponentState>, now| {
            let fails = Answer::Fails("500".into());
            Some(ComponentState::next(before.as_ref(), fails, at(now)))
        });
        let mut now = (*components("v1.36.3")).clone();
        now.states
            .extend(fails.map(|state| (Component::Scheduler, state)));
        cluster.components = Some(Arc::new(now));
    });
    expect(
        "its scheduler",
        &of(&sick),
        &[],
        says("Updating", "WaitingForControlPlane"),
    );
    let over = with_cluster(new, |cluster| cluster.turn = None);
    expect("over", &of(&over), &[], says("UpToDate", "VersionsEqual"));
}
