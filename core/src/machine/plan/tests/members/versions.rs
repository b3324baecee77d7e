//! At which version a control plane joins.

use super::*;
use crate::kubeadm::KubernetesVersion;

fn version(text: &str) -> KubernetesVersion {
    text.parse().expect("a version")
}

/// A machine that is prepared as a control plane of v1.36.3 and has the turn, beside others that
/// run these versions.
fn joining(lowest: &str, newest: &str, oldest_kubelet: &str) -> Plan {
    let observed = beside(prepared(control_plane(), &[]), |cluster| {
        cluster.turn = Some(turn(ME, TurnAction::Join));
        cluster.version = Some(lowest.into());
        cluster.peers.versions.newest_control_plane = Some(version(newest));
        cluster.peers.versions.oldest_kubelet = Some(("w-1".into(), version(oldest_kubelet)));
    });
    plan(&observed, at(0))
}

#[test]
fn a_control_plane_joins_at_the_version_that_runs_or_one_step_ahead() {
    let joins = [
        ("v1.36.3", "v1.36.3", "v1.36.3"),
        ("v1.36.1", "v1.36.1", "v1.36.1"),
        ("v1.35.4", "v1.35.4", "v1.33.0"),
        // the first of the roll has joined
        ("v1.35.4", "v1.36.3", "v1.35.4"),
    ];
    for (lowest, newest, kubelet) in joins {
        let plan = joining(lowest, newest, kubelet);
        let actions = [Action::RunJob(JobKind::Join)];
        assert_eq!(plan.actions, actions, "{lowest} {newest} {kubelet}");
    }
    let waits = [
        ("v1.36.4", "v1.36.4", "v1.36.4", "does not go back"),
        ("v1.35.4", "v1.36.4", "v1.35.4", "runs v1.36.4"),
        (
            "v1.34.9",
            "v1.34.9",
            "v1.34.9",
            "one minor version at a time",
        ),
        (
            "v1.35.4",
            "v1.35.4",
            "v1.32.0",
            "machine w-1 still runs kubelet v1.32.0",
        ),
    ];
    for (lowest, newest, kubelet, says) in waits {
        let plan = joining(lowest, newest, kubelet);
        let found = finding(&plan, "BootstrapReady");
        assert_eq!(found.reason(), "VersionSkew", "{says}");
        assert!(found.message().contains(says), "{}", found.message());
        let returns = |action: &Action| matches!(action, Action::ReturnTurn(_));
        assert!(plan.actions.iter().all(returns), "{:?}", plan.actions);
    }
}

#[test]
fn a_machine_of_an_older_version_says_what_to_set() {
    let plan = joining("v1.36.4", "v1.36.4", "v1.36.4");
    let patch = &finding(&plan, "BootstrapReady").message();
    let parts = ["patch machine", "\"controlPlane\":\"v1.36.4\""];
    assert!(parts.iter().all(|part| patch.contains(part)), "{patch}");
}

/// Before v1.33 a kubelet that joins one step ahead may reach the older API server, unless a gate
/// ties it to its own.
#[test]
fn a_step_ahead_before_local_mode_needs_the_gate() {
    let (on, off) = (Some(json!(true)), Some(json!(false)));
    for (runs, wanted, gate, joins) in [
        ("v1.31.4", "v1.32.2", None, false),
        ("v1.31.4", "v1.32.2", on.clone(), true),
        ("v1.31.4", "v1.32.2", off.clone(), false),
        ("v1.31.4", "v1.32.2", Some(json!("true")), false),
        // no step
        ("v1.31.4", "v1.31.5", None, true),
        ("v1.32.2", "v1.32.2", off.clone(), true),
        // the gate is on by itself
        ("v1.32.2", "v1.33.0", None, true),
        ("v1.32.2", "v1.33.0", on, true),
        ("v1.32.2", "v1.33.0", off, true),
    ] {
        let versions = json!({ "kubelet": wanted, "controlPlane": wanted });
        let machine = edited(
            control_plane(),
            &json!({ "spec": { "versions": versions } }),
        );
        let observed = beside(prepared(machine, &[]), |cluster| {
            cluster.turn = Some(turn(ME, TurnAction::Join));
            cluster.version = Some(runs.into());
            cluster.peers.versions.newest_control_plane = Some(version(runs));
            cluster.peers.versions.oldest_kubelet = Some(("w-1".into(), version(runs)));
            if let (Ok(spec), Some(gate)) = (&mut cluster.spec, &gate) {
                let gates = json!({ "ControlPlaneKubeletLocalMode": gate });
                let configuration = &mut spec.kubeadm.cluster_configuration;
                configuration.insert("featureGates".into(), gates);
            }
        });
        let plan = plan(&observed, at(0));
        let case = format!("{runs} {wanted} {gate:?}");
        if joins {
            assert_eq!(plan.actions, [Action::RunJob(JobKind::Join)], "{case}");
            continue;
        }
        let found = finding(&plan, "BootstrapReady");
        assert_eq!(found.reason(), "VersionSkew", "{case}");
        let parts = [
            wanted,
            runs,
            "featureGates.ControlPlaneKubeletLocalMode: true",
        ];
        let says = |part: &&str| found.message().contains(*part);
        assert!(parts.iter().all(says), "{case}: {}", found.message());
        let returns = |action: &Action| matches!(action, Action::ReturnTurn(_));
        assert!(plan.actions.iter().all(returns), "{:?}", plan.actions);
    }
}
