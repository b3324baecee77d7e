//! What is done next for a Cluster, and why. Pure.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;

use crate::api::Cluster;
use crate::api::ClusterProviderSpec;
use crate::api::cluster::Turn;
use crate::api::conditions::{Finding, Status};
use crate::api::names::{ANNOTATION_PAUSED, FINALIZER_CLUSTER, FINALIZER_PROFILE};
use crate::controllers::Next;
use crate::kubeadm::Endpoint;
use crate::workload::health::{Judgement, Verdict};

/// How often the API of a running cluster is asked whether it is ready.
const PROBE_AGAIN: Duration = Duration::from_secs(10);
/// How soon addons are tried again that wait for a kind to be served.
const ADDONS_AGAIN: Duration = Duration::from_secs(2);

/// A Machine, as its Cluster looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFact {
    /// It is a control-plane machine.
    pub control_plane: bool,
    /// Its Node is Ready.
    pub ready: bool,
    /// It is being deleted.
    pub deleting: bool,
}

/// The certificate authorities of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// All four are there.
    Ready,
    /// These Secrets are missing.
    Missing(Vec<String>),
    /// They are there and cannot be used.
    Broken(String),
}

/// How addons stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Addons {
    /// None are asked for, or all are applied as they are now.
    #[default]
    Applied,
    /// They have to be applied.
    Due,
    /// Some wait for a kind to be served.
    Pending(String),
    /// Some were refused, or their source is missing.
    Failed(String),
}

/// What a pass over a Cluster knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// Tatara's settings, judged as far as that needs no machine.
    pub spec: Result<ClusterProviderSpec, String>,
    /// Its Machines.
    pub machines: Vec<MachineFact>,
    /// MachineSets and MachineDeployments that are not being deleted yet.
    pub sets_left: usize,
    /// Its certificate authorities.
    pub certificates: Certificates,
    /// UID of the Machine that ran `kubeadm init`.
    pub initialized_by: Option<String>,
    /// A kubeconfig was given for a control plane that is somebody else's.
    pub external: bool,
    /// Who has the control-plane turn.
    pub turn: Option<Turn>,
    /// Where its API is served.
    pub endpoint: Option<Endpoint>,
    /// Its kubeconfig Secret is there, and good for a while.
    pub kubeconfig_ready: bool,
    /// A client of its API exists.
    pub connected: bool,
    /// What its API said when it was asked, and how that is to be judged.
    pub health: Option<Health>,
    /// Its addons.
    pub addons: Addons,
    /// What the ClusterProfile controller found.
    pub profile: Vec<Finding>,
}

/// What the API of a cluster said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The judgement over the last probes.
    pub judgement: Judgement,
    /// For people.
    pub sentence: String,
    /// `gitVersion` of the API server.
    pub version: Option<String>,
}

/// One thing to do, with everything decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Action {
    /// Write our finalizer.
    Adopt,
    /// Make the certificate authorities that are missing.
    MakeCertificates,
    /// Write the kubeconfig Secret.
    WriteKubeconfig,
    /// Connect to the cluster's API.
    Connect,
    /// Apply the addons.
    ApplyAddons,
    /// Delete all MachineDeployments, MachineSets and Machines of the cluster.
    DeleteChildren,
    /// Forget the cluster and let it go.
    Finish,
}

/// What is done next for a Cluster, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// Pending, Provisioning, Running or Deleting.
    pub phase: &'static str,
    /// When to look again, beside on every change.
    pub next: Next,
}

