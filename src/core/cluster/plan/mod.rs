//! What is done next for a Cluster, and why. Pure.

mod delete;
mod etcd;
mod summary;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::observed::{Addons, Certificates, Observed};
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};
use crate::api::names::{ANNOTATION_PAUSED, FINALIZER_CLUSTER, kubeconfig_secret};
use crate::core::control_plane::health::Verdict;
use crate::core::machine::plan::doubt::{self, ClusterName};
use crate::core::{self, Next, trouble};

/// How often the API of a running cluster is asked whether it is ready.
const PROBE_AGAIN: Duration = Duration::from_secs(10);

/// One thing to do, with everything decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
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
    /// When to look again, beside on every change.
    pub next: Next,
}

impl core::Plan for Plan {
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

/// Whether the cluster was judged before, and not yet since the manager started: its conditions stay, because a restart of
/// the manager changes nothing about it.
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
    if !certificates(observed, plan) {
        return;
    }
    if !observed.secrets_held {
        plan.actions.push(Action::HoldSecrets);
    }
    if observed.is_turn_vacant {
        plan.actions.push(Action::ReturnVacantTurn);
    } else if observed.unsettled {
        plan.actions.push(Action::SettleTurn);
    }
    plan.findings
        .push(with_note(observed, initialized(observed)));
    if !is_live(observed) {
        return;
    }
    let is_replaced = matches!(observed.certificates, Certificates::Replaced(_));
    let may_write =
        observed.kubeconfig_problem.is_none() && observed.endpoint.is_some() && !is_replaced;
    if !observed.kubeconfig_ready && may_write {
        plan.actions.push(Action::WriteKubeconfig);
    }
    probe(observed, plan);
    if observed.connected && observed.addons_due {
        plan.actions.push(Action::ApplyAddons);
    }
    // Applying what is applied already is no news; only its outcome is.
    let was_applied =
        was(observed, ConditionType::AddonsApplied).is_some_and(|status| status == Status::True);
    if observed.addons != Addons::NotYet || !was_applied {
        plan.findings.push(addons(observed));
    }
    plan.findings.extend(observed.profile.iter().cloned());
    plan.next = plan.next.sooner(observed.addons_next);
}

/// Its settings cannot be used, and what runs is watched all the same: its Machines are judged by their Nodes.
fn running(observed: &Observed, plan: &mut Plan) {
    if is_live(observed) {
        plan.findings.push(initialized(observed));
        probe(observed, plan);
    }
}

fn probe(observed: &Observed, plan: &mut Plan) {
    if !observed.connected && observed.kubeconfig_problem.is_none() {
        plan.actions.push(Action::Connect);
    }
    plan.findings.push(health(observed));
    plan.findings.extend(etcd::health(observed));
    plan.next = Next::After(PROBE_AGAIN);
}

/// Whether there are certificates to go on with.
fn certificates(observed: &Observed, plan: &mut Plan) -> bool {
    if observed.external {
        return true;
    }
    let finding = match &observed.certificates {
        Certificates::Ready => Finding::yes(ConditionType::CertificatesReady, Reason::Present, ""),
        Certificates::Broken(problem) if observed.initialized_by.is_some() => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Malformed,
            format!(
                "{problem}. It must be the one that the control plane uses: restore it from a backup, or copy its files from /etc/kubernetes/pki of the control-plane host: docs/operating.md#lost-certificates"
            ),
        ),
        Certificates::Broken(problem) => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Malformed,
            problem.clone(),
        ),
        Certificates::Replaced(secret) => replaced(observed, secret),
        Certificates::Missing(names) if observed.initialized_by.is_some() => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Lost,
            format!(
                "Secret {} is missing, and the control plane uses what it held; it is never created again: restore it from a backup, or from /etc/kubernetes/pki of the control-plane host ({}): docs/operating.md#lost-certificates",
                names.join(", "),
                files(names)
            ),
        ),
        // The one that has the turn may be running `kubeadm init` with what is gone.
        Certificates::Missing(names) if let Some(turn) = &observed.turn => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Lost,
            format!(
                "Secret {} is missing, and Machine {} may have created a control plane with what it held; it is not created again: restore it from a backup, or from /etc/kubernetes/pki of that host ({}): docs/operating.md#lost-certificates; or delete that Machine to start over",
                names.join(", "),
                turn.name,
                files(names)
            ),
        ),
        Certificates::Missing(_) => {
            plan.actions.push(Action::MakeCertificates);
            Finding::no(
                ConditionType::CertificatesReady,
                Reason::Making,
                "creating the certificate authorities",
            )
        }
    };
    let go_on = finding.status == Status::True || observed.initialized_by.is_some();
    plan.findings.push(finding);
    go_on
}

