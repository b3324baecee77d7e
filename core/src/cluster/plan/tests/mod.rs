mod certificates;
mod deleted;
mod etcd;
mod kstatus;
mod settings;
mod updated;

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::observed::{Health, MachineFact, Moves};
use super::*;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Severity;
use crate::api::{Cluster, ClusterProviderSpec};
use crate::control_plane::health::Judgement;
use crate::control_plane::turn::Doubt;
use crate::control_plane::{Member, MemberHealth, MemberId, Members};
use crate::kubeadm::Endpoint;

fn observed(metadata: &Value) -> Observed {
    let mut manifest = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "Cluster",
        "metadata": { "name": "a", "namespace": "default", "finalizers": [FINALIZER_CLUSTER] },
        "spec": { "clusterNetwork": {
            "services": { "cidrBlocks": ["10.96.0.0/16"] },
            "pods": { "cidrBlocks": ["10.244.0.0/16"] },
            "serviceDomain": "cluster.local",
        } },
    });
    for (name, value) in metadata.as_object().into_iter().flatten() {
        manifest["metadata"][name] = value.clone();
    }
    let cluster: Cluster = serde_json::from_value(manifest).expect("a Cluster");
    Observed {
        made_with: None,
        moves: None,
        is_awaited: false,
        cluster: Arc::new(cluster),
        spec: Ok(ClusterProviderSpec::default()),
        machines: Vec::new(),
        well: 0,
        new_for: None,
        pool: None,
        sets_left: 0,
        unlabelled: Vec::new(),
        certificates: Certificates::Ready,
        initialized_by: None,
        external: false,
        turn: None,
        doubt: None,
        unsettled: false,
        host_is_gone: false,
        is_holder_gone: false,
        is_turn_vacant: false,
        turn_waits: None,
        unused: None,
        endpoint: None,
        kubeconfig_ready: false,
        kubeconfig_problem: None,
        unreadable: Vec::new(),
        secrets_held: true,
        connected: false,
        health: None,
        etcd: None,
        leaderless: Vec::new(),
        strangers: Vec::new(),
        addons: Addons::Applied,
        addons_due: false,
        addons_next: Next::OnChange,
        profile: Vec::new(),
    }
}

fn machine(control_plane: bool, deleting: bool) -> MachineFact {
    MachineFact {
        name: if control_plane { "cp-0" } else { "w-0" }.into(),
        reason: "Draining".into(),
        control_plane,
        addresses: Vec::new(),
        ready: true,
        deleting,
        trouble: None,
    }
}

fn turn() -> Turn {
    Turn {
        machine: "m".into(),
        name: "cp-0".into(),
        action: TurnAction::Init,
    }
}

fn running() -> Observed {
    Observed {
        initialized_by: Some("m".into()),
        machines: vec![machine(true, false)],
        endpoint: Some(Endpoint {
            host: "192.0.2.100".into(),
            port: 6443,
        }),
        kubeconfig_ready: true,
        connected: true,
        health: Some(Health {
            judgement: Judgement {
                verdict: Verdict::Healthy,
                ..Judgement::default()
            },
            sentence: String::new(),
            version: None,
            unread: None,
        }),
        ..observed(&json!({}))
    }
}

#[track_caller]
fn expect(case: &str, observed: &Observed, actions: &[Action], says: (&str, &str, &[&str])) {
    let plan = plan(observed);
    let (condition, reason, parts) = says;
    assert_eq!(plan.actions, actions, "{case}");
    let found = plan.findings.iter().find(|f| f.condition == condition);
    let finding = found.unwrap_or_else(|| panic!("{case}: {:#?}", plan.findings));
    assert_eq!(finding.reason(), reason, "{case}: {}", finding.message());
    for part in parts {
        let message = &finding.message();
        assert!(
            message.contains(part),
            "{case}: no \"{part}\" in: {message}"
        );
    }
    for finding in plan.findings.iter().filter(|f| f.condition != "Paused") {
        let says = finding.status == Status::True || !finding.message().is_empty();
        assert!(says, "{case}: without a message: {finding:?}");
    }
}

#[test]
fn a_cluster_whose_control_plane_has_a_node_and_no_record_says_so() {
    let mut lost = observed(&json!({}));
    lost.machines = vec![machine(true, false)];
    let says = (
        "Ready",
        "InitRecordMissing",
        &["tatara cluster resolve"][..],
    );
    expect("at rest", &lost, &[], says);
    lost.machines[0].ready = false;
    lost.turn = Some(Turn {
        action: TurnAction::Join,
        ..turn()
    });
    expect("while another joins", &lost, &[], says);
}