/// What is done next for a Cluster, and why.
pub fn plan(observed: &Observed) -> Plan {
    let cluster = &observed.cluster;
    if cluster.annotations().contains_key(ANNOTATION_PAUSED) {
        let finding = Finding::yes(
            "Paused",
            "Paused",
            "nothing is done to the Cluster or below it while the annotation cluster.k8s.io/paused is set",
        );
        return Plan {
            findings: vec![finding],
            phase: "Paused",
            ..Plan::default()
        };
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        return deletion(observed);
    }
    if !cluster.finalizers().iter().any(|f| f == FINALIZER_CLUSTER) {
        return Plan {
            actions: vec![Action::Adopt],
            phase: "Pending",
            ..Plan::default()
        };
    }
    let mut plan = Plan {
        findings: vec![Finding::no("Paused", "NotPaused", "")],
        ..Plan::default()
    };
    if let Err(problem) = &observed.spec {
        plan.findings.push(Finding::no(
            "ConfigurationValid",
            "InvalidConfiguration",
            problem.clone(),
        ));
    } else {
        plan.findings
            .push(Finding::yes("ConfigurationValid", "Valid", ""));
        live(observed, &mut plan);
    }
    summarise(observed, &mut plan);
    plan
}

fn live(observed: &Observed, plan: &mut Plan) {
    if !certificates(observed, plan) {
        return;
    }
    let initialized = initialized(observed);
    let is_initialized = initialized.status == Status::True;
    plan.findings.push(initialized);
    if !is_initialized {
        return;
    }
    if !observed.kubeconfig_ready && observed.endpoint.is_some() {
        plan.actions.push(Action::WriteKubeconfig);
    }
    if !observed.connected {
        plan.actions.push(Action::Connect);
    }
    plan.findings.push(health(observed));
    plan.next = Next::After(PROBE_AGAIN);
    let (addons, again) = addons(observed);
    if observed.connected && !matches!(observed.addons, Addons::Applied | Addons::Failed(_)) {
        plan.actions.push(Action::ApplyAddons);
    }
    plan.findings.push(addons);
    plan.findings.extend(observed.profile.iter().cloned());
    plan.next = plan.next.sooner(again);
}

/// Whether there are certificates to go on with.
fn certificates(observed: &Observed, plan: &mut Plan) -> bool {
    if observed.external {
        return true;
    }
    let finding = match &observed.certificates {
        Certificates::Ready => Finding::yes("CertificatesReady", "Present", ""),
        Certificates::Broken(problem) => {
            Finding::no("CertificatesReady", "Malformed", problem.clone())
        }
        Certificates::Missing(names) if observed.initialized_by.is_some() => Finding::no(
            "CertificatesReady",
            "Lost",
            format!(
                "Secret {} is gone, and the control plane uses what it held; it is never made again: restore it from a backup, or from /etc/kubernetes/pki of a control-plane host",
                names.join(", ")
            ),
        ),
        Certificates::Missing(_) => {
            plan.actions.push(Action::MakeCertificates);
            Finding::no(
                "CertificatesReady",
                "Making",
                "making the certificate authorities",
            )
        }
    };
    let go_on = finding.status == Status::True || observed.initialized_by.is_some();
    plan.findings.push(finding);
    go_on
}

fn initialized(observed: &Observed) -> Finding {
    const NAME: &str = "ControlPlaneInitialized";
    if observed.external {
        return Finding::yes(
            NAME,
            "ExternalControlPlane",
            "the kubeconfig Secret was given; the control plane is somebody else's",
        );
    }
    if observed.initialized_by.is_some() {
        return Finding::yes(NAME, "Initialized", "");
    }
    match &observed.turn {
        Some(turn) => Finding::no(
            NAME,
            "Initializing",
            format!("Machine {} has the turn to run kubeadm init", turn.name),
        ),
        None if observed
            .machines
            .iter()
            .any(|machine| machine.control_plane) =>
        {
            Finding::no(
                NAME,
                "WaitingForMachine",
                "a control-plane Machine is being prepared",
            )
        }
        None => Finding::no(
            NAME,
            "NoControlPlaneMachine",
            "no Machine of the Cluster sets spec.versions.controlPlane; create one with the label cluster.k8s.io/cluster-name",
        ),
    }
}

