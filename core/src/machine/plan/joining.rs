//! A further control plane joins: while it has the turn, and etcd allows one more member.

use k8s_openapi::jiff::Timestamp;

use super::super::cluster::ObservedCluster;
use super::super::member::{ControlPlaneMachine, LastLook};
use super::super::observed::{Lookup, Observed};
use super::bootstrap::{ASK_AGAIN, BOOTSTRAP, displace, run};
use super::doubt::ClusterName;
use super::{Action, Plan, correct, job};
use crate::Next;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{Finding, Reason};
use crate::control_plane::{Change, Member, Members, permits};
use crate::kubeadm::{KubernetesVersion, version};
use crate::node::{JobKind, Marker, Observation};
use crate::proof::TurnIsOver;
use crate::words::word;

/// The next step of a control-plane machine that is prepared, in a cluster that has a control plane.
pub(super) fn plan(
    observed: &Observed,
    cluster: &ObservedCluster,
    seen: &Observation,
    now: Timestamp,
) -> Plan {
    if let Some(message) = no_endpoint(cluster) {
        return wait(Reason::EndpointMissing, message);
    }
    if let Some(doubt) = &cluster.in_doubt {
        let named = ClusterName::of(&observed.marker);
        return Plan::waiting(doubt.finding(BOOTSTRAP, named));
    }
    if let Lookup::Unknown(why) | Lookup::NotYet(why) = &observed.node {
        return wait(Reason::WaitingForControlPlane, why.clone());
    }
    // one whose marker says that it joined has its member; what is left of its job are the steps after kubeadm
    let owner = seen.owner.of(&observed.marker);
    let is_joined = owner.is_some_and(|owner| owner.joined);
    if is_joined || job::runs_or_ran(observed, seen, JobKind::Join) {
        return run(observed, seen, JobKind::Join, now);
    }
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
    if let Some(message) = updating(observed, cluster) {
        return without_turn(observed, members, wait_a_while(message));
    }
    if let Some(skew) = skew(observed, cluster) {
        return without_turn(observed, members, wait_a_while(skew));
    }
    if let Err(obstacle) = permits(members, Change::Add) {
        let message = format!(
            "prepared; waiting to join the control plane: {}",
            obstacle.message()
        );
        return without_turn(observed, members, wait(obstacle.reason(), message));
    }
    let join = run(observed, seen, JobKind::Join, now);
    // it waits before it tries again
    if join.actions.is_empty() {
        return without_turn(observed, members, join);
    }
    with_turn(observed, cluster, || join)
}

/// Others may change meanwhile what this one waits for.
fn without_turn(observed: &Observed, members: &Members, mut plan: Plan) -> Plan {
    let cluster = observed.cluster.as_ref();
    let has_turn = cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Join));
    if let Some(proof) = observed.member_proof(members).filter(|_| has_turn) {
        let over = TurnIsOver::Member(proof);
        plan.actions.push(Action::ReturnTurn(over));
    }
    plan
}

/// While control planes are updated, kubeadm's record in the cluster may be newer than what runs, and no kubeadm fits both.
pub(super) fn updating(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let machine = cluster.neighbours.updating.as_ref()?;
    Some(format!(
        "prepared; waiting to join until control-plane Machine {machine} is updated. If that does not proceed: tatara describe machine {machine} -n {}",
        observed.marker.namespace
    ))
}

/// A control plane joins at the version that runs, or one step ahead of it.
fn skew(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let versions = observed.machine.versions()?;
    let parse = |text: &str| text.parse::<KubernetesVersion>().ok();
    let wanted = parse(versions.control_plane.as_deref()?)?;
    let kubelet = parse(&versions.kubelet)?;
    let lowest = parse(cluster.version.as_deref()?)?;
    let neighbours = &cluster.neighbours;
    let highest = neighbours.newest_control_plane.clone();
    let highest = highest.unwrap_or_else(|| lowest.clone());
    if wanted < highest {
        return Some(behind(observed, &highest, &wanted));
    }
    let is_ahead = wanted.minor() > lowest.minor();
    let oldest = neighbours.oldest_kubelet.as_ref().filter(|_| is_ahead);
    let oldest = oldest.map(|(name, version)| (name.as_str(), version));
    let problem = version::check_control_plane_step(&lowest, &wanted)
        .and_then(|()| version::check_kubelet(&kubelet, &wanted))
        .and_then(|()| version::check_kubelets_follow(&wanted, oldest))
        .err();
    if let Some(problem) = problem {
        return Some(problem.to_string());
    }
    (is_ahead && !is_local(cluster, &wanted)).then(|| {
        format!(
            "spec.versions.controlPlane is {wanted} and the control plane of Cluster {} runs {lowest}; before v1.{LOCAL_MODE} a kubelet that joins may reach the older API server. Set kubeadm.clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode: true of the Cluster before its init, or update its Machines in place",
            cluster.name
        )
    })
}

