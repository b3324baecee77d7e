//! Who gets the turn next, and why nobody does. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::observed::{Asks, MemberView, Observed, Seat, Wants};
use crate::Next;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Finding;
use crate::control_plane::turn::Both;
use crate::machine::LastLook;

/// How soon it is planned again while somebody waits.
const AGAIN: Duration = Duration::from_secs(10);

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read who has the turn.
    Read,
    /// Give it to this Machine, if nobody has it.
    Grant(Turn),
}

/// What the planner does next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    /// At most one.
    pub actions: Vec<Action>,
    /// When to plan again, beside on every change.
    pub next: Next,
    /// Who waits, in the order in which they get the turn.
    pub queue: Vec<String>,
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next
    }
}

/// The order in which Machines get the turn: smaller is sooner. Another kind of change gets its line here.
fn rank(asks: Asks) -> u8 {
    match (asks.is_begun, asks.action) {
        // what is half done is brought to its end first: its member may be down
        (true, _) => 0,
        (false, TurnAction::Init | TurnAction::Remove | TurnAction::Join) => 1,
        (false, TurnAction::Upgrade) => 2,
    }
}

/// Who gets the turn next.
pub fn plan(observed: &Observed) -> Plan {
    let mut queue: Vec<(&Seat, Asks)> = observed.seats.iter().filter_map(asking).collect();
    queue.sort_by_key(|(seat, asks)| (rank(*asks), &seat.name));
    let is_held = |seat: &Seat| seat.wants == Wants::Held;
    if queue.is_empty() && !observed.seats.iter().any(is_held) {
        return Plan::default();
    }
    let mut plan = Plan {
        actions: Vec::new(),
        // not everything that is waited for is an object, whose change would wake
        next: Next::After(AGAIN),
        queue: queue.iter().map(|(seat, _)| seat.name.clone()).collect(),
    };
    match &observed.both {
        None => plan
            .actions
            .extend((!queue.is_empty()).then_some(Action::Read)),
        Some(both) => {
            let mut queue = queue.into_iter();
            let next = queue.find(|(seat, asks)| is_ready(seat, *asks));
            let next = next.filter(|(seat, asks)| is_free(observed, both, seat, *asks));
            plan.actions
                .extend(next.map(|(seat, asks)| grant(seat, asks)));
        }
    }
    plan
}

/// What a Machine asks for, of what is granted: for the rest, Machines take the turn themselves.
fn asking(seat: &Seat) -> Option<(&Seat, Asks)> {
    match seat.wants {
        Wants::Asks(asks) if asks.action == TurnAction::Upgrade => Some((seat, asks)),
        _ => None,
    }
}

fn grant(seat: &Seat, asks: Asks) -> Action {
    Action::Grant(Turn {
        machine: seat.uid.clone(),
        name: seat.name.clone(),
        action: asks.action,
    })
}

/// Whether a Machine could go on with the turn: this manager has asked its host, and etcd can do without its member, or has to
/// already. Else it would only give it back.
fn is_ready(seat: &Seat, asks: Asks) -> bool {
    let was_asked = !matches!(seat.look, LastLook::Never | LastLook::Silent);
    let may_restart = match seat.member {
        MemberView::Spare => true,
        MemberView::Down | MemberView::Unknown => asks.is_begun,
        MemberView::Needed => false,
    };
    was_asked && may_restart
}

/// Whether nobody else has the turn, is about to take it before this change, or may be changing its member without it.
fn is_free(observed: &Observed, both: &Both, seat: &Seat, asks: Asks) -> bool {
    if both.no_secret || both.doubt().is_some() || both.cluster.initialized.is_none() {
        return false;
    }
    // what it has for one change, a Machine may have for the next
    let is_taken = |turn: &Turn| {
        let is_own = turn.machine == seat.uid;
        turn.is_later() && (!is_own || turn.action == asks.action)
    };
    let mut others = observed.seats.iter().filter(|other| other.uid != seat.uid);
    !both.holder().is_some_and(is_taken)
        && !others
            .any(|other| is_in_the_way(other) || (!asks.is_begun && other.wants == Wants::Takes))
}

/// Whether kubeadm may be changing its member without the turn: a management cluster that was restored from a backup may not know
/// whose turn it was.
fn is_in_the_way(seat: &Seat) -> bool {
    let is_unknown = match seat.look {
        LastLook::Never => seat.is_begun,
        LastLook::Silent => {
            seat.is_begun && matches!(seat.member, MemberView::Needed | MemberView::Spare)
        }
        LastLook::Idle | LastLook::Runs(_) => false,
    };
    is_unknown || seat.runs.is_some()
}