/// Where kubeadm has on the host what these Secrets hold.
fn files(secrets: &[String]) -> String {
    let file = |secret: &String| match secret.rsplit('-').next() {
        Some("etcd") => "etcd/ca.crt and .key",
        Some("proxy") => "front-proxy-ca.crt and .key",
        Some("sa") => "sa.pub and .key",
        _ => "ca.crt and .key",
    };
    let files: Vec<&str> = secrets.iter().map(file).collect();
    files.join(", ")
}

/// A CA that is not the control plane's.
fn replaced(observed: &Observed, secret: &str) -> Finding {
    let namespace = observed.cluster.namespace().unwrap_or_default();
    let kubeconfig = kubeconfig_secret(&observed.cluster.name_any());
    let message = format!(
        "Secret {secret} holds another CA than the one that the control plane was created with, which is in Secret {kubeconfig}; no Machine joins and no kubeconfig is written until the former CA is restored. \
         Restore it from a backup, or copy ca.crt and ca.key from /etc/kubernetes/pki of the control-plane host: {}. \
         Only if ca.crt there is the one of Secret {secret}, that kubeconfig is of an earlier Cluster, and is created again after: \
         kubectl -n {namespace} patch secret {kubeconfig} --type=json -p '[{{\"op\":\"remove\",\"path\":\"/data/value\"}}]'",
        doubt::put_back(&namespace, secret)
    );
    Finding::no(ConditionType::CertificatesReady, Reason::Replaced, message)
}

/// Adds the note about a `tatara.dev/host-is-gone` annotation that has no effect.
fn with_note(observed: &Observed, mut finding: Finding) -> Finding {
    if let Some(note) = &observed.unused {
        let and = if finding.message.is_empty() { "" } else { ". " };
        finding.message = format!("{}{and}{note}", finding.message);
    }
    finding
}

fn initialized(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::ControlPlaneInitialized;
    if observed.external {
        return Finding::yes(
            NAME,
            Reason::ExternalControlPlane,
            "the kubeconfig Secret was supplied; the control plane is not Tatara's",
        );
    }
    // also of one that runs: two records of init name two hosts, and one of these may be reset or joined by mistake
    if let Some(doubt) = &observed.doubt {
        return doubt.finding(NAME, ClusterName::of_cluster(&observed.cluster));
    }
    if observed.initialized_by.is_some() {
        return Finding::yes(NAME, Reason::Initialized, "");
    }
    match &observed.turn {
        Some(turn) if observed.is_holder_gone => {
            let cluster = ClusterName::of_cluster(&observed.cluster);
            let message = format!(
                "Machine {} (uid {}) had the turn to run kubeadm init, but does not exist; kubeadm init may still run on its host. To return the turn, {}",
                turn.name,
                turn.machine,
                doubt::of_nobody(cluster, &turn.machine)
            );
            Finding::no(NAME, Reason::TurnHolderGone, message)
        }
        Some(turn) => Finding::no(
            NAME,
            Reason::Initializing,
            trouble::beside(
                format!("Machine {} has the turn to run kubeadm init", turn.name),
                worst_control_plane(observed),
            ),
        ),
        None if observed
            .machines
            .iter()
            .any(|machine| machine.control_plane) =>
        {
            Finding::no(
                NAME,
                Reason::WaitingForMachine,
                trouble::beside(
                    "a control-plane Machine is being prepared",
                    worst_control_plane(observed),
                ),
            )
        }
        None => Finding::no(
            NAME,
            Reason::NoControlPlaneMachine,
            "no Machine of the Cluster sets spec.versions.controlPlane; create one with the label cluster.k8s.io/cluster-name",
        ),
    }
}

/// The most urgent trouble of the control-plane Machines.
fn worst_control_plane(observed: &Observed) -> Option<String> {
    let of = observed
        .machines
        .iter()
        .filter(|machine| machine.control_plane);
    trouble::worst(of.filter_map(|machine| machine.trouble.as_ref()))
}

fn health(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::ControlPlaneHealthy;
    let Some(health) = &observed.health else {
        return Finding::unknown(NAME, Reason::NotAskedYet, "connecting to the cluster's API");
    };
    match health.judgement.verdict {
        Verdict::Healthy => Finding::yes(NAME, Reason::ReadyzPassed, ""),
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
        Addons::Failed(what) => Finding::no(NAME, Reason::Refused, what.clone()),
    }
}

#[cfg(test)]
mod tests;
