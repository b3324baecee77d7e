//! What may happen next in a state: the work of the manager and of the servers, and faults while there may be some.

use super::cluster::of_cluster;
use super::hosts::of_host;
use super::pass::{Cut, Doing, of_machine};
use super::planner::of_planner;
use super::state::{MOST, State};

/// Whose pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    Machine(usize),
    Host(usize),
    Cluster,
    Planner,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    Pass(Who),
    /// A new manager lists the objects, and asks etcd.
    Connect,
    /// The job on a server comes one step further.
    Goes(usize),
    /// The back-off of a Machine is over.
    Waited(usize),
    /// The API server beside a Machine has not served for a while.
    LostApi(usize),
    /// The member without a Machine has been silent for long enough.
    Silence,
    /// The watches show what is written.
    CatchUp,
    /// The start of a job that comes late.
    Late,
    /// A pass that does not come to its end, at this effect.
    CutPass(Who, u8, Cut),
    /// The manager is killed, and starts anew.
    Restart,
    /// The watches begin to lag.
    Lag,
    Fails(usize),
    /// The power of a server is cut, or its job killed; its member may stay down.
    Breaks(usize, bool),
    /// A server does not answer, or answers again.
    Silent(usize),
    Answers(usize),
    /// Somebody deletes a Machine.
    Delete(usize),
    /// Somebody removes the finalizer of a Machine.
    Strip(usize),
    /// Somebody says that the host of a Machine is gone.
    Gone(usize),
    /// Somebody removes the turn of init from the Secret, or from the Cluster.
    ForgetTurn(bool),
    /// Somebody removes the record of init from the Secret, or from the Cluster.
    ForgetRecord(bool),
    /// Somebody deletes the Host of a server by force, or registers it again.
    Unregister(usize),
    Register(usize),
    /// Somebody removes annotation `tatara.dev/host` of a Machine.
    ForgetHost(usize),
    /// The management cluster is restored from its backup.
    Restore,
    /// Somebody wants the new version of a Machine.
    Upgrade(usize),
    /// Somebody edits the settings of the Cluster.
    Edit(u8),
}

/// Which faults, and acts of people, there are in a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub cuts: bool,
    pub deposed: bool,
    pub lag: bool,
    pub jobs: bool,
    pub silence: bool,
    /// These Machines are deleted.
    pub deletes: u8,
    /// People say of these Machines that their hosts are gone.
    pub gone: u8,
    /// People want the new version of these.
    pub upgrades: u8,
    pub strips: bool,
    pub forgets: bool,
    pub hosts: bool,
    pub restores: bool,
    /// Settings to which the Cluster is edited.
    pub edits: &'static [u8],
}

/// What comes of an event.
pub enum Next {
    /// It is not possible, or changes nothing.
    Nothing,
    State(Box<State>),
    Broken(String),
}

impl Event {
    /// Whether something goes wrong, or somebody acts.
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Pass(_)
                | Self::Connect
                | Self::Goes(_)
                | Self::Waited(_)
                | Self::LostApi(_)
                | Self::Silence
                | Self::CatchUp
                | Self::Late
        )
    }

    /// Whether it uses up one of the faults: what is mended does not.
    fn counts(self) -> bool {
        self.is_fault() && !matches!(self, Self::Answers(_) | Self::Register(_))
    }
}

fn pass(state: &State, who: Who, stop: Option<(u8, Cut)>) -> Doing {
    match who {
        Who::Machine(which) => of_machine(state, which, stop),
        Who::Host(which) => of_host(state, which, stop),
        Who::Cluster => of_cluster(state, stop),
        Who::Planner => of_planner(state, stop),
    }
}

/// Everybody that has a pass.
pub fn everybody(state: &State) -> Vec<Who> {
    let known = state.known();
    let machines = (0..MOST).filter(|which| known.machines[*which].exists);
    let hosts = (0..MOST).filter(|which| known.hosts[*which].exists);
    let machines = machines.map(Who::Machine);
    machines
        .chain(hosts.map(Who::Host))
        .chain([Who::Cluster, Who::Planner])
        .collect()
}

