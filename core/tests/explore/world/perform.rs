//! What the actions of a Machine's plan do: judged live by the core, where the controller reads live.

use tatara_core::api::cluster::TurnAction;
use tatara_core::control_plane::turn::{
    Both, Side, Step as TurnStep, give_back, hold, record, take,
};
use tatara_core::machine::live::claim::{self, Choice, Claimant};
use tatara_core::machine::live::etcd::{self, Removal};
use tatara_core::machine::live::turn::{self, Outcome};
use tatara_core::machine::live::{init_evidence, node};
use tatara_core::machine::plan::update::unwell;
use tatara_core::machine::plan::{Acquire, Action, Release};
use tatara_core::machine::{Observed, Placement};
use tatara_core::proof::TurnIsOver;

use super::build::{
    self, AUTHORITY, CLUSTER_UID, UIDS, both, host, host_named, machine, marker, marks,
};
use super::pass::Doing;
use super::scope::{components, core_members};
use super::shown::node_view;
use super::state::{CLUSTER, MOST, Machine, State};
use super::text::Text;

/// Carries one action out. Whether the next one may follow.
pub fn perform(doing: &mut Doing, which: usize, observed: &Observed, action: &Action) -> bool {
    match action {
        Action::Adopt { host } => adopt(doing, which, host.as_deref()),
        Action::Acquire(Acquire::Place { name, instead }) => {
            acquire(doing, which, observed, name, instead.as_ref())
        }
        Action::TakeHost => take_host(doing, which, observed),
        Action::RunJob(kind) => super::jobs::run(doing, which, observed, *kind),
        Action::TakeTurn => takes(doing, observed),
        Action::RemoveMember(member) => {
            holds(doing, observed, turn::of_removal(observed)) && {
                match etcd::may_remove(
                    observed,
                    member,
                    doing.state.members_now().as_ref().map_err(Clone::clone),
                ) {
                    Ok(Removal::IsOver) => true,
                    Ok(Removal::Begins(_)) => {
                        let id = u8::try_from(member.id.0 - 1).expect("few");
                        if let Some(what) = doing.state.wrong_removal(which, id) {
                            doing.breaks(what);
                        }
                        doing.effect(|state| state.remove_member(id))
                    }
                    Err(_) => false,
                }
            }
        }
        Action::AwaitComponents => {
            let host = doing.state.host_of(which);
            let now = host.and_then(|host| Some((doing.state.servers[host].api?, host)));
            let now = now.map(|(version, host)| components(version, doing.state.serving(host)));
            unwell(observed, now.as_deref()).is_none()
        }
        Action::ReturnTurn(over) => returns(doing, which, observed, over),
        Action::RecordSettings { record, begins } => {
            if *begins && super::settings::may_begin(&doing.state, observed).is_some() {
                return false;
            }
            let record = Text::of(record);
            doing.effect(|state| state.objects.machines[which].record = Some(record))
        }
        Action::RecordInitialized => {
            turn::other_authority(observed, Some(AUTHORITY)).is_none() && {
                let step = go(doing, |both| record(both, UIDS[which]));
                step.is_some_and(|step| turn::recorded(observed, step) == Outcome::Yes)
            }
        }
        Action::Drain { node, .. } => cordon(doing, host_named(node), true),
        Action::UncordonNode { node, .. } => cordon(doing, host_named(node), false),
        Action::Release(Release::Now) => release(doing, which, observed),
        Action::DeleteNode { node, over, .. } => {
            let host = host_named(node);
            let server = doing.state.servers[host];
            let is_said = over.evidence() == tatara_core::proof::Evidence::UserSaysGone;
            if server.is_node() && server.marker.map(usize::from) == Some(which) && !is_said {
                doing.breaks("the Node of a server that runs was deleted");
            }
            doing.state.has_quorum() && doing.effect(|state| state.nodes[host] = None)
        }
        Action::DeleteLeftNode { node, .. } => {
            let host = host_named(node);
            let now = doing.state.nodes[host];
            let is_ready = doing.state.ready() & 1 << host != 0;
            let view = now.map(|now| node_view(host, now, is_ready));
            node::may_delete_left(node, view.as_ref()).is_ok()
                && doing.state.has_quorum()
                && doing.effect(|state| state.nodes[host] = None)
        }
        Action::RemoveFinalizer(over) => {
            if !over.is_about(UIDS[which]) {
                doing.breaks("a finalizer was removed by the proof of another");
            }
            doing.effect(|state| {
                state.objects.machines[which] = Machine::default();
                state.memory.follow[which] = None;
                state.memory.backoff[which] = None;
                state.memory.look[which] = Default::default();
                state.memory.lost_api[which] = false;
            })
        }
        Action::AwaitHooks(_) => false,
        _ => true,
    }
}

/// Whether the Machine is still as its pass knows it, in what its place is chosen on.
fn is_current(state: &State, which: usize) -> bool {
    let of = |machine: &Machine| {
        let object = machine;
        (object.exists, object.deleted, object.chosen, object.wants)
    };
    of(&state.known().machines[which]) == of(&state.objects.machines[which])
}

