//! Archives of images, which an update imports first.

use super::*;

/// With archives of images that are imported before an update.
fn with_archives(mut observed: Observed) -> Observed {
    let mut value = observed.resolved.clone().expect("a value");
    let archive = format!(
        "https://mirror.example/images.tar#sha256={}",
        "a".repeat(64)
    );
    value["node"] = json!({ "software": { "source": "packages", "imageArchives": [archive] } });
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    observed
}

#[test]
fn archives_of_images_are_imported_before_the_turn_and_before_etcd_is_asked() {
    use UnitState::{Interrupted, Running, Succeeded};
    let begin = with_archives(old_control_plane(&[OWN], &[]));
    let run = [Action::RunJob(JobKind::Images)];
    let says = says("Updating", "Updating");
    expect("it begins", &plan(&begin, at(0)), &run, says);
    let of = |jobs: &[(JobKind, UnitState)]| {
        let observed = with_archives(old_control_plane(&[OWN], &[]));
        plan(&shows(observed, jobs, "v1.35.4"), at(0))
    };
    let runs = of(&[(JobKind::Images, Running(step("images")))]);
    expect("attached", &runs, &run, says);
    assert_eq!(runs.asks, None);
    let imported = of(&[(JobKind::Images, Succeeded)]);
    assert_eq!(imported.asks, Some(request()));
    assert_eq!(imported.actions, []);
    let worker = shows(
        with_archives(old_worker(&[])),
        &[(JobKind::Images, Succeeded)],
        "v1.35.4",
    );
    let upgrades = [Action::RunJob(JobKind::Upgrade)];
    assert_eq!(plan(&worker, at(0)).actions, upgrades);
    // kubeadm may have stopped its member: nothing else comes before that serves again
    let half = |jobs: &[(JobKind, UnitState)]| {
        let observed = with_turn(with_archives(old_control_plane(&[OWN], &[])), ME);
        shows(observed, jobs, "v1.35.4")
    };
    let broken = (JobKind::Upgrade, Interrupted(step("upgrade")));
    let serves = half(std::slice::from_ref(&broken));
    assert_eq!(plan(&serves, at(0)).actions, run, "an image may be missing");
    let stopped = with_cluster(serves, |cluster| {
        let mut now = (*components("v1.35.4")).clone();
        let fails = Answer::Fails("its port is closed".into());
        let state = ComponentState::next(now.states.get(&Component::Etcd), fails, at(5));
        now.states.insert(Component::Etcd, state);
        cluster.components = Some(Arc::new(now));
    });
    assert_eq!(plan(&stopped, at(0)).actions, upgrades);
    // edited in mid-update: others have the turn while it imports
    let edited = plan(&half(&[]), at(0)).actions;
    let returns = matches!(
        edited[..],
        [Action::ReturnTurn(_), Action::RunJob(JobKind::Images)]
    );
    assert!(returns, "{edited:?}");
    // the list was emptied while it was imported
    let importing = [(JobKind::Images, Running(step("images")))];
    let emptied = from_packages(half(&importing));
    assert_eq!(plan(&emptied, at(0)).actions, run, "its end is waited for");
}
