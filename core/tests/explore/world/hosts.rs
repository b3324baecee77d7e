//! A pass over a Host: its plan, and what its actions do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tatara_core::api::cluster::TurnAction;
use tatara_core::api::conditions::{ConditionType, Reason, Status};
use tatara_core::control_plane::turn::{give_back, record_found};
use tatara_core::host::guard::{ControlPlaneOrigin, guards, may_be_of_control_plane, may_have};
use tatara_core::host::plan::{Action, Plan, plan};
use tatara_core::host::released::{is_released, is_same};
use tatara_core::host::{Consumer, Contact, ContactError, DuplicateHosts, Observed, Owner};
use tatara_core::machine::is_begun;
use tatara_core::node::{Attempts, Ownership};
use tatara_core::proof::{Clean, InitProof, TurnIsOver};

use super::build::{self, AUTHORITY, MANAGEMENT, UIDS, at, host, host_name, machine, machine_name};
use super::pass::{Cut, Doing, REMEMBERED};
use super::perform::go;
use super::shown::shows;
use super::state::{Host, MOST, Marks, Member, Objects, Server, State};
use super::text::Text;

/// A pass over a Host.
pub fn of_host(state: &State, which: usize, stop: Option<(u8, Cut)>) -> Doing {
    let mut doing = Doing::new(state, stop);
    let judged = judged(state, which);
    let (observed, plan) = (&judged.0, &judged.1);
    doing.state.sight(which);
    let said = |name| plan.findings.iter().find(|found| found.condition == name);
    let available = said(ConditionType::Available);
    let available = available.map(|found| (found.status == Status::True, found.reason()));
    let reachable = match &observed.contact {
        Contact::Failed(_) => Some(false),
        _ => Some(true),
    };
    let is_orphan = available.is_some_and(|(_, reason)| reason == Reason::Orphaned);
    let marker = state.servers[which].marker.filter(|_| is_orphan);
    for action in &plan.actions {
        if doing.is_cut || doing.broken.is_some() || !perform(&mut doing, which, observed, action) {
            break;
        }
    }
    let clean = said(ConditionType::Clean).map(|found| found.status == Status::True);
    let told = (available, reachable, clean, marker);
    let object = &doing.state.objects.hosts[which];
    let is_told = (
        object.available,
        object.reachable,
        object.clean,
        object.orphan_of,
    ) == told;
    if object.exists && !doing.is_cut && !is_told {
        doing.effect(|state| {
            let object = &mut state.objects.hosts[which];
            (
                object.available,
                object.reachable,
                object.clean,
                object.orphan_of,
            ) = told;
        });
    }
    doing
}

/// What a pass over a Host reads: by this its plan is remembered.
#[derive(PartialEq, Eq, Hash)]
struct View {
    which: usize,
    connected: bool,
    hosts: [Host; MOST],
    machines: [(bool, bool, Option<Text>, Option<u8>); MOST],
    marks: (Marks, Marks),
    server: Server,
    members: Option<([Option<Member>; MOST], u8)>,
    nodes: [Option<u8>; MOST],
    sighted: [Option<(Option<u8>, bool)>; MOST],
}

impl View {
    fn of(state: &State, which: usize) -> Self {
        let known = state.known();
        Self {
            which,
            connected: state.memory.connected,
            hosts: known.hosts,
            machines: known
                .machines
                .map(|one| (one.exists, one.deleted, one.record, one.status.node)),
            marks: (known.secret, known.cluster),
            server: state.servers[which],
            members: state.has_quorum().then(|| (state.members, state.healthy())),
            nodes: state.nodes.map(|node| node.map(|node| node.of)),
            sighted: state.memory.sighted,
        }
    }
}

thread_local! {
    static JUDGED: RefCell<HashMap<View, Rc<(Observed, Plan)>>> = RefCell::default();
}

/// What a pass over a Host knows, and its plan.
pub fn judged(state: &State, which: usize) -> Rc<(Observed, Plan)> {
    let view = View::of(state, which);
    let known = JUDGED.with_borrow(|all| all.get(&view).cloned());
    known.unwrap_or_else(|| {
        let observed = observed(state, which);
        let plan = plan(&observed, at(0));
        let judged = Rc::new((observed, plan));
        JUDGED.with_borrow_mut(|all| {
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.insert(view, Rc::clone(&judged));
        });
        judged
    })
}