/// Everything that may happen, with what comes of it.
pub fn all(state: &State, faults: &Faults, take: &mut impl FnMut(Event, Next)) {
    for who in everybody(state) {
        let whole = pass(state, who, None);
        let effects = whole.effects;
        take(Event::Pass(who), next(state, whole));
        let cuts = state.faults > 0 && faults.cuts;
        for at in (1..=effects).filter(|_| cuts) {
            for cut in [Cut::Killed, Cut::Unanswered] {
                // as the manager that is killed without a pass, or as the whole pass
                if (cut == Cut::Killed && at == 1) || (cut == Cut::Unanswered && at == effects) {
                    continue;
                }
                let event = Event::CutPass(who, at, cut);
                take(event, happen(state, event));
            }
        }
        let deposed = state.faults > 0 && faults.deposed && state.late.is_none();
        for at in (1..=effects).filter(|_| deposed) {
            let doing = pass(state, who, Some((at, Cut::Deposed)));
            if doing.was_late() {
                let event = Event::CutPass(who, at, Cut::Deposed);
                take(event, happen(state, event));
            }
        }
    }
    let simple = [Event::Connect, Event::CatchUp, Event::Late, Event::Silence];
    for event in simple.into_iter().chain(quiet()) {
        take(event, happen(state, event));
    }
    for event in wrong(state, faults) {
        if state.faults > 0 || !event.counts() {
            take(event, happen(state, event));
        }
    }
}

fn quiet() -> impl Iterator<Item = Event> {
    (0..MOST).flat_map(|at| [Event::Goes(at), Event::Waited(at), Event::LostApi(at)])
}

fn wrong(state: &State, faults: &Faults) -> Vec<Event> {
    let mut all = Vec::new();
    let known = &state.objects;
    let exist = |which: &usize| known.machines[*which].exists;
    if faults.cuts {
        all.push(Event::Restart);
    }
    if faults.lag {
        all.push(Event::Lag);
    }
    for host in 0..MOST {
        if faults.jobs {
            all.extend([
                Event::Fails(host),
                Event::Breaks(host, false),
                Event::Breaks(host, true),
            ]);
        }
        if faults.silence && known.hosts[host].exists {
            all.extend([Event::Silent(host), Event::Answers(host)]);
        }
        if faults.hosts {
            all.extend([Event::Unregister(host), Event::Register(host)]);
        }
    }
    for which in (0..MOST).filter(exist) {
        if faults.deletes & 1 << which != 0 {
            all.push(Event::Delete(which));
        }
        if faults.gone & 1 << which != 0 {
            all.push(Event::Gone(which));
        }
        if faults.upgrades & 1 << which != 0 {
            all.push(Event::Upgrade(which));
        }
        if faults.strips {
            all.extend([Event::Strip(which), Event::ForgetHost(which)]);
        }
    }
    if faults.forgets {
        for secret in [true, false] {
            all.extend([Event::ForgetTurn(secret), Event::ForgetRecord(secret)]);
        }
    }
    if faults.restores {
        all.push(Event::Restore);
    }
    all.extend(faults.edits.iter().map(|to| Event::Edit(*to)));
    all
}

fn next(before: &State, doing: Doing) -> Next {
    if let Some(what) = doing.broken {
        return Next::Broken(what);
    }
    let mut after = doing.state;
    after.normalise();
    changed(before, after)
}

fn changed(before: &State, after: State) -> Next {
    if *before == after {
        Next::Nothing
    } else {
        Next::State(Box::new(after))
    }
}

/// What comes of one event.
pub fn happen(state: &State, event: Event) -> Next {
    let mut after = match event {
        Event::Pass(who) => return next(state, pass(state, who, None)),
        Event::CutPass(who, at, cut) => {
            let doing = pass(state, who, Some((at, cut)));
            if let Some(what) = doing.broken {
                return Next::Broken(what);
            }
            doing.state
        }
        _ => state.clone(),
    };
    super::acts::act(&mut after, event);
    after.normalise();
    if *state == after {
        return Next::Nothing;
    }
    if event.counts() {
        let Some(left) = after.faults.checked_sub(1) else {
            return Next::Nothing;
        };
        after.faults = left;
    }
    // a lag that shows what is written is none
    if after.lag.as_deref() == Some(&after.objects) && event != Event::Lag {
        after.lag = None;
    }
    Next::State(Box::new(after))
}
