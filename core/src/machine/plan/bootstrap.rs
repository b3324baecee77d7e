//! From a claimed host to a Node: prepare, wait for the turn, init or join.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Contact, Infrastructure, Lookup, Namesake, Observed};
use super::super::units;
use super::doubt::{self, ClusterName};
use super::{
    Action, Plan, gates, job, joining, recorded, running, taking, unreachable, virtual_machine,
};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::machine_uid;
use crate::kubeadm::version;
use crate::node::{JobKind, Marker, Observation};
use crate::proof::{Evidence, Proof};
use crate::{Next, words};

/// The condition of a Machine that has no Node yet.
pub const BOOTSTRAP: ConditionType = ConditionType::BootstrapReady;
/// A host that does not answer is asked again after this time at the latest.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(10);
/// How soon a Node that was deleted is looked for again: its delete event wakes its former Machine.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The next step of a machine that has no Node yet.
pub fn plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    let Some(cluster) = &observed.cluster else {
        return Plan::default();
    };
    if let Some(plan) = virtual_machine::starting(observed, held) {
        return plan;
    }
    if let Some(finding) = unreachable(held) {
        return Plan {
            next: Next::After(ASK_AGAIN),
            ..Plan::waiting(finding)
        };
    }
    let mut plan = match &held.contact {
        Contact::SelfRegistering(None) => waiting_for_node(observed),
        Contact::SelfRegistering(Some(error)) => Plan::waiting(Finding::no(
            BOOTSTRAP,
            Reason::SimulatedFailure,
            error.clone(),
        )),
        Contact::NotAsked | Contact::Unreachable { .. } => followed(observed),
        Contact::Seen(seen) => on_host(observed, held, cluster, seen, now),
    };
    plan.findings.insert(
        0,
        Finding::yes(
            ConditionType::InfrastructureReady,
            Reason::HostClaimed,
            format!("runs on {}", held.name),
        ),
    );
    plan
}

/// Reports the progress of a unit that runs.
pub(super) fn followed(observed: &Observed) -> Plan {
    let follow = observed.follow.as_ref();
    let follow = follow.filter(|follow| follow.job.kind.bootstraps());
    follow.map_or_else(
        || waiting_for_node(observed),
        |follow| job::followed(observed, follow),
    )
}

fn on_host(
    observed: &Observed,
    held: &Infrastructure,
    cluster: &ObservedCluster,
    seen: &Observation,
    now: Timestamp,
) -> Plan {
    let Some(owner) = seen.owner.of(&observed.marker) else {
        return taking::plan(observed, held, seen);
    };
    let named = ClusterName::of(&observed.marker);
    if let Some(finding) = doubt::of_another(BOOTSTRAP, &owner.marker, &held.name, named) {
        return Plan::waiting(finding);
    }
    if owner.initialized && cluster.initialized_by.is_none() {
        return recording();
    }
    if observed.had_node() && matches!(observed.node, Lookup::Unknown(_) | Lookup::NotYet(_)) {
        // what runs as a Node is not prepared anew because the Node cannot be seen
        return waiting_for_node(observed);
    }
    let prepare = match units::prepare(observed) {
        Ok(unit) => unit,
        Err(problem) => {
            return Plan::waiting(Finding::no(
                BOOTSTRAP,
                Reason::InvalidConfiguration,
                problem,
            ));
        }
    };
    if let Some(plan) = gates::before_kubeadm(observed, seen) {
        return plan;
    }
    if !recorded::is_prepared(observed, seen, owner, &prepare) {
        return prepares(observed, seen, now);
    }
    if observed.acts_as_control_plane() {
        control_plane(observed, cluster, seen, now)
    } else {
        worker(observed, cluster, seen, now)
    }
}

fn recording() -> Plan {
    let message = "kubeadm init succeeded; recording it on the Cluster";
    Plan::act(
        Action::RecordInitialized,
        Finding::no(BOOTSTRAP, Reason::KubeadmInit, message),
    )
}

