//! A Machine whose node has other settings than its Cluster.

use super::*;
use crate::settings::{self, OfCluster, Rollout};

fn pods(max_pods: u32, verbosity: &str) -> crate::api::ClusterProviderSpec {
    let arguments = json!([{ "name": "v", "value": verbosity }]);
    let settings = json!({
        "kubeadm": { "clusterConfiguration": { "apiServer": { "extraArgs": arguments } } },
        "kubeletConfiguration": { "maxPods": max_pods },
    });
    serde_json::from_value(settings).expect("settings")
}

/// Its node was made with 110 pods and verbosity 2.
fn made(observed: Observed, is_control_plane: bool) -> Observed {
    let kind = if is_control_plane {
        JobKind::Init
    } else {
        JobKind::Join
    };
    let record = settings::of(&pods(110, "2"), kind, is_control_plane, None).to_string();
    recorded(observed, &record)
}

fn recorded(observed: Observed, record: &str) -> Observed {
    let annotations = json!({ (ANNOTATION_SETTINGS): record });
    edited(
        observed,
        &json!({ "metadata": { "annotations": annotations } }),
    )
}

/// The Cluster has these settings, and kubeadm's ConfigMaps have them or not.
fn wants(observed: Observed, spec: &crate::api::ClusterProviderSpec, rollout: Rollout) -> Observed {
    with_cluster(observed, |cluster| {
        cluster.spec = Ok(spec.clone());
        cluster.settings = OfCluster {
            recorded: settings::of_cluster(spec),
            number: 1,
            rollout,
        };
        cluster.peers.take_pods = true;
    })
}

fn behind_worker(rollout: Rollout, jobs: &[(JobKind, UnitState)]) -> Observed {
    let worker = made(from_packages(running(worker())), false);
    shows(wants(worker, &pods(200, "4"), rollout), jobs, "v1.36.3")
}

fn behind_control_plane(spec: &crate::api::ClusterProviderSpec) -> Observed {
    let plane = made(from_packages(running(control_plane())), true);
    let plane = with_cluster(plane, |cluster| {
        cluster.etcd = Lookup::Known(etcd_at(&[OWN]));
        cluster.components = Some(components("v1.36.3"));
    });
    shows(wants(plane, spec, Rollout::Goes), &[], "v1.36.3")
}

const MORE_PODS: &str = "kubeletConfiguration.maxPods is 110, wanted 200";

#[test]
fn a_gate_that_its_version_does_not_know_reaches_no_node() {
    let settings = json!({ "kubeletConfiguration": { "maxPods": 110, "featureGates": { "MemoryManager": true } } });
    let spec = serde_json::from_value(settings).expect("settings");
    let worker = made(from_packages(running(worker())), false);
    let worker = shows(wants(worker, &spec, Rollout::Goes), &[], "v1.36.3");
    let told: &[&str] = &["featureGates", "does not know feature gate MemoryManager"];
    let expected = ("UpToDate", "InvalidConfiguration", told);
    expect("refused", &plan(&worker, at(0)), &[], expected);
}

#[test]
fn a_worker_follows_once_kubeadms_configmaps_have_the_settings() {
    let table = [
        (Rollout::Unknown, "SettingsDiffer", "did not create"),
        (Rollout::Left, "SettingsDiffer", "tatara.dev/settings-kept-"),
        (Rollout::Waits, "Updating", "SettingsApplied"),
    ];
    for (rollout, reason, part) in table {
        let waits = plan(&behind_worker(rollout, &[]), at(0));
        expect("waits", &waits, &[], ("UpToDate", reason, &[part][..]));
    }
    let begins = plan(&behind_worker(Rollout::Goes, &[]), at(0));
    let record = begins.actions.first();
    assert!(
        matches!(record, Some(Action::RecordSettings { record, begins: true }) if record.contains("applying")),
        "{record:?}"
    );
    assert_eq!(begins.actions[1..], [Action::RunJob(JobKind::Upgrade)]);
    assert_eq!(finding(&begins, "UpToDate").message(), MORE_PODS);
}

