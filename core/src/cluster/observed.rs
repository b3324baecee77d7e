//! What a pass over a Cluster knows, as plain data.

use std::sync::Arc;
use std::time::Duration;

use crate::Next;
use crate::api::cluster::Turn;
use crate::api::conditions::{ConditionType, Finding, Reason, find};
use crate::api::{Cluster, ClusterProviderSpec, Machine};
use crate::control_plane::health::Judgement;
use crate::control_plane::orphaned_members::Facts;
use crate::control_plane::turn::Doubt;
use crate::control_plane::{Member, Members};
use crate::kubeadm::{Endpoint, KubernetesVersion};
use crate::remedy;
use crate::settings::Settings;
use crate::trouble::Trouble;

/// A Machine, as its Cluster sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFact {
    /// Its name.
    pub name: String,
    /// Why it is not ready, or not deleted yet, in CamelCase; empty if there is no condition.
    pub reason: String,
    /// It is a control-plane machine.
    pub control_plane: bool,
    /// The addresses of its place; of a control plane only.
    pub addresses: Vec<String>,
    /// Its Node is Ready.
    pub ready: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// Why it is not ready, or not deleted yet, according to its conditions.
    pub trouble: Option<Trouble>,
}

impl MachineFact {
    /// Whether it has an etcd member, by its address.
    pub fn has(&self, member: &Member) -> bool {
        self.addresses.iter().any(|at| member.is_at(at))
    }
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
    /// One has expired, or is not valid yet: neither a backup nor a host has a better one.
    OutOfValidity(String),
    /// This Secret holds another CA than the one that the control plane was made with.
    Replaced(String),
}

impl Default for Certificates {
    /// Not read yet.
    fn default() -> Self {
        Self::Missing(Vec::new())
    }
}

/// State of the addons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Addons {
    /// None are asked for, or all are applied as they are now.
    #[default]
    Applied,
    /// Since we started they have not been applied.
    NotYet,
    /// Some wait for a kind to be served.
    Pending(String),
    /// The cluster refused some.
    Refused(String),
    /// Their source is missing, or cannot be read.
    Failed(String),
}

/// What a pass over a Cluster knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// Tatara's settings, validated as far as that needs no machine.
    pub spec: Result<ClusterProviderSpec, String>,
    /// Its Machines; while it is being deleted, also those that are, and that its label does not
    /// name.
    pub machines: Vec<MachineFact>,
    /// The number of further workers that are Ready and not being deleted.
    pub well: usize,
    /// For how long yet it is new, so that what it lacks is taken to be on its way.
    pub new_for: Option<Duration>,
    /// What the first of its MachineDeployments says whose template cannot be used.
    pub pool: Option<String>,
    /// MachineSets and MachineDeployments that are not being deleted yet.
    pub sets_left: usize,
    /// While it is being deleted: Machines that are not, and are its by their claim or Node
    /// although its label does not name them.
    pub unlabelled: Vec<String>,
    /// Of all these, those that cannot be read and are left alone, as kind and name.
    pub unreadable: Vec<String>,
    /// Its certificate authorities.
    pub certificates: Certificates,
    /// UID of the Machine that ran `kubeadm init`.
    pub initialized_by: Option<String>,
    /// The kubeconfig of a control plane that Tatara does not manage was supplied.
    pub external: bool,
    /// Who has the control-plane turn.
    pub turn: Option<Turn>,
    /// Why the Cluster, which asked for it, does not have it.
    pub turn_waits: Option<String>,
    /// How the Cluster and its CA Secret contradict each other about it, by a live read of both.
    pub doubt: Option<Doubt>,
    /// The user confirmed, by annotation, that the Machine which has the turn and does not exist no
    /// longer runs.
    pub host_is_gone: bool,
    /// The Machine that has the turn does not exist.
    pub is_holder_gone: bool,
    /// The same, and the turn is a later one than that of `kubeadm init`.
    pub is_turn_vacant: bool,
    /// Why that annotation has no effect, and what to do.
    pub unused: Option<String>,
    /// Cluster or CA Secret lacks what the other records.
    pub unsettled: bool,
    /// Where its API is served.
    pub endpoint: Option<Endpoint>,
    /// Its kubeconfig Secret is there, and good for a while.
    pub kubeconfig_ready: bool,
    /// Why the kubeconfig that was given cannot be used.
    pub kubeconfig_problem: Option<String>,
    /// Its Secrets have a finalizer until it is deleted.
    pub secrets_held: bool,
    /// A client of its API exists, made from the kubeconfig as it is now.
    pub connected: bool,
    /// The answer of its API to the probes, and the verdict over them.
    pub health: Option<Health>,
    /// The members of its etcd, or why they cannot be read; `None` if they were not read yet, or
    /// are not ours to read. As they were when all was well, until several reads in a row show
    /// otherwise.
    pub etcd: Option<Result<Arc<Members>, String>>,
    /// The Machines whose members answer and know no leader, where no list can be read and none
    /// knows one.
    pub leaderless: Vec<String>,
    /// What is known of those of them that belong to no Machine.
    pub strangers: Vec<Facts>,
    /// The update of one of its control-plane Machines ends once the components there are seen to
    /// serve.
    pub is_awaited: bool,
    /// What moves its versions, and writes kubeadm's ConfigMaps as it read them before.
    pub moves: Option<Moves>,
    /// The settings that a control-plane Machine was made with, while the Cluster has no record of
    /// them.
    pub made_with: Option<Settings>,
    /// Its addons.
    pub addons: Addons,
    /// They have to be applied.
    pub addons_due: bool,
    /// When they have to be checked again.
    pub addons_next: Next,
    /// What the ClusterProfile controller found.
    pub profile: Vec<Finding>,
}