/// Records `kubeadm init` where the host of a Node shows that it ran there, and nothing else does. Of whoever has the turn to run
/// it, that host is waited for.
pub(super) fn record_beside_node(
    observed: &Observed,
    held: &Infrastructure,
    now: Timestamp,
) -> Option<Plan> {
    let cluster = observed.cluster.as_ref();
    let cluster = cluster.filter(|cluster| cluster.is_unrecorded())?;
    let Contact::Seen(seen) = &held.contact else {
        let turn = cluster.turn.as_ref()?;
        let is_own = turn.machine == observed.uid() && turn.action == TurnAction::Init;
        return is_own.then(|| plan(observed, held, now));
    };
    let owner = seen.owner.of(&observed.marker)?;
    let named = ClusterName::of(&observed.marker);
    let is_ours = || doubt::of_another(BOOTSTRAP, &owner.marker, &held.name, named).is_none();
    (owner.initialized && is_ours()).then(recording)
}

fn control_plane(
    observed: &Observed,
    cluster: &ObservedCluster,
    seen: &Observation,
    now: Timestamp,
) -> Plan {
    let wait = |reason, message: String| Plan::waiting(Finding::no(BOOTSTRAP, reason, message));
    let named = ClusterName::of(&observed.marker);
    match (&cluster.initialized_by, &cluster.turn) {
        (Some(_), _) if observed.is_initializer() => {
            let init = seen.job(&observed.marker.job(JobKind::Init));
            if init.is_some() && observed.awaits_commands() {
                run(observed, seen, JobKind::Init, now)
            } else {
                waiting_for_node(observed)
            }
        }
        (Some(_), _) => joining::plan(observed, cluster, seen, now),
        (None, _) if cluster.external => Plan::waiting(doubt::external(BOOTSTRAP, named)),
        (None, _) if !cluster.certificates_ready => wait(
            Reason::WaitingForCertificates,
            format!(
                "Cluster {} has no certificate authorities yet",
                cluster.name
            ),
        ),
        (None, _) if let Some(doubt) = &cluster.in_doubt => {
            Plan::waiting(doubt.finding(BOOTSTRAP, named))
        }
        // the turn of a later change: the record of init was lost, and comes again from the initialised host
        (None, Some(turn)) if turn.is_later() => {
            Plan::waiting(doubt::lost_record(cluster, named).finding(BOOTSTRAP))
        }
        (None, Some(turn)) if turn.machine != observed.uid() => {
            Plan::waiting(doubt::blocked(BOOTSTRAP, turn, named))
        }
        (None, Some(_)) => run(observed, seen, JobKind::Init, now),
        (None, None) => Plan::act(
            Action::TakeTurn(TurnAction::Init),
            Finding::no(
                BOOTSTRAP,
                Reason::TakingTurn,
                "taking the turn to run kubeadm init",
            ),
        ),
    }
}

fn worker(
    observed: &Observed,
    cluster: &ObservedCluster,
    seen: &Observation,
    now: Timestamp,
) -> Plan {
    let wait = |reason, message: String| Plan::waiting(Finding::no(BOOTSTRAP, reason, message));
    if cluster.initialized_by.is_none() {
        return wait(
            Reason::WaitingForControlPlane,
            format!(
                "prepared; the control plane of Cluster {} is not initialised yet",
                cluster.name
            ),
        );
    }
    if let Lookup::Unknown(why) | Lookup::NotYet(why) = &observed.node {
        let reason = running::unknown(observed, Reason::WaitingForControlPlane);
        return wait(reason, why.clone());
    }
    let kubelet = observed
        .machine
        .versions()
        .and_then(|versions| versions.kubelet.parse().ok());
    let control_plane = cluster
        .version
        .as_ref()
        .and_then(|version| version.parse().ok());
    if let (Some(kubelet), Some(control_plane)) = (kubelet, control_plane)
        && let Err(skew) = version::check_kubelet(&kubelet, &control_plane)
    {
        return wait(Reason::VersionSkew, skew.to_string());
    }
    let is_joining = job::runs_or_ran(observed, seen, JobKind::Join);
    let moves = || recorded::moving(observed, cluster);
    let waits_for = joining::updating(observed, cluster).or_else(moves);
    if let Some(message) = waits_for.filter(|_| !is_joining) {
        return Plan {
            next: Next::After(ASK_AGAIN),
            ..wait(Reason::VersionSkew, message)
        };
    }
    if let Some(namesake) = &observed.namesake
        && !is_joining
    {
        return displace(observed, seen, namesake);
    }
    run(observed, seen, JobKind::Join, now)
}