fn adopt(doing: &mut Doing, which: usize, host: Option<&str>) -> bool {
    if !is_current(&doing.state, which) {
        return false;
    }
    let chosen = host.map(|host| u8::try_from(host_named(host)).expect("few"));
    doing.effect(|state| {
        let object = &mut state.objects.machines[which];
        object.adopted = true;
        object.chosen = object.chosen.or(chosen);
    })
}

fn acquire(
    doing: &mut Doing,
    which: usize,
    observed: &Observed,
    name: &str,
    instead: Option<&tatara_core::proof::Clean>,
) -> bool {
    let at = host_named(name);
    let known = doing.state.known().hosts[at];
    let claimant = claim::claimant(&host(at, &known), &marker(which));
    if claimant == Claimant::Own {
        return true;
    }
    let Ok(choice) = claim::may_choose(observed, name, instead) else {
        return false;
    };
    if choice == Choice::Due {
        if !is_current(&doing.state, which) {
            return false;
        }
        let chosen = u8::try_from(at).expect("few");
        if !doing.effect(|state| state.objects.machines[which].chosen = Some(chosen)) {
            return false;
        }
    }
    let live = doing.state.objects.hosts[at];
    let is_same = claim::host_basis(&host(at, &known)) == claim::host_basis(&host(at, &live));
    if !is_same || claimant != Claimant::Nobody {
        if claim::without_choice(&host(at, &live), &marker(which)).is_some() {
            doing.effect(|state| state.objects.machines[which].chosen = None);
        }
        return false;
    }
    let by = u8::try_from(which).expect("few");
    doing.effect(|state| state.objects.hosts[at].claim = Some((by, false)))
}

/// The server itself refuses a second marker.
fn take_host(doing: &mut Doing, which: usize, observed: &Observed) -> bool {
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let at = host_named(&held.name);
    if doing.state.servers[at].silent {
        return false;
    }
    let by = u8::try_from(which).expect("few");
    doing.effect(|state| {
        let server = &mut state.servers[at];
        if server.marker.is_none() {
            (server.marker, server.reset_of) = (Some(by), None);
            server.runs = Default::default();
        }
    })
}

fn release(doing: &mut Doing, which: usize, observed: &Observed) -> bool {
    let members = doing.state.members_now();
    let read = members.as_ref().map_err(Clone::clone);
    if etcd::is_asked_before_release(observed) && etcd::may_release(observed, read).is_err() {
        return false;
    }
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let at = host_named(&held.name);
    let (known, live) = (doing.state.known().hosts[at], doing.state.objects.hosts[at]);
    let (known, live) = (host(at, &known), host(at, &live));
    let is_same = claim::release_basis(&known) == claim::release_basis(&live);
    if !is_same || claim::release(&live, &marker(which)).is_none() {
        return false;
    }
    let by = u8::try_from(which).expect("few");
    doing.effect(|state| state.objects.hosts[at].claim = Some((by, true)))
}

fn cordon(doing: &mut Doing, at: usize, cordoned: bool) -> bool {
    if !doing.state.has_quorum() {
        return false;
    }
    let is_so = doing.state.nodes[at].is_none_or(|node| node.cordoned == cordoned);
    is_so
        || doing.effect(|state| {
            if let Some(node) = &mut state.nodes[at] {
                node.cordoned = cordoned;
            }
        })
}

/// Writes of turn and record, one at a time; `None` if the pass was cut by one.
pub fn go(doing: &mut Doing, decide: impl Fn(&Both) -> TurnStep) -> Option<TurnStep> {
    for _ in 0..8 {
        match decide(&both(&doing.state.objects)) {
            TurnStep::Write(side, after) => {
                let after = marks(&after);
                let goes_on = doing.effect(|state| match side {
                    Side::Secret => state.objects.secret = after,
                    Side::Cluster => state.objects.cluster = after,
                });
                if !goes_on {
                    return None;
                }
            }
            step => return Some(step),
        }
    }
    doing.breaks("the turn is written again and again");
    None
}

/// Takes the turn, or verifies that the Machine has it.
pub fn takes(doing: &mut Doing, observed: &Observed) -> bool {
    if is_witnessed(&mut doing.state, observed) {
        return false;
    }
    let which = build::of_uid(observed.uid());
    doing.state.memory.ended &= !(1 << which);
    let action = TurnAction::Init;
    let wanted = turn::wanted(observed, action);
    let step = go(doing, |both| take(both, &wanted));
    step.is_some_and(|step| {
        turn::taken(&observed.marker, CLUSTER_UID, action, step) == Outcome::Yes
    })
}

/// Verifies that the Machine has the turn that it was given.
pub fn holds(doing: &mut Doing, observed: &Observed, action: TurnAction) -> bool {
    let wanted = turn::wanted(observed, action);
    let step = go(doing, |both| hold(both, &wanted));
    step.is_some_and(|step| {
        turn::taken(&observed.marker, CLUSTER_UID, action, step) == Outcome::Yes
    })
}