/// Answer of a cluster's API to the probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The judgement over the last probes.
    pub judgement: Judgement,
    /// Human-readable.
    pub sentence: String,
    /// `gitVersion` of the API server.
    pub version: Option<String>,
    /// Why its Nodes are not read.
    pub unread: Option<String>,
}

/// What moves the versions of a Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moves {
    /// What is awaited.
    pub what: String,
    /// What to do where that never comes, as another sentence.
    pub remedy: String,
    /// The version to which kubeadm's addons are to follow, where no control-plane Machine wants it
    /// any more, nor one that is being deleted: kubeadm's record may never have been raised to it.
    pub forsaken: Option<String>,
}

impl Moves {
    /// The control plane of `holder` is updated, which has the turn for that. One that fails may be
    /// mended by an edit.
    pub fn of_update(holder: &Machine, turn: &Turn) -> Option<Self> {
        let conditions = holder.status.as_ref().map(|status| &status.conditions);
        let updating = conditions.and_then(|all| find(all, ConditionType::Updating));
        let fails = updating.is_some_and(|said| said.reason == Reason::UpdateFailed);
        (holder.runs_other() != Some(false) && !fails).then(|| Self {
            what: format!("Machine {} is updated", turn.name),
            remedy: String::new(),
            forsaken: None,
        })
    }

    /// kubeadm's addons are to follow to the version `due`. `is_forsaken`: no control-plane Machine
    /// wants it any more. That asks for a person only where kubeadm's record was raised to it;
    /// otherwise what is due is forgotten.
    pub fn of_addons(due: &str, recorded: Option<&KubernetesVersion>, is_forsaken: bool) -> Self {
        let due_version = due.parse::<KubernetesVersion>().ok();
        let is_raised = recorded
            .zip(due_version)
            .is_some_and(|(recorded, due)| *recorded >= due);
        let remedy = if is_forsaken && is_raised {
            format!(
                ". kubeadm's record says {due}, which no control-plane Machine wants now. It is set back when the next control plane joins, as in: {}, of a MachineDeployment of three. Without one, set spec.versions of the control plane to {due} again",
                remedy::restart_some()
            )
        } else {
            String::new()
        };
        Self {
            what: format!("CoreDNS and kube-proxy have {due}"),
            remedy,
            forsaken: is_forsaken.then(|| due.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::cluster::TurnAction;

    #[test]
    fn a_control_plane_that_is_updated_moves_the_versions_unless_that_fails() {
        let machine = |runs: &str, updating: &Value| -> Machine {
            let machine = json!({
                "metadata": { "name": "cp" },
                "spec": { "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
                "status": { "versions": { "kubelet": runs, "controlPlane": runs }, "conditions": updating },
            });
            serde_json::from_value(machine).expect("a Machine")
        };
        let says = |reason: &str| {
            json!([{ "type": "Updating", "status": "True", "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z" }])
        };
        let turn = Turn {
            machine: "cp".into(),
            name: "cp".into(),
            action: TurnAction::Upgrade,
        };
        for (case, machine, moves) in [
            ("other", machine("v1.35.4", &says("KubeadmUpgrade")), true),
            ("silent", machine("v1.35.4", &json!([])), true),
            ("fails", machine("v1.35.4", &says("UpdateFailed")), false),
            ("done", machine("v1.36.3", &json!([])), false),
        ] {
            let found = Moves::of_update(&machine, &turn);
            assert_eq!(found.is_some(), moves, "{case}");
        }
    }
}
