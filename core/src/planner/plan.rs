//! Who gets the turn next, and why nobody does. Pure.

use k8s_openapi::jiff::Timestamp;

use super::observed::{Asks, Observed, Seat, Wants};
use crate::Next;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Finding;
use crate::control_plane::turn::Both;
use crate::machine::LastLook;
use crate::node::JobKind;
use crate::pace::TURN;
use crate::remedy;

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
    /// Who waits, in the order in which they get the turn, and why: UID and sentence.
    pub waits: Vec<(String, String)>,
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

/// One that asks for the turn.
struct Asking<'a> {
    place: Place,
    turn: Turn,
    half_done: bool,
    /// The Machine that asks; `None` for the Cluster itself.
    seat: Option<&'a Seat>,
}

/// Who gets the turn next.
pub fn plan(observed: &Observed) -> Plan {
    let mut queue: Vec<Asking> = observed.seats.iter().filter_map(asking).collect();
    queue.extend(orphan(observed));
    queue.sort_by(|one, other| (one.place, &one.turn.name).cmp(&(other.place, &other.turn.name)));
    let is_held = |seat: &Seat| seat.wants == Wants::Held;
    if queue.is_empty() && !observed.seats.iter().any(is_held) {
        return Plan::default();
    }
    let mut plan = Plan {
        // not everything that is waited for is an object, whose change would wake
        next: Next::After(TURN),
        ..Plan::default()
    };
    let Some(both) = &observed.both else {
        plan.actions
            .extend((!queue.is_empty()).then_some(Action::Read));
        return plan;
    };
    for asking in queue {
        let first = plan.actions.first();
        let ahead = || match first? {
            Action::Grant(turn) => Some(goes_first(observed, turn)),
            Action::Read => None,
        };
        let why = unready(observed, &asking)
            .or_else(ahead)
            .or_else(|| obstacle(observed, both, &asking));
        match why {
            Some(why) => plan.waits.push((asking.turn.machine, why)),
            None => plan.actions.push(Action::Grant(asking.turn)),
        }
    }
    plan
}

/// The order of changes, of several that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// What is half done is brought to its end: its member may be down.
    HalfDone,
    /// A member that belongs to no Machine and does not serve goes: none joins beside it.
    Orphan,
    /// A member that does not serve goes: none joins beside it.
    LeavesBroken,
    /// One more joins, before one that serves goes: etcd has a member more meanwhile.
    Joins,
    /// One that serves goes.
    Leaves,
    /// An update begins.
    Updates,
}

fn place(seat: &Seat, asks: Asks) -> Place {
    match asks.action {
        _ if asks.half_done => Place::HalfDone,
        TurnAction::Remove if !seat.member.serves => Place::LeavesBroken,
        TurnAction::Init | TurnAction::Join => Place::Joins,
        TurnAction::Remove => Place::Leaves,
        TurnAction::Upgrade => Place::Updates,
    }
}

fn asking(seat: &Seat) -> Option<Asking<'_>> {
    let Wants::Asks(asks) = seat.wants else {
        return None;
    };
    Some(Asking {
        place: place(seat, asks),
        turn: Turn {
            machine: seat.uid.clone(),
            name: seat.name.clone(),
            action: asks.action,
        },
        half_done: asks.half_done,
        seat: Some(seat),
    })
}

/// The Cluster, which removes a member that belongs to no Machine.
fn orphan(observed: &Observed) -> Option<Asking<'_>> {
    let (_, name) = &observed.cluster;
    observed.has_orphan.then(|| Asking {
        place: Place::Orphan,
        turn: Turn {
            machine: observed.uid.clone(),
            name: name.clone(),
            action: TurnAction::Remove,
        },
        half_done: false,
        seat: None,
    })
}