#[test]
fn a_cluster_says_what_it_waits_for() {
    let condition = "Ready";
    let new = observed(&json!({}));
    expect(
        "no machine",
        &new,
        &[],
        (
            condition,
            "NoControlPlaneMachine",
            &["spec.versions.controlPlane", "create one"],
        ),
    );
    let mut applied = observed(&json!({}));
    applied.new_for = Some(Duration::from_secs(40));
    let says = (
        condition,
        "WaitingForMachine",
        &["waiting for a Machine"][..],
    );
    expect("its Machines are on their way", &applied, &[], says);
    assert_eq!(plan(&applied).next, Next::After(Duration::from_secs(40)));
    let asks = |f: &Finding| f.reason().severity() == Severity::Warning;
    assert!(!plan(&applied).findings.iter().any(asks));
    let mut preparing = observed(&json!({}));
    preparing.machines = vec![machine(true, false)];
    preparing.machines[0].ready = false;
    expect(
        "preparing",
        &preparing,
        &[],
        (condition, "WaitingForMachine", &[]),
    );
    preparing.turn = Some(turn());
    expect(
        "init",
        &preparing,
        &[],
        (condition, "Initializing", &["Machine cp-0"]),
    );
    preparing.unsettled = true;
    expect(
        "a turn that the CA Secret lacks",
        &preparing,
        &[Action::SettleTurn],
        (condition, "Initializing", &["Machine cp-0"]),
    );
    preparing.unsettled = false;
    preparing.is_holder_gone = true;
    preparing.unused = Some("annotation x is not used".into());
    let parts = ["Machine cp-0", "get hosts", "annotation x is not used"];
    expect(
        "whose Machine does not exist",
        &preparing,
        &[],
        ("ControlPlaneInitialized", "TurnHolderGone", &parts),
    );
    (preparing.is_holder_gone, preparing.unused) = (false, None);
    let mut other = turn();
    other.machine = "another".into();
    preparing.doubt = Some(Doubt::TwoHolders(turn(), other));
    expect(
        "two holders",
        &preparing,
        &[],
        (condition, "TurnInDoubt", &["(uid m)", "(uid another)"]),
    );
    preparing.host_is_gone = true;
    expect(
        "two holders, and the user's act about one",
        &preparing,
        &[Action::ReturnTurn],
        (condition, "TurnInDoubt", &[]),
    );
    expect("running", &running(), &[], (condition, "Ready", &[]));
    let mut fresh = running();
    (fresh.kubeconfig_ready, fresh.connected, fresh.health) = (false, false, None);
    let actions = [Action::WriteKubeconfig, Action::Connect];
    expect(
        "just made",
        &fresh,
        &actions,
        (condition, "NotAskedYet", &[]),
    );
    let mut waiting = running();
    waiting.machines[0].ready = false;
    expect(
        "machine",
        &waiting,
        &[],
        (condition, "WaitingForMachines", &["0 of 1"]),
    );
    let mut refused = running();
    refused.addons = Addons::Failed("ConfigMap flannel does not exist".into());
    expect(
        "addon",
        &refused,
        &[],
        (condition, "Refused", &["ConfigMap flannel"]),
    );
}

#[test]
fn a_deployment_that_cannot_be_used_is_told_first_once_no_machine_is_waited_for() {
    let mut unusable = running();
    unusable.pool = Some("MachineDeployment w: no such kind".into());
    for (ready, says) in [
        (
            true,
            "MachineDeployment w: no such kind. 1 of 1 Machines are ready",
        ),
        (
            false,
            "0 of 1 Machines are ready. MachineDeployment w: no such kind",
        ),
    ] {
        unusable.machines[0].ready = ready;
        let says = ("Ready", "WaitingForMachines", &[says][..]);
        expect("pool", &unusable, &[], says);
    }
}

#[test]
fn settings_that_cannot_be_used_are_said_and_nothing_is_done() {
    let mut overlapping = running();
    let problem = "spec.clusterNetwork: pods 10.0.0.0/8 and services 10.96.0.0/16 overlap";
    overlapping.spec = Err(problem.into());
    let says = ("ConfigurationValid", "InvalidConfiguration", &[problem][..]);
    expect("overlap", &overlapping, &[], says);
    // what runs is watched all the same
    overlapping.connected = false;
    expect("not connected", &overlapping, &[Action::Connect], says);
    let healthy = plan(&overlapping);
    assert!(
        healthy
            .findings
            .iter()
            .any(|f| f.condition == "ControlPlaneHealthy")
    );
}

#[test]
fn nothing_is_done_while_it_is_paused_not_even_its_deletion() {
    let paused = json!({ "annotations": { (ANNOTATION_PAUSED): "" } });
    let mut deleting = paused.clone();
    deleting["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for metadata in [paused, deleting] {
        let says = ("Paused", "Paused", &[ANNOTATION_PAUSED][..]);
        let mut observed = observed(&metadata);
        observed.certificates = certificates::missing();
        expect("paused", &observed, &[], says);
    }
}

#[test]
fn addons_are_applied_when_they_are_due_and_only_then() {
    let mut pending = running();
    pending.addons = Addons::Pending("no kind Widget".into());
    pending.addons_next = Next::After(Duration::from_secs(2));
    let says = ("AddonsApplied", "WaitingForKinds", &["no kind Widget"][..]);
    expect("not yet", &pending, &[], says);
    assert_eq!(plan(&pending).next, Next::After(Duration::from_secs(2)));
    pending.addons_due = true;
    expect("due", &pending, &[Action::ApplyAddons], says);
    pending.connected = false;
    expect("not connected", &pending, &[Action::Connect], says);
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_said_and_what_is_connected_stays() {
    let problem = "Secret a-kubeconfig: it is not a kubeconfig";
    let mut given = running();
    (given.external, given.initialized_by) = (true, None);
    given.kubeconfig_problem = Some(problem.into());
    let says = ("Ready", "KubeconfigUnusable", &[problem][..]);
    expect("connected", &given, &[], says);
    (given.connected, given.health) = (false, None);
    expect("never connected", &given, &[], says);
    // also when what was said of it is from before a restart of ours
    let healthy = json!({"type": "ControlPlaneHealthy", "status": "True", "reason": "ReadyzPassed",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut cluster = given.cluster.as_ref().clone();
    cluster.status = serde_json::from_value(json!({"conditions": [healthy]})).expect("a status");
    given.cluster = Arc::new(cluster);
    expect("after a restart", &given, &[], says);
    given.kubeconfig_problem = None;
    assert_eq!(plan(&given).actions, [Action::Connect]);
}