/// Evidence that another Machine has run kubeadm init: hosts that were not asked yet are asked.
fn is_witnessed(state: &mut State, observed: &Observed) -> bool {
    let known = state.known().clone();
    let all = (0..MOST).filter(|which| known.machines[*which].exists);
    let machines: Vec<_> = all
        .map(|which| machine(which, &known.machines[which]))
        .collect();
    let ended = state.memory.ended;
    let has_ended = |uid: &str| ended & 1 << build::of_uid(uid) != 0;
    let recorded = |_: &tatara_core::api::Machine| Some("a".to_owned());
    if init_evidence::machine(&machines, &observed.marker, has_ended, recorded).is_some() {
        return true;
    }
    let own = match &observed.placement {
        Placement::Held(held) => Some(host_named(&held.name)),
        Placement::None(_) => None,
    };
    let others = (0..MOST).filter(|at| known.hosts[*at].exists && own != Some(*at));
    let others: Vec<usize> = others.collect();
    for at in &others {
        if state.memory.sighted[*at].is_none() {
            state.sight(*at);
        }
    }
    let hosts: Vec<_> = others
        .iter()
        .map(|at| host(*at, &known.hosts[*at]))
        .collect();
    let sighting = |name: &str| {
        let (owner, begun) = state.memory.sighted[host_named(name)]?;
        Some(init_evidence::Sighting {
            authority: begun.then(|| AUTHORITY.into()),
            owner: owner.map(|owner| marker(owner.into())),
        })
    };
    let machine_of = |uid: &str| {
        let mut machines = machines.iter();
        machines
            .find(|one| one.metadata.uid.as_deref() == Some(uid))
            .cloned()
    };
    let found = init_evidence::host(
        &hosts,
        &observed.marker,
        Some(AUTHORITY),
        sighting,
        machine_of,
    );
    !matches!(found, Ok(None))
}

fn returns(doing: &mut Doing, which: usize, observed: &Observed, over: &TurnIsOver) -> bool {
    if !over.is_about(UIDS[which]) {
        doing.breaks("the turn was returned by the proof of another");
        return false;
    }
    match over {
        TurnIsOver::Member(proof) => {
            let members = doing.state.members_now();
            let read = members.as_ref().map_err(Clone::clone);
            if etcd::may_return(observed, proof, read) != Outcome::Yes {
                return false;
            }
        }
        TurnIsOver::Proven(_) => doing.state.memory.ended |= 1 << which,
        TurnIsOver::Recorded | TurnIsOver::Vacant(_) => (),
    }
    go(doing, |both| give_back(both, UIDS[which])) == Some(TurnStep::Done)
}

impl State {
    /// What etcd answers now.
    pub fn members_now(&self) -> Result<tatara_core::control_plane::Members, String> {
        if self.has_quorum() {
            Ok(core_members(&self.members, self.healthy()))
        } else {
            Err("no quorum".into())
        }
    }

    /// Why a Machine may not have this member removed: its server serves, and says that it joined for another, or the Machine stays.
    fn wrong_removal(&self, which: usize, id: u8) -> Option<String> {
        let mut members = self.members.iter().flatten();
        let member = members.find(|member| member.id == id)?;
        let server = &self.servers[usize::from(member.host)];
        let is_up = server.joined && !server.silent && !server.stopped;
        let of = server.marker.filter(|_| is_up)?;
        let object = &self.objects.machines[which];
        if usize::from(of) != which {
            return Some(format!("the member of m-{of} was removed for m-{which}"));
        }
        (object.exists && !object.deleted)
            .then(|| format!("m-{which} has joined and stays, and its member was removed"))
    }

    /// Removes a member; the others keep their order.
    pub fn remove_member(&mut self, id: u8) {
        let mut left: Vec<_> = self.members.iter().flatten().copied().collect();
        left.retain(|member| member.id != id);
        self.members = Default::default();
        for (slot, member) in self.members.iter_mut().zip(left) {
            *slot = Some(member);
        }
    }

    /// Adds a member on a host, which learns.
    pub fn add_member(&mut self, host: usize) {
        let taken = |id: &u8| self.members.iter().flatten().any(|member| member.id == *id);
        let id = (0..CLUSTER).find(|id| !taken(id)).unwrap_or_default();
        let free = self.members.iter_mut().find(|slot| slot.is_none());
        if let Some(slot) = free {
            *slot = Some(super::state::Member {
                id,
                host: u8::try_from(host).expect("few"),
                learns: true,
            });
        }
    }

    /// How the API server on a host answers now.
    pub fn serving(&self, host: usize) -> super::view::Serving {
        if !self.servers[host].silent && self.serves(host) {
            super::view::Serving::Serves
        } else {
            super::view::Serving::Fails
        }
    }
}