#[test]
fn its_node_is_drained_before_the_kubelet_starts_anew_and_then_it_is_recorded() {
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let drains = plan(&behind_worker(Rollout::Goes, &done), at(0));
    assert_eq!(drains.actions, [drain(), Action::RunJob(JobKind::Kubelet)]);

    let done = [
        (JobKind::Upgrade, UnitState::Succeeded),
        (JobKind::Kubelet, UnitState::Succeeded),
    ];
    let observed = behind_worker(Rollout::Goes, &done);
    let ends = plan(&observed, at(0));
    let record = settings::followed(&observed.machine, &pods(200, "4")).expect("a record");
    let recorded_so = Action::RecordSettings {
        record: record.clone(),
        begins: false,
    };
    assert_eq!(ends.actions, [recorded_so]);
    let after = plan(&recorded(observed, &record), at(0));
    expect("after", &after, &[], says("UpToDate", "VersionsEqual"));
}

#[test]
fn one_node_of_a_cluster_follows_at_a_time() {
    let behind = with_cluster(behind_worker(Rollout::Goes, &[]), |c| {
        c.peers.lane.follows_after = Some("w-1".into());
    });
    let parts = [MORE_PODS, "Machine w-1"];
    let told = ("UpToDate", "WaitingForTurn", &parts[..]);
    expect("behind another", &plan(&behind, at(0)), &[], told);
    // its versions were edited: those have rules of their own
    let mut old = behind;
    runs(&mut old, "v1.35.4");
    let goes = plan(&old, at(0));
    assert_eq!(goes.actions.last(), Some(&Action::RunJob(JobKind::Upgrade)));
}

#[test]
fn a_node_that_is_not_ready_begins_nothing_and_goes_on_with_what_it_began() {
    let mut sick = behind_worker(Rollout::Goes, &[]);
    node_is(&mut sick, |node| node.ready = Some(false));
    let waits = ("UpToDate", "WaitingForNode", &[MORE_PODS][..]);
    expect("not ready", &plan(&sick, at(0)), &[], waits);
    let begun = settings::begun(&sick.machine, &pods(200, "4")).expect("a record");
    // also where the ConfigMaps wait for another edit
    for rollout in [Rollout::Goes, Rollout::Waits] {
        let begun = recorded(behind_worker(rollout, &[]), &begun);
        let mut begun = shows(begun, &[], "v1.36.3");
        node_is(&mut begun, |node| node.ready = Some(false));
        let goes = plan(&begun, at(0));
        assert_eq!(
            goes.actions,
            [Action::RunJob(JobKind::Upgrade)],
            "{rollout:?}"
        );
    }
}

#[test]
fn a_control_plane_that_another_has_overtaken_waits_for_its_version() {
    let observed = with_cluster(behind_control_plane(&pods(110, "4")), |cluster| {
        cluster.peers.versions.newest_control_plane = "v1.37.0".parse().ok();
    });
    let says = ("UpToDate", "VersionSkew", &["v1.37.0"][..]);
    expect("overtaken", &plan(&observed, at(0)), &[], says);
}

#[test]
fn kubeadm_before_1_32_runs_all_its_phases() {
    let phases = |version: &str| {
        let versions = json!({ "spec": { "versions": { "kubelet": version } } });
        let mut worker = edited(behind_worker(Rollout::Goes, &[]), &versions);
        runs(&mut worker, version);
        let worker = with_cluster(worker, |cluster| cluster.version = Some(version.into()));
        crate::machine::plan::update::phases(&worker)
    };
    assert_eq!(phases("v1.31.9"), None);
    assert_eq!(phases("v1.32.0"), Some(vec!["kubelet-config"]));
}