fn observed(state: &State, which: usize) -> Observed {
    let known = state.known();
    let object = &known.hosts[which];
    let server = &state.servers[which];
    let contact = if server.silent {
        Contact::Failed(ContactError {
            reason: Reason::SshUnreachable,
            message: "no answer".into(),
            transient: true,
        })
    } else {
        Contact::Seen(Box::new(shows(server, which)))
    };
    let consumer = object.claim.map(|(by, _)| usize::from(by));
    let consumer = consumer.filter(|by| known.machines[*by].exists);
    let rivals =
        (0..MOST).filter(|other| *other != which && is_rival(object, &known.hosts[*other]));
    let built = host(which, object);
    let clusters = [origin(known, Some(state))];
    let owner = server.marker.map(usize::from).filter(|_| !server.silent);
    let owner = owner.filter(|owner| known.machines[*owner].exists);
    Observed {
        management: MANAGEMENT.into(),
        duplicates: DuplicateHosts::default(),
        bmc: None,
        is_missed: false,
        has_its_marker: false,
        heard_at: None,
        first_contact_keys: Vec::new(),
        following: None,
        owner: owner.map_or(Owner::Unknown, |owner| {
            let on = known.host_of(owner);
            on.map_or(Owner::WithoutHost, |on| Owner::On(host_name(on).into()))
        }),
        consumer: consumer.map_or(Consumer::Missing, |by| Consumer::Exists {
            is_deleting: known.machines[by].deleted,
            is_begun: is_begun(&machine(by, &known.machines[by]))
                || build::both(known).has_turn_of(UIDS[by])
                || [&known.secret, &known.cluster]
                    .iter()
                    .any(|marks| marks.initialized.map(usize::from) == Some(by))
                || state
                    .nodes
                    .iter()
                    .flatten()
                    .any(|node| usize::from(node.of) == by),
        }),
        rivals: rivals.map(|other| host_name(other).to_owned()).collect(),
        marked_rival: None,
        guards: guards(&built, &contact, consumer.is_some(), &clusters),
        may_guard: may_have(&built, &contact, &clusters),
        stands_in: None,
        unrecorded: unrecorded(state, which, &contact, owner.is_some()),
        cluster_goes: false,
        attempts: Attempts::default(),
        has_media: false,
        installation: None,
        contact,
        host: built,
    }
}

fn is_rival(object: &Host, other: &Host) -> bool {
    let by = |host: &Host| host.claim.map(|(by, _)| by);
    other.exists && by(object).is_some() && by(object) == by(other)
}

/// The Cluster, as its hosts are guarded for it; with the members of its etcd, as they were read last.
fn origin(known: &Objects, state: Option<&State>) -> ControlPlaneOrigin {
    let uid = |by: u8| UIDS[usize::from(by)].to_owned();
    let turn = known.secret.turn.or(known.cluster.turn);
    ControlPlaneOrigin {
        namespace: "default".into(),
        name: "a".into(),
        is_deleting: false,
        is_external: false,
        by: known.cluster.initialized.map(uid),
        by_secret: known.secret.initialized.map(uid),
        authority: Some(AUTHORITY.into()),
        has_later_turn: turn.is_some_and(|(_, action)| action != TurnAction::Init),
        members: state
            .filter(|state| state.memory.connected && known.cluster.initialized.is_some())
            .and_then(|state| state.members_now().ok())
            .map(Arc::new),
    }
}