/// Why a Machine could not go on with the turn, and would only give it back: this manager has not
/// asked its host, or etcd cannot do without its member. What is half done may be what that lacks.
/// One that leaves needs no host, and whether etcd takes, or can do without, a member, each asks of
/// etcd before it asks for the turn.
fn unready(observed: &Observed, asking: &Asking) -> Option<String> {
    let (_, cluster) = &observed.cluster;
    let action = asking.turn.action;
    let seat = asking.seat.filter(|_| action != TurnAction::Remove)?;
    match seat.look {
        LastLook::Never => {
            return Some("the manager has just started, and asks its host first".into());
        }
        LastLook::Silent => {
            return Some(
                "its host does not answer; condition InfrastructureReady has the remedy".into(),
            );
        }
        LastLook::Idle | LastLook::Runs(_) => (),
    }
    if action != TurnAction::Upgrade {
        return None;
    }
    let member = seat.member;
    let may_go_on = member.may_restart || (asking.half_done && !member.serves);
    let what = if member.serves {
        "etcd cannot do without its member now"
    } else {
        "no list of etcd members that was read shows that its own serves"
    };
    (!may_go_on).then(|| format!("{what}; condition EtcdHealthy of Cluster {cluster} says why"))
}

/// Why nobody gets the turn: somebody has it, is about to take it before this change, or may be
/// changing its member without it.
fn obstacle(observed: &Observed, both: &Both, asking: &Asking) -> Option<String> {
    let wanted = &asking.turn;
    let (namespace, cluster) = &observed.cluster;
    if both.no_secret {
        return Some(format!(
            "Secret {cluster}-ca is missing; condition CertificatesReady of Cluster {cluster} says what to do"
        ));
    }
    if both.doubt().is_some() || both.cluster.initialized.is_none() {
        return Some(format!(
            "it is in doubt who has the turn; condition ControlPlaneInitialized of Cluster {cluster} says what to do"
        ));
    }
    let named = |what: &str, name: &str| named(namespace, what, name);
    // what it has for one change, a Machine may have for the next
    let is_another = |turn: &&Turn| {
        turn.is_later() && (turn.machine != wanted.machine || turn.action == wanted.action)
    };
    if let Some(turn) = both.holder().filter(is_another) {
        let name = &turn.name;
        return Some(if turn.machine == observed.uid {
            orphan_goes("is being removed", cluster)
        } else if observed.seats.iter().any(|seat| seat.uid == turn.machine) {
            named(&format!("Machine {name} has the turn"), name)
        } else {
            let look = remedy::describe_cluster(namespace, cluster);
            format!(
                "Machine {name}, which does not exist any more, has the turn; it is returned by itself. If that lasts: {look}"
            )
        });
    }
    let others = || {
        let seats = observed.seats.iter();
        seats.filter(|other| other.uid != wanted.machine)
    };
    let is_in_the_way = |other: &&Seat| match asking.place {
        Place::Orphan => may_join(other),
        _ => is_in_the_way(other),
    };
    if let Some(other) = others().find(is_in_the_way) {
        let name = &other.name;
        let what = format!("kubeadm may be changing the member of Machine {name}");
        return Some(named(&what, name));
    }
    let is_new = asking.place == Place::Updates;
    let leaves = |other: &&Seat| other.wants == Wants::Soon;
    let other = others().find(leaves).filter(|_| is_new)?;
    let what = format!("Machine {} leaves first", other.name);
    Some(named(&what, &other.name))
}

fn goes_first(observed: &Observed, turn: &Turn) -> String {
    let (namespace, cluster) = &observed.cluster;
    let name = &turn.name;
    if turn.machine == observed.uid {
        orphan_goes("is removed first", cluster)
    } else {
        named(namespace, &format!("Machine {name} goes first"), name)
    }
}

fn orphan_goes(what: &str, cluster: &str) -> String {
    format!(
        "an etcd member that belongs to no Machine {what}; condition EtcdHealthy of Cluster {cluster} names it"
    )
}

fn named(namespace: &str, what: &str, name: &str) -> String {
    let look = remedy::describe_machine(namespace, name);
    format!("{what}. If it does not proceed: {look}")
}

/// Whether kubeadm may be joining there: it would begin with a list of members that is no longer
/// true. A host that does not answer keeps nobody's dead member.
fn may_join(seat: &Seat) -> bool {
    let is_unknown = seat.look == LastLook::Never && seat.is_begun;
    is_unknown || seat.runs == Some(JobKind::Join)
}

/// Whether kubeadm may be changing its member without the turn: a management cluster that was
/// restored from a backup may not know whose turn it was.
fn is_in_the_way(seat: &Seat) -> bool {
    let is_unknown = match seat.look {
        LastLook::Never => seat.is_begun,
        LastLook::Silent => seat.is_begun && seat.member.serves,
        LastLook::Idle | LastLook::Runs(_) => false,
    };
    is_unknown || seat.runs.is_some()
}