#[test]
fn an_argument_of_the_api_server_takes_the_turn_and_leaves_the_kubelet() {
    let observed = behind_control_plane(&pods(110, "4"));
    let takes = plan(&observed, at(0));
    let has = with_turn(observed.clone(), ME);
    let begins = plan(&has, at(0));
    assert_eq!(
        begins.actions.last(),
        Some(&Action::RunJob(JobKind::Upgrade))
    );
    assert_eq!((takes.actions.len(), takes.asks), (0, Some(request())));
    let Some(Action::RecordSettings { record: begun, .. }) = begins.actions.first() else {
        panic!("{:?}", begins.actions);
    };
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let done = shows(recorded(has, begun), &done, "v1.36.3");
    let ends = plan(&done, at(0));
    assert!(
        matches!(
            &ends.actions[..],
            [
                Action::AwaitComponents,
                Action::ReturnTurn(_),
                Action::RecordSettings { .. }
            ]
        ),
        "{:?}",
        ends.actions
    );
}

#[test]
fn settings_that_are_taken_back_are_taken_back_on_the_host() {
    let begun = settings::begun(&made(worker(), false).machine, &pods(200, "2"));
    let worker = recorded(from_packages(running(worker())), &begun.expect("a record"));
    let back = shows(
        wants(worker, &pods(110, "2"), Rollout::Goes),
        &[],
        "v1.36.3",
    );
    let goes = plan(&back, at(0));
    assert_eq!(goes.actions, [Action::RunJob(JobKind::Upgrade)]);
}

#[test]
fn what_a_running_node_keeps_needs_another_machine() {
    let new = json!({ "kubeadm": { "clusterConfiguration": { "dns": { "imageTag": "v1.13.0" },
        "apiServer": { "extraArgs": [{ "name": "v", "value": "2" }] } } },
        "kubeletConfiguration": { "maxPods": 110 } });
    let spec = serde_json::from_value(new).expect("settings");
    let told = plan(&behind_control_plane(&spec), at(0));
    let parts = ["kubeadm.clusterConfiguration.dns", "replace the Machine"];
    let says = ("UpToDate", "NeedsReplacement", &parts[..]);
    expect("kept", &told, &[], says);
}

#[test]
fn settings_that_fail_on_a_control_plane_that_serves_keep_no_turn_between_two_attempts() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let waits = |version: &str, serves: bool| {
        let plane = behind_control_plane(&pods(110, "4"));
        let mut plane = with_cluster(with_turn(plane, ME), |cluster| {
            cluster.etcd = Lookup::Known(etcd_at(&three));
            let mut now = (*components(version)).clone();
            if !serves {
                for second in [5, 25] {
                    let state = now.states.get(&Component::Scheduler);
                    let state =
                        ComponentState::next(state, Answer::Fails("500".into()), at(second));
                    now.states.insert(Component::Scheduler, state);
                }
            }
            cluster.components = Some(Arc::new(now));
        });
        // kubeadm failed where it writes static pods, a moment ago
        let failed = UnitState::Failed(Failure {
            at: step("upgrade"),
            ..match failure("no") {
                UnitState::Failed(failure) => failure,
                other => panic!("{other:?}"),
            }
        });
        plane = shows(plane, &[(JobKind::Upgrade, failed)], "v1.36.3");
        let attempts = Attempts {
            failed: 3,
            last: Some(at(29)),
            ..Attempts::default()
        };
        plane.attempts = [(JobKind::Upgrade, attempts)].into();
        let plan = plan(&plane, at(30));
        let runs = |action: &Action| matches!(action, Action::RunJob(_));
        assert!(!plan.actions.iter().any(runs), "{:?}", plan.actions);
        let returned = |action: &Action| matches!(action, Action::ReturnTurn(_));
        plan.actions.iter().any(returned)
    };
    assert!(waits("v1.36.3", true), "others may join or leave meanwhile");
    assert!(!waits("v1.36.3", false), "it does not serve");
    assert!(
        !waits("v1.35.4", true),
        "its static pods move to another version"
    );
}