/// The control plane of a Machine that does not exist, of which the Cluster has no record.
fn unrecorded(
    state: &State,
    which: usize,
    contact: &Contact,
    has_owner: bool,
) -> Option<InitProof> {
    let Contact::Seen(seen) = contact else {
        return None;
    };
    let Ownership::Owner(owner) = &seen.owner else {
        return None;
    };
    let known = state.known();
    let built = host(which, &known.hosts[which]);
    let was_let_go = tatara_core::host::guard::was_let_go(&built, &owner.marker.uid);
    if has_owner || was_let_go || known.cluster.initialized.is_some() {
        return None;
    }
    let made = InitProof::of_host(MANAGEMENT, Some(AUTHORITY), seen)?;
    let is_alone = !(0..MOST).any(|other| {
        let sighted = state.memory.sighted[other].filter(|_| other != which);
        sighted.is_some_and(|(owner, begun)| {
            begun && owner != state.servers[which].marker && known.hosts[other].exists
        })
    });
    is_alone.then_some(made)
}

/// Carries one action out. Whether the next one may follow.
fn perform(doing: &mut Doing, which: usize, observed: &Observed, action: &Action) -> bool {
    match action {
        Action::Reset(marker) => reset(doing, which, observed, build::of_uid(&marker.uid)),
        Action::Free(clean) => free(doing, which, observed, clean),
        Action::RecordInitialized(made) => {
            let uid = made.by().uid.clone();
            go(doing, |both| record_found(both, &uid)).is_some()
        }
        _ => true,
    }
}

/// What is read live before the reset, and the reset.
fn reset(doing: &mut Doing, which: usize, observed: &Observed, of: u8) -> bool {
    let live = host(which, &doing.state.objects.hosts[which]);
    let claimant = doing.state.objects.hosts[which]
        .claim
        .map(|(by, _)| usize::from(by));
    let claimant = claimant.filter(|by| doing.state.objects.machines[*by].exists);
    let object = claimant.map(|by| machine(by, &doing.state.objects.machines[by]));
    if !is_released(&observed.host, &live, object.as_deref()) {
        return false;
    }
    let is_plane = claimant.map(|by| doing.state.known().machines[by].is_control_plane);
    if may_be_of_control_plane(is_plane, &observed.contact) {
        let mut made = origin(&doing.state.objects, None);
        if made.is_made() {
            match doing.state.members_now() {
                Ok(members) => made.members = Some(Arc::new(members)),
                Err(_) => return false,
            }
        }
        if guards(&observed.host, &Contact::NotAsked, true, &[made]).is_some() {
            return false;
        }
    }
    if !is_same(&observed.host, &live) {
        return false;
    }
    let server = doing.state.servers[which];
    if server.silent || server.marker != Some(of) || server.running().is_some() {
        return false;
    }
    // what an init left that was never recorded is no data yet
    let is_made = doing.state.objects.secret.initialized.is_some();
    if is_made && doing.state.member_on(which).is_some() && doing.state.has_quorum() {
        doing.breaks(format!(
            "the data of the etcd member on {} was wiped",
            host_name(which)
        ));
    }
    doing.effect(|state| state.reset(which, of))
}

/// The turn that its Machine may have left, its Node, and the claim.
fn free(doing: &mut Doing, which: usize, observed: &Observed, clean: &Clean) -> bool {
    let Some((by, _)) = doing.state.known().hosts[which].claim else {
        return true;
    };
    let owner = usize::from(by);
    let Some(over) = clean.ended(UIDS[owner]).map(TurnIsOver::Proven) else {
        doing.breaks("a host was freed by the proof of another");
        return false;
    };
    if over.is_about(UIDS[owner]) {
        doing.state.memory.ended |= 1 << by;
    }
    if go(doing, |both| give_back(both, UIDS[owner])).is_none() {
        return false;
    }
    let has_machine = doing.state.known().machines[owner].exists;
    let left = (0..MOST).find(|at| doing.state.nodes[*at].is_some_and(|node| node.of == by));
    if let Some(left) = left.filter(|_| !has_machine)
        && (!doing.state.has_quorum() || !doing.effect(|state| state.nodes[left] = None))
    {
        return false;
    }
    let live = host(which, &doing.state.objects.hosts[which]);
    let basis = tatara_core::host::released::basis;
    if basis(&observed.host) != basis(&live) {
        return false;
    }
    if doing.state.servers[which].marker == Some(by) {
        let name = machine_name(owner);
        doing.breaks(format!("a host was freed that has the marker of {name}"));
    }
    doing.effect(|state| state.objects.hosts[which].claim = None)
}