/// The minor version from which a kubelet of a control plane reaches the API server beside it (kubeadm's feature gate
/// `ControlPlaneKubeletLocalMode`).
const LOCAL_MODE: u64 = 33;

fn is_local(cluster: &ObservedCluster, wanted: &KubernetesVersion) -> bool {
    let spec = cluster.spec.as_ref().ok();
    let gates = spec.and_then(|spec| spec.kubeadm.cluster_configuration.get("featureGates"));
    let gate = gates.and_then(|gates| gates.get("ControlPlaneKubeletLocalMode")?.as_bool());
    wanted.minor() >= LOCAL_MODE || gate == Some(true)
}

/// A Machine is of an older version than the control plane.
fn behind(observed: &Observed, runs: &KubernetesVersion, wanted: &KubernetesVersion) -> String {
    format!(
        "spec.versions.controlPlane is {wanted}, but a control plane of Cluster {} runs {runs}, and none that is older joins: a control plane does not go back. {}",
        observed.marker.cluster,
        remedy(observed, runs)
    )
}

/// kubeadm has recorded a newer version for the cluster, by which the static pods of this Machine would be rendered.
pub fn recorded(
    observed: &Observed,
    recorded: &KubernetesVersion,
    wanted: &KubernetesVersion,
) -> String {
    format!(
        "spec.versions.controlPlane is {wanted}, but kubeadm has recorded {recorded} for Cluster {} (its ConfigMap kube-system/kubeadm-config), and renders the static pods of a join at that version. {}",
        observed.marker.cluster,
        remedy(observed, recorded)
    )
}

fn remedy(observed: &Observed, runs: &KubernetesVersion) -> String {
    let runs = runs.to_string();
    correct::versions(&observed.machine, &runs, Some(&runs))
}

/// kubeadm gives all machines the endpoint at init, and it cannot change: without one of its own, the cluster has the address
/// of its first machine.
fn no_endpoint(cluster: &ObservedCluster) -> Option<String> {
    let spec = cluster.spec.as_ref().ok()?;
    spec.control_plane_endpoint.is_none().then(|| {
        format!(
            "Cluster {} has no spec.providerSpec.value.controlPlaneEndpoint: its API has the address of its only control-plane machine, and a second one needs an address that outlives a machine. That is fixed at kubeadm init: delete this Machine, or create another Cluster with controlPlaneEndpoint",
            cluster.name
        )
    })
}

/// The members, or why it waits for them. The Cluster reads them again every 10 s, and wakes us with news.
pub(super) fn members(cluster: &ObservedCluster) -> Result<&Members, Box<Plan>> {
    match &cluster.etcd {
        Lookup::Known(members) => Ok(members),
        Lookup::Unknown(why) | Lookup::NotYet(why) => Err(Box::new(Plan {
            next: Next::After(ASK_AGAIN),
            ..wait(
                Reason::EtcdUnreachable,
                format!(
                    "prepared; waiting to join the control plane, because the manager reads no list of etcd members: {why}. Condition EtcdHealthy of Cluster {} has the remedy",
                    cluster.name
                ),
            )
        })),
    }
}

/// An attempt that was cut, or an earlier life of this host, left a member: its data is not wiped while the others count on it.
fn left_over(
    observed: &Observed,
    cluster: &ObservedCluster,
    members: &Members,
    member: &Member,
) -> Plan {
    if let Err(obstacle) = permits(members, Change::Remove(member.id)) {
        let message = format!(
            "an attempt to join left etcd member {}, which cannot be removed yet: {}. Output of that attempt: tatara logs machine {} -n {} --step join",
            member.label(),
            obstacle.message(),
            observed.marker.machine,
            observed.marker.namespace
        );
        return wait(obstacle.reason(), message);
    }
    with_turn(observed, cluster, || {
        let message = format!(
            "removing etcd member {} ({}), which an attempt to join left",
            member.label(),
            member.id
        );
        Plan::act(
            Action::RemoveMember(member.clone()),
            Finding::no(BOOTSTRAP, Reason::MemberChanging, message),
        )
    })
}

