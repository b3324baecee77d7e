//! What is done next for a Cluster, and why. Pure.

mod certificates;
mod delete;
pub mod etcd;
mod initialized;
mod settings;
mod summary;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::observed::{Addons, Certificates, Observed};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};
use crate::api::names::{ANNOTATION_PAUSED, FINALIZER_CLUSTER};
use crate::control_plane::MemberId;
use crate::control_plane::health::Verdict;
use crate::pace::WORKLOAD_API;
use crate::remedy;
use crate::settings::Settings;
use crate::{Next, trouble};

/// How often the API of a running cluster is asked whether it is ready, while an update waits for
/// the answer.
const PROBE_SOON: Duration = Duration::from_secs(1);

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Action {
    /// Write our finalizer.
    Adopt,
    /// Return the turn of a Machine that does not exist, by the user's act.
    ReturnTurn,
    /// Return the later turn of a Machine that does not exist: etcd itself guards what it was for.
    ReturnVacantTurn,
    /// Copy the control-plane turn, or the record of `kubeadm init`, to where it is missing.
    SettleTurn,
    /// Make the certificate authorities that are missing.
    MakeCertificates,
    /// Write the kubeconfig Secret.
    WriteKubeconfig,
    /// Connect to the cluster's API.
    Connect,
    /// Remove an etcd member that belongs to no Machine and does not serve.
    RemoveMember {
        /// The member.
        id: MemberId,
    },
    /// Record what kubeadm's ConfigMaps have of the settings, as an earlier release made them.
    RecordSettings {
        /// What they have.
        settings: Settings,
        /// Stands for other settings that the Cluster has and that are not applied.
        kept: Option<String>,
    },
    /// Carry an edit of the settings into kubeadm's ConfigMaps, and record it.
    ApplySettings {
        /// What they have: what is recorded, and what a manager that was stopped may have written
        /// of another edit.
        from: Vec<Settings>,
        /// What they are to have.
        to: Settings,
    },
    /// Forget that kubeadm's addons are to follow to this version, if kubeadm's record is older.
    ForgetAddons {
        /// The version.
        version: String,
    },
    /// Apply the addons.
    ApplyAddons,
    /// Add a finalizer to its Secrets until it is deleted.
    HoldSecrets,
    /// Delete all MachineDeployments, MachineSets and Machines of the cluster.
    DeleteChildren,
    /// Drop the connection to the cluster, and remove the finalizers.
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
    /// It asks its planner for the turn, to remove an etcd member that belongs to no Machine.
    pub asks: bool,
    /// When to look again, beside on every change.
    pub next: Next,
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next
    }
}

/// What is done next for a Cluster, and why.
pub fn plan(observed: &Observed) -> Plan {
    let cluster = &observed.cluster;
    if cluster.annotations().contains_key(ANNOTATION_PAUSED) {
        let finding = Finding::yes(
            ConditionType::Paused,
            Reason::Paused,
            "nothing is done to the Cluster or below it while the annotation cluster.k8s.io/paused is set",
        );
        return Plan {
            findings: vec![finding],
            phase: "Paused",
            ..Plan::default()
        };
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        return delete::plan(observed);
    }
    if !cluster.finalizers().iter().any(|f| f == FINALIZER_CLUSTER) {
        return Plan {
            actions: vec![Action::Adopt],
            phase: "Pending",
            ..Plan::default()
        };
    }
    let mut plan = Plan {
        findings: vec![Finding::no(ConditionType::Paused, Reason::NotPaused, "")],
        ..Plan::default()
    };
    if let Err(problem) = &observed.spec {
        plan.findings.push(Finding::no(
            ConditionType::ConfigurationValid,
            Reason::InvalidConfiguration,
            problem.clone(),
        ));
        running(observed, &mut plan);
    } else {
        plan.findings.push(match &observed.kubeconfig_problem {
            Some(problem) => Finding::no(
                ConditionType::ConfigurationValid,
                Reason::KubeconfigUnusable,
                problem.clone(),
            ),
            None => Finding::yes(ConditionType::ConfigurationValid, Reason::Valid, ""),
        });
        live(observed, &mut plan);
    }
    if is_news_to_come(observed) {
        return Plan {
            actions: plan.actions,
            next: plan.next,
            ..Plan::default()
        };
    }
    summary::summarise(observed, &mut plan);
    plan
}

/// Whether the cluster was judged before, and not yet since the manager started: its conditions
/// stay, because a restart of the manager changes nothing about it.
fn is_news_to_come(observed: &Observed) -> bool {
    let was_judged = was(observed, ConditionType::ControlPlaneHealthy)
        .is_some_and(|status| status != Status::Unknown);
    let verdict = observed
        .health
        .as_ref()
        .map(|health| health.judgement.verdict);
    was_judged
        && is_live(observed)
        && observed.kubeconfig_problem.is_none()
        && !matches!(verdict, Some(Verdict::Healthy | Verdict::Unhealthy))
}

/// Whether there is a control plane to watch, created by Tatara or external.
fn is_live(observed: &Observed) -> bool {
    observed.initialized_by.is_some() || observed.external
}

/// The status of a condition, as it was last written.
fn was(observed: &Observed, condition: ConditionType) -> Option<Status> {
    let status = observed.cluster.status.as_ref()?;
    let condition = conditions::find(&status.conditions, condition)?;
    Some(Status::parse(&condition.status))
}