fn health(observed: &Observed) -> Finding {
    const NAME: &str = "ControlPlaneHealthy";
    let Some(health) = &observed.health else {
        return Finding::unknown(NAME, "NotAskedYet", "connecting to the cluster's API");
    };
    match health.judgement.verdict {
        Verdict::Healthy => Finding::yes(NAME, "ReadyzPassed", ""),
        Verdict::Unhealthy => Finding::no(NAME, "ReadyzFailed", health.sentence.clone()),
        Verdict::Undecided => Finding::unknown(NAME, "NotAskedYet", health.sentence.clone()),
    }
}

fn addons(observed: &Observed) -> (Finding, Next) {
    const NAME: &str = "AddonsApplied";
    match &observed.addons {
        Addons::Applied => (Finding::yes(NAME, "Applied", ""), Next::OnChange),
        Addons::Due => (
            Finding::no(NAME, "Applying", "applying the addons"),
            Next::OnChange,
        ),
        Addons::Pending(what) => (
            Finding::no(NAME, "WaitingForKinds", what.clone()),
            Next::After(ADDONS_AGAIN),
        ),
        Addons::Failed(what) => (Finding::no(NAME, "Refused", what.clone()), Next::OnChange),
    }
}

/// In the order in which a cluster comes to life: the first that does not hold is the reason.
const PARTS: [&str; 5] = [
    "ConfigurationValid",
    "CertificatesReady",
    "ControlPlaneInitialized",
    "ControlPlaneHealthy",
    "AddonsApplied",
];

fn summarise(observed: &Observed, plan: &mut Plan) {
    let blocking = PARTS
        .iter()
        .filter_map(|name| {
            plan.findings
                .iter()
                .find(|finding| finding.condition == *name)
        })
        .find(|finding| finding.status != Status::True)
        .cloned();
    let ready = observed
        .machines
        .iter()
        .filter(|machine| machine.ready)
        .count();
    let finding = match blocking {
        Some(finding) => Finding {
            condition: "Ready",
            ..finding
        },
        None if ready < observed.machines.len() => Finding::no(
            "Ready",
            "WaitingForMachines",
            format!("{ready} of {} Machines are ready", observed.machines.len()),
        ),
        None => Finding::yes("Ready", "Ready", ""),
    };
    let is_true = |name: &str| {
        plan.findings
            .iter()
            .any(|f| f.condition == name && f.status == Status::True)
    };
    plan.phase = if is_true("ControlPlaneInitialized") {
        "Running"
    } else if observed.machines.is_empty() {
        "Pending"
    } else {
        "Provisioning"
    };
    plan.findings.push(finding);
}

/// The profile first, so that consumers let go; then workers, then the control plane, then the rest.
fn deletion(observed: &Observed) -> Plan {
    let mut plan = Plan {
        phase: "Deleting",
        ..Plan::default()
    };
    let finalizers = observed.cluster.finalizers();
    let finding = if !finalizers.iter().any(|f| f == FINALIZER_CLUSTER) {
        return plan;
    } else if finalizers.iter().any(|f| f == FINALIZER_PROFILE) {
        Finding::yes(
            "Deleting",
            "WithdrawingProfile",
            "the ClusterProfile goes first, so that its consumers let go",
        )
    } else if observed.machines.is_empty() && observed.sets_left == 0 {
        plan.actions.push(Action::Finish);
        Finding::yes("Deleting", "Finishing", "")
    } else {
        if observed.sets_left > 0 || observed.machines.iter().any(|machine| !machine.deleting) {
            plan.actions.push(Action::DeleteChildren);
        }
        let count = |control_plane: bool| {
            observed
                .machines
                .iter()
                .filter(|m| m.control_plane == control_plane)
                .count()
        };
        Finding::yes(
            "Deleting",
            "WaitingForMachines",
            format!(
                "{} workers and {} control-plane Machines are left",
                count(false),
                count(true)
            ),
        )
    };
    plan.findings.push(Finding {
        condition: "Ready",
        status: Status::False,
        reason: "Deleting",
        message: finding.message.clone(),
    });
    plan.findings.push(finding);
    plan
}