/// Deletes a Node of the same name if its Machine does not exist and this host was reset for that Machine: it runs nowhere.
/// Any other Node stays and blocks the join: a Node that is not Ready may still run.
pub(super) fn displace(observed: &Observed, seen: &Observation, namesake: &Namesake) -> Plan {
    let (name, id) = (&namesake.node.name, &namesake.node.provider_id);
    let is_silent = namesake.node.ready != Some(true) && namesake.marked.is_none();
    if namesake.is_left_over && is_silent && was_reset_here(observed, seen, namesake) {
        let action = Action::DeleteLeftNode {
            node: name.clone(),
            uid: namesake.node.uid.clone(),
        };
        let message = format!("deleting Node {name} of a Machine that does not exist any more");
        return Plan {
            next: Next::After(LOOK_AGAIN),
            ..Plan::act(
                action,
                Finding::no(BOOTSTRAP, Reason::DeletingOldNode, message),
            )
        };
    }
    let lives = match (&namesake.marked, namesake.node.ready) {
        (Some(host), _) => format!(", and the marker on Host {host} names its Machine"),
        (None, Some(true)) => ", and is Ready".to_owned(),
        _ => String::new(),
    };
    let marker = &observed.marker;
    let delete = format!("delete node {}", words::word(name));
    let delete = words::in_workload(&marker.namespace, &marker.cluster, &delete);
    let rest = if observed.machine.is_owned() {
        "register this server as a Host of another name, which its Node gets"
    } else {
        "create a new Machine with another spec.metadata.name"
    };
    // that Node wakes the Machine that it has, not this one
    Plan {
        next: Next::After(ASK_AGAIN),
        ..Plan::waiting(Finding::no(
            BOOTSTRAP,
            Reason::NodeNameTaken,
            format!(
                "the cluster already has a Node {name} (providerID {}{lives}), and nothing proves that its server is off. If the server is off, delete that Node: {delete}; otherwise {rest}",
                id.as_deref().unwrap_or("not set"),
            ),
        ))
    }
}

/// The record of the reset is on this host, and is of the Machine whose Node that is.
fn was_reset_here(observed: &Observed, seen: &Observation, namesake: &Namesake) -> bool {
    let id = namesake.node.provider_id.as_deref();
    let Some(uid) = id.and_then(machine_uid) else {
        return false;
    };
    let left = Marker {
        uid: uid.to_owned(),
        ..observed.marker.clone()
    };
    Proof::of_host(&left, true, seen).is_ok_and(|proof| proof.evidence() == Evidence::Reset)
}

/// Prepares the host, also where it was prepared before.
fn prepares(observed: &Observed, seen: &Observation, now: Timestamp) -> Plan {
    let kind = JobKind::Prepare;
    let prepare = job::of_kind(observed, kind);
    let starts = || {
        if prepare.is_done(seen.job(&prepare.job)) {
            let again = recorded::again(observed, seen);
            return Finding::no(BOOTSTRAP, kind.running(), again);
        }
        job::starts(observed, kind)
    };
    let attempt = job::afresh(observed, seen, &prepare, now);
    job::plan(kind, &attempt, starts).unwrap_or_default()
}

/// Starts init or join, attaches to it, or waits before it is tried again. Once it has succeeded, its Node is waited for.
pub(super) fn run(observed: &Observed, seen: &Observation, kind: JobKind, now: Timestamp) -> Plan {
    unfinished(observed, seen, kind, now).unwrap_or_else(|| waiting_for_node(observed))
}

/// The same, as long as it has not succeeded.
pub(super) fn unfinished(
    observed: &Observed,
    seen: &Observation,
    kind: JobKind,
    now: Timestamp,
) -> Option<Plan> {
    let attempt = job::next(observed, seen, &job::of_kind(observed, kind), now);
    job::plan(kind, &attempt, || job::starts(observed, kind))
}

fn waiting_for_node(observed: &Observed) -> Plan {
    let finding = match &observed.node {
        Lookup::Unknown(why) | Lookup::NotYet(why) => Finding::unknown(
            ConditionType::NodeHealthy,
            running::unknown(observed, Reason::ApiUnreachable),
            why.clone(),
        ),
        Lookup::Known(_) if observed.had_node() => running::gone(observed),
        Lookup::Known(_) => Finding::no(
            ConditionType::NodeHealthy,
            Reason::WaitingForNode,
            format!(
                "kubeadm has finished; no Node with providerID {} has registered yet",
                observed.provider_id().unwrap_or_default()
            ),
        ),
    };
    Plan {
        findings: vec![Finding::yes(BOOTSTRAP, Reason::Bootstrapped, ""), finding],
        ..Plan::default()
    }
}