fn live(observed: &Observed, plan: &mut Plan) {
    if observed.host_is_gone {
        plan.actions.push(Action::ReturnTurn);
    }
    if !certificates::keep(observed, plan) {
        return;
    }
    if !observed.secrets_held {
        plan.actions.push(Action::HoldSecrets);
    }
    if etcd::returns_turn(observed) {
        plan.actions.push(Action::ReturnVacantTurn);
    } else if observed.unsettled {
        plan.actions.push(Action::SettleTurn);
    }
    plan.findings
        .push(with_note(observed, initialized::found(observed)));
    if !is_live(observed) {
        // then it says what it lacks
        plan.next = observed.new_for.map_or(Next::OnChange, Next::After);
        return;
    }
    let is_replaced = matches!(observed.certificates, Certificates::Replaced(_));
    let may_write =
        observed.kubeconfig_problem.is_none() && observed.endpoint.is_some() && !is_replaced;
    if !observed.kubeconfig_ready && may_write {
        plan.actions.push(Action::WriteKubeconfig);
    }
    probe(observed, plan);
    // first: those that follow fail where the cluster refuses something, which may be because of it
    etcd::keep(observed, plan);
    if observed.connected && observed.addons_due {
        plan.actions.push(Action::ApplyAddons);
    }
    settings::keep(observed, plan);
    // Applying what is applied already is no news; only its outcome is.
    let was_applied =
        was(observed, ConditionType::AddonsApplied).is_some_and(|status| status == Status::True);
    if observed.addons != Addons::NotYet || !was_applied {
        plan.findings.push(addons(observed));
    }
    plan.findings.extend(observed.profile.iter().cloned());
    plan.next = plan.next.sooner(observed.addons_next);
}

/// Its settings cannot be used, and what runs is watched all the same: its Machines are judged by
/// their Nodes.
fn running(observed: &Observed, plan: &mut Plan) {
    if is_live(observed) {
        if etcd::returns_turn(observed) {
            plan.actions.push(Action::ReturnVacantTurn);
        }
        plan.findings.push(initialized::found(observed));
        probe(observed, plan);
    }
}

fn probe(observed: &Observed, plan: &mut Plan) {
    if !observed.connected && observed.kubeconfig_problem.is_none() {
        plan.actions.push(Action::Connect);
    }
    plan.findings
        .push(while_updated(observed, health(observed)));
    let etcd = etcd::health(observed);
    plan.findings
        .extend(etcd.map(|etcd| while_updated(observed, etcd)));
    plan.next = Next::After(if observed.is_awaited {
        PROBE_SOON
    } else {
        WORKLOAD_API
    });
}

/// Adds the note about a `tatara.dev/host-is-gone` annotation that has no effect.
fn with_note(observed: &Observed, mut finding: Finding) -> Finding {
    if let Some(note) = &observed.unused {
        finding.reword(trouble::beside(finding.message(), Some(note.clone())));
    }
    finding
}

/// While kubeadm starts etcd and the API server of a machine anew, that is what comes first of what
/// does not answer. Alarms, and a member that is nobody's, have other causes.
fn while_updated(observed: &Observed, mut finding: Finding) -> Finding {
    let turn = observed.turn.as_ref();
    let turn = turn.filter(|turn| turn.action == TurnAction::Upgrade);
    let has_own_cause = matches!(
        finding.reason(),
        Reason::EtcdNoSpace | Reason::EtcdCorrupt | Reason::MemberWithoutMachine
    );
    let is_explained = finding.status != Status::True && !has_own_cause;
    if let Some(turn) = turn.filter(|_| is_explained) {
        let namespace = observed.cluster.namespace().unwrap_or_default();
        finding.reword(format!(
            "control-plane Machine {name} is updated, which starts etcd and the API server of its machine anew, each away for up to a minute. If that does not end: {}. Meanwhile: {}",
            remedy::describe_machine(&namespace, &turn.name),
            finding.message(),
            name = turn.name,
        ));
    }
    finding
}

fn health(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::ControlPlaneHealthy;
    let Some(health) = &observed.health else {
        return Finding::unknown(NAME, Reason::NotAskedYet, "connecting to the cluster's API");
    };
    match health.judgement.verdict {
        Verdict::Healthy => {
            let unread = health.unread.as_ref();
            let unread = unread.map(|why| format!("ready, but its Nodes are not read: {why}"));
            Finding::yes(NAME, Reason::ReadyzPassed, unread.unwrap_or_default())
        }
        Verdict::Unhealthy => Finding::no(NAME, Reason::ReadyzFailed, health.sentence.clone()),
        Verdict::Undecided => Finding::unknown(NAME, Reason::NotAskedYet, health.sentence.clone()),
    }
}

fn addons(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::AddonsApplied;
    match &observed.addons {
        Addons::Applied => Finding::yes(NAME, Reason::Applied, ""),
        Addons::NotYet => Finding::no(NAME, Reason::Applying, "applying the addons"),
        Addons::Pending(what) => Finding::no(NAME, Reason::WaitingForKinds, what.clone()),
        Addons::Refused(what) | Addons::Failed(what) => {
            Finding::no(NAME, Reason::Refused, what.clone())
        }
    }
}

#[cfg(test)]
mod tests;
