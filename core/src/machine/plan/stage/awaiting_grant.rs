//! Its host is prepared, and it waits until it may run kubeadm: for the control plane, for the
//! turn, for etcd, for others that are being updated. A control plane asks for the turn once
//! nothing but others is in its way.

use k8s_openapi::jiff::Timestamp;

use super::super::doubt::ClusterName;
use super::super::namesake::displace;
use super::super::turn::{has_turn, in_the_way};
use super::super::{Action, Plan, Request, ask, job, recorded, skew, turn_end};
use super::{SeenHost, initialising, registering};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::control_plane::{Change, Member, Members, permits};
use crate::machine::cluster::ObservedCluster;
use crate::machine::observed::{Lookup, Observed};
use crate::machine::own_node;
use crate::node::JobKind;
use crate::{Next, pace, remedy};

/// What it waits for, or how it begins.
pub(super) fn plan(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let is_control_plane = host.observed.acts_as_control_plane();
    if is_control_plane && host.cluster.initialized_by.is_none() {
        return initialising::awaits(host).unwrap_or_default();
    }
    if let Some(halted) = halted(host) {
        return halted;
    }
    if is_control_plane {
        control_plane(host, now)
    } else {
        worker(host, now)
    }
}

/// What stops a join also where it was begun.
pub(super) fn halted(host: &SeenHost<'_>) -> Option<Plan> {
    let SeenHost {
        observed, cluster, ..
    } = *host;
    let is_control_plane = observed.acts_as_control_plane();
    if is_control_plane && let Some(message) = no_endpoint(cluster) {
        return Some(wait(Reason::EndpointMissing, message));
    }
    if is_control_plane && let Some(doubt) = &cluster.in_doubt {
        let named = ClusterName::of(&observed.marker);
        return Some(Plan::waiting(
            doubt.finding(ConditionType::BootstrapReady, named),
        ));
    }
    if !is_control_plane && cluster.initialized_by.is_none() {
        let message = format!(
            "prepared; the control plane of Cluster {} is not initialised yet",
            cluster.name
        );
        return Some(wait(Reason::WaitingForControlPlane, message));
    }
    if let Lookup::Unknown(why) | Lookup::NotYet(why) = &observed.node {
        let otherwise = Reason::WaitingForControlPlane;
        let reason = if is_control_plane {
            otherwise
        } else {
            own_node::unknown(observed, otherwise)
        };
        return Some(wait(reason, why.clone()));
    }
    if is_control_plane {
        return None;
    }
    let skew = skew::of_worker(observed, cluster)?;
    Some(wait(Reason::VersionSkew, skew))
}

fn worker(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let SeenHost {
        observed,
        cluster,
        seen,
        ..
    } = *host;
    let moves = || recorded::moving(observed, cluster);
    if let Some(message) = skew::updating(observed, cluster).or_else(moves) {
        return wait_a_while(message);
    }
    if let Some(namesake) = &observed.namesake {
        return displace(observed, seen, namesake);
    }
    join(host, now)
}

/// A further control plane joins: while it has the turn, and etcd allows one more member.
fn control_plane(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let SeenHost {
        observed,
        cluster,
        seen,
        ..
    } = *host;
    if let Some(namesake) = &observed.namesake {
        return displace(observed, seen, namesake);
    }
    let members = match members(cluster) {
        Ok(members) => members,
        Err(plan) => return *plan,
    };
    if let Some(member) = observed.member(members) {
        return left_over(observed, cluster, members, member);
    }
    let version = || skew::of_control_plane(observed, cluster);
    if let Some(message) = skew::updating(observed, cluster).or_else(version) {
        return without_turn(observed, members, wait_a_while(message));
    }
    if let Err(obstacle) = permits(members, Change::Add) {
        let message = format!(
            "prepared; waiting to join the control plane: {}",
            obstacle.message()
        );
        return without_turn(observed, members, wait(obstacle.reason(), message));
    }
    let join = join(host, now);
    // it waits before it tries again
    if join.actions.is_empty() {
        return without_turn(observed, members, join);
    }
    with_turn(observed, cluster, false, || join)
}

