//! The control-plane turn: who has it, and who is in the way of a change.

use super::super::cluster::ObservedCluster;
use super::super::member::{ControlPlaneMachine, LastLook};
use super::super::observed::{Lookup, Observed};
use crate::api::cluster::{Turn, TurnAction};
use crate::control_plane::Purpose;
use crate::node::Marker;
use crate::remedy;

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

/// Why it changes nothing now: another Machine has the turn, or a job of another changes its
/// member, whoever has the turn. A management cluster that was restored from a backup may not know
/// whose turn it was.
pub(super) fn in_the_way(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    if let Some(turn) = turn_of_another(observed, cluster) {
        return Some(busy(turn, &cluster.uid, &observed.marker));
    }
    job_of_another(observed, cluster, true)
}

/// The latter alone. `also_silent`: a host that does not answer counts as well, where its member
/// serves.
pub(super) fn job_of_another(
    observed: &Observed,
    cluster: &ObservedCluster,
    also_silent: bool,
) -> Option<String> {
    let mut others = cluster.other_control_planes.iter();
    others.find_map(|other| {
        let name = &other.name;
        match other.look {
            LastLook::Never => {
                return Some(format!(
                    "the manager has just started, and asks the host of control-plane Machine {name} whether a job runs there"
                ));
            }
            LastLook::Silent if also_silent && serves(cluster, other) => {
                let look = remedy::describe_machine(&observed.marker.namespace, name);
                return Some(format!(
                    "the etcd member of control-plane Machine {name} serves, and its host does not answer the manager, which has started anew and cannot tell whether kubeadm runs there: {look} says what to correct"
                ));
            }
            _ => (),
        }
        let what = other.runs?.title();
        let look = remedy::describe_machine(&observed.marker.namespace, name);
        Some(format!(
            "{what} runs on the host of control-plane Machine {name}, and members change one at a time. If it does not proceed: {look}"
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
    let (namespace, name) = (&marker.namespace, &turn.name);
    let does = Purpose::of(turn.action).does;
    let cancel = if turn.action == TurnAction::Join {
        let delete = remedy::machine::delete(namespace, name);
        format!("; to cancel its join: {delete}")
    } else {
        String::new()
    };
    let look = remedy::describe_machine(namespace, name);
    format!(
        "Machine {name} {does} the control plane, and members change one at a time. If it does not proceed: {look}{cancel}"
    )
}