/// What is done with the turn; without it, the turn is taken first.
fn with_turn(observed: &Observed, cluster: &ObservedCluster, act: impl FnOnce() -> Plan) -> Plan {
    if let Some(message) = in_the_way(observed, cluster) {
        return Plan {
            next: Next::After(ASK_AGAIN),
            ..wait(Reason::WaitingForTurn, message)
        };
    }
    if has_turn(observed, cluster, TurnAction::Join) {
        return act();
    }
    Plan::act(
        Action::TakeTurn(TurnAction::Join),
        Finding::no(
            BOOTSTRAP,
            Reason::TakingTurn,
            "taking the turn to join the control plane",
        ),
    )
}

/// Whether the Machine has the turn for this.
pub fn has_turn(observed: &Observed, cluster: &ObservedCluster, action: TurnAction) -> bool {
    let is_own = |turn: &Turn| turn.machine == observed.uid() && turn.action == action;
    cluster.turn.as_ref().is_some_and(is_own)
}

/// The turn of another Machine, if it counts in a control plane that exists.
fn turn_of_another<'a>(observed: &Observed, cluster: &'a ObservedCluster) -> Option<&'a Turn> {
    let turn = cluster.turn.as_ref()?;
    (turn.machine != observed.uid() && turn.is_later()).then_some(turn)
}

/// Why it changes nothing now: another Machine has the turn, or a job of another changes its member, whoever has the turn. A
/// management cluster that was restored from a backup may not know whose turn it was.
pub(super) fn in_the_way(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    if let Some(turn) = turn_of_another(observed, cluster) {
        return Some(busy(turn, &cluster.uid, &observed.marker));
    }
    let mut others = cluster.other_control_planes.iter();
    others.find_map(|other| {
        let name = &other.name;
        match other.look {
            LastLook::Never => {
                return Some(format!(
                    "the manager has just started, and asks the host of control-plane Machine {name} whether a job runs there"
                ));
            }
            LastLook::Silent if serves(cluster, other) => {
                return Some(format!(
                    "the etcd member of control-plane Machine {name} serves, and its host does not answer the manager, which has started anew and cannot tell whether kubeadm runs there: tatara describe machine {name} -n {} says what to correct",
                    observed.marker.namespace
                ));
            }
            _ => (),
        }
        let what = other.runs?.title();
        Some(format!(
            "{what} runs on the host of control-plane Machine {name}, and members change one at a time. If it does not proceed: tatara describe machine {name} -n {}",
            observed.marker.namespace
        ))
    })
}

/// Whether the etcd member of another control plane serves, by the list as last read.
fn serves(cluster: &ObservedCluster, other: &ControlPlaneMachine) -> bool {
    let Lookup::Known(members) = &cluster.etcd else {
        return false;
    };
    let member = other.address.as_deref().and_then(|at| members.at(at));
    member.is_some_and(|member| members.trouble(member).is_none())
}

/// Why it waits for the turn of another Machine, or for that of the Cluster of this UID.
pub fn busy(turn: &Turn, cluster_uid: &str, marker: &Marker) -> String {
    if turn.machine == cluster_uid {
        return format!(
            "an etcd member that belongs to no Machine is being removed, and members change one at a time; condition EtcdHealthy of Cluster {} names it",
            marker.cluster
        );
    }
    let (namespace, named) = (&marker.namespace, word(&turn.name));
    let name = &turn.name;
    let (does, cancel) = match turn.action {
        TurnAction::Init => ("creates", String::new()),
        TurnAction::Join => (
            "joins",
            format!("; to cancel its join: kubectl -n {namespace} delete machine {named}"),
        ),
        TurnAction::Remove => ("leaves", String::new()),
        TurnAction::Upgrade => ("is updated in", String::new()),
    };
    format!(
        "Machine {name} {does} the control plane, and members change one at a time. If it does not proceed: tatara describe machine {named} -n {namespace}{cancel}"
    )
}

/// Another Machine is edited, which wakes nobody here.
fn wait_a_while(message: String) -> Plan {
    Plan {
        next: Next::After(ASK_AGAIN),
        ..wait(Reason::VersionSkew, message)
    }
}

fn wait(reason: Reason, message: String) -> Plan {
    Plan::waiting(Finding::no(BOOTSTRAP, reason, message))
}