fn join(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let run = job::unfinished(host.observed, host.seen, JobKind::Join, now);
    run.unwrap_or_else(|| registering::plan(host.observed))
}

/// Others may change meanwhile what this one waits for.
fn without_turn(observed: &Observed, members: &Members, mut plan: Plan) -> Plan {
    let over = turn_end::unused_to_join(observed, members);
    plan.actions.extend(over.map(Action::ReturnTurn));
    plan
}

/// kubeadm gives all machines the endpoint at init, and it cannot change: without one of its own,
/// the cluster has the address of its first machine.
fn no_endpoint(cluster: &ObservedCluster) -> Option<String> {
    let spec = cluster.spec.as_ref().ok()?;
    spec.control_plane_endpoint.is_none().then(|| {
        format!(
            "Cluster {} has no spec.providerSpec.value.controlPlaneEndpoint: its API has the address of its only control-plane machine, and a second one needs an address that outlives a machine. That is fixed at kubeadm init: delete this Machine, or create another Cluster with controlPlaneEndpoint",
            cluster.name
        )
    })
}

/// The members, or why it waits for them. The Cluster reads them again every 10 s, and wakes us
/// with news.
fn members(cluster: &ObservedCluster) -> Result<&Members, Box<Plan>> {
    match &cluster.etcd {
        Lookup::Known(members) => Ok(members),
        Lookup::Unknown(why) | Lookup::NotYet(why) => Err(Box::new(wait(
            Reason::EtcdUnreachable,
            format!(
                "prepared; waiting to join the control plane, because the manager reads no list of etcd members: {why}. Condition EtcdHealthy of Cluster {} has the remedy",
                cluster.name
            ),
        ))),
    }
}

/// An attempt that was cut, or an earlier life of this host, left a member: its data is not wiped
/// while the others count on it.
fn left_over(
    observed: &Observed,
    cluster: &ObservedCluster,
    members: &Members,
    member: &Member,
) -> Plan {
    if let Err(obstacle) = permits(members, Change::Remove(member.id)) {
        let marker = &observed.marker;
        let message = format!(
            "an attempt to join left etcd member {}, which cannot be removed yet: {}. Output of that attempt: {}",
            member.label(),
            obstacle.message(),
            remedy::logs(&marker.namespace, &marker.machine, Some("join"))
        );
        return wait(obstacle.reason(), message);
    }
    with_turn(observed, cluster, true, || {
        let message = format!(
            "removing etcd member {} ({}), which an attempt to join left",
            member.label(),
            member.id
        );
        Plan::act(
            Action::RemoveMember(member.clone()),
            Finding::no(
                ConditionType::BootstrapReady,
                Reason::MemberChanging,
                message,
            ),
        )
    })
}

/// What is done with the turn; without it, it is asked for, which kubeadm's record must permit to
/// what was not begun. `half_done`: an attempt left a member.
fn with_turn(
    observed: &Observed,
    cluster: &ObservedCluster,
    half_done: bool,
    act: impl FnOnce() -> Plan,
) -> Plan {
    let action = TurnAction::Join;
    let request = Request { action, half_done };
    let has_turn = has_turn(observed, cluster, action);
    let waits = match in_the_way(observed, cluster) {
        Some(message) => wait(Reason::WaitingForTurn, message),
        None if has_turn => return act(),
        None => ask::plan(observed, request),
    };
    let asks = Plan {
        // also while its record is awaited, and with the turn, while a job runs on the host of
        // another
        next: Next::After(pace::TURN),
        asks: (!has_turn).then_some(request),
        ..waits
    };
    if has_turn || half_done || ask::stands(observed, action) {
        return asks;
    }
    Plan {
        actions: vec![Action::AwaitRecord],
        asks: None,
        asks_then: Some(request),
        ..asks
    }
}

/// Another Machine is edited, which wakes nobody here. Other skews, which an event ends, have the
/// same reason.
fn wait_a_while(message: String) -> Plan {
    Plan {
        next: Next::After(pace::NEIGHBOUR),
        ..wait(Reason::VersionSkew, message)
    }
}

fn wait(reason: Reason, message: String) -> Plan {
    Plan::waiting(Finding::no(ConditionType::BootstrapReady, reason, message))
}
