//! What the planner of a control plane knows of it.

use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Reason, find, is_true};
use crate::api::machine_stage::TurnRequest;
use crate::api::{Cluster, Machine};
use crate::control_plane::turn::Both;
use crate::control_plane::{Change, Members, permits};
use crate::machine::{LastLook, reported};
use crate::node::JobKind;

/// What the planner of a control plane knows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Namespace and name of the Cluster.
    pub cluster: (String, String),
    /// Turn and record on the Cluster and its CA Secret; `None` while the Secret was not read since
    /// the manager started.
    pub both: Option<Both>,
    /// UID of the Cluster.
    pub uid: String,
    /// The Cluster asks to remove an etcd member that belongs to no Machine.
    pub has_orphan: bool,
    /// Its control-plane Machines, each once.
    pub seats: Vec<Seat>,
}

/// Whether a Cluster asks to remove an etcd member that belongs to no Machine.
pub fn has_orphan(cluster: &Cluster) -> bool {
    let request = cluster.status.as_ref();
    let request = request.and_then(|status| status.turn_request.as_ref());
    let action = request.and_then(|request| TurnAction::parse(&request.action));
    action == Some(TurnAction::Remove) && cluster.metadata.deletion_timestamp.is_none()
}

/// A control-plane Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// Its UID.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// What it wants of the turn.
    pub wants: Wants,
    /// kubeadm was begun for it: its host may have a member.
    pub is_begun: bool,
    /// The job that changes a member and runs on its host, as far as this process knows.
    pub runs: Option<JobKind>,
    /// What its host showed when this process asked it last.
    pub look: LastLook,
    /// Its member, by the list as last read.
    pub member: MemberView,
}

/// What a Machine wants of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wants {
    /// Nothing.
    #[default]
    Nothing,
    /// It asks for it, and nothing is done about it now: it, or something above it, is paused or
    /// cannot be read.
    Held,
    /// It asks for it.
    Asks(Asks),
    /// It asks for it to leave as soon as it is drained, and waits to be: until nobody has the
    /// turn.
    Soon,
}

/// What a Machine asks the turn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asks {
    /// What it is about to do.
    pub action: TurnAction,
    /// It was begun, and is half done: its member may be down, or is one that an attempt to join
    /// left.
    pub half_done: bool,
}

/// The member of a Machine, by the list as last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberView {
    /// It serves.
    pub serves: bool,
    /// etcd can do without it for a while.
    pub may_restart: bool,
}

impl Wants {
    /// What a Machine wants, by its status. `is_held`: nothing is done about it.
    pub fn of(machine: &Machine, is_held: bool) -> Self {
        let Some(status) = &machine.status else {
            return Self::Nothing;
        };
        let is_deleting = machine.metadata.deletion_timestamp.is_some();
        // what an older release left there is nobody's request
        let request = status
            .turn_request
            .as_ref()
            .filter(|_| reported::has_fields(status));
        let action = |request: &TurnRequest| TurnAction::parse(&request.action);
        let Some((request, action)) = request.and_then(|one| Some((one, action(one)?))) else {
            let waits = !is_held && is_deleting && waits_to_leave(machine);
            return if waits { Self::Soon } else { Self::Nothing };
        };
        let half_done = request.half_done;
        // what it asked for before it was deleted, or is not by an older backup
        let counts = match action {
            TurnAction::Init => false,
            TurnAction::Join => !is_deleting,
            TurnAction::Remove => is_deleting,
            TurnAction::Upgrade => !is_deleting || half_done || reported::update_is_begun(machine),
        };
        match (counts, is_held) {
            (false, _) => Self::Nothing,
            (true, true) => Self::Held,
            (true, false) => Self::Asks(Asks { action, half_done }),
        }
    }
}

/// Whether a Machine in deletion waits until nobody has the turn, by what it said last.
fn waits_to_leave(machine: &Machine) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let deleting = find(&status.conditions, ConditionType::Deleting);
    deleting.is_some_and(|said| said.reason == Reason::WaitingForTurn)
        && !is_true(&status.conditions, ConditionType::Draining)
}

impl MemberView {
    /// Of the member with one of these addresses or names.
    pub fn of(members: Option<&Members>, addresses: &[&str], names: &[&str]) -> Self {
        let found = members.and_then(|all| Some((all, all.of(addresses, names)?)));
        found.map_or_else(Self::default, |(members, member)| Self {
            serves: members.trouble(member).is_none(),
            may_restart: permits(members, Change::Restart(member.id)).is_ok(),
        })
    }
}
