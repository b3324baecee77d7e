//! Jobs on servers: what is asked just before one starts, and what each step does to the server, its Node and etcd.

use tatara_core::api::cluster::TurnAction;
use tatara_core::machine::live::{self, Check, check, etcd, settings};
use tatara_core::machine::plan::update::may_restart;
use tatara_core::machine::{Observed, Placement, units};
use tatara_core::node::JobKind;

use super::build::{host_named, version_of};
use super::pass::Doing;
use super::perform::{holds, takes};
use super::state::{Late, Node, Run, RunState, State, Step, Version};
use super::text::Text;

/// Starts the job of a Machine, or attaches to it. Whether the next action may follow.
pub fn run(doing: &mut Doing, which: usize, observed: &Observed, kind: JobKind) -> bool {
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let host = host_named(&held.name);
    let server = doing.state.servers[host];
    match server.running() {
        // it waits for the host's lock
        Some(running) if running.kind != kind => return true,
        Some(_) => {
            doing.state.memory.follow[which] = Some(kind);
            return true;
        }
        None => (),
    }
    if !may_start(doing, observed, kind) {
        return false;
    }
    if live::records_settings(observed) && !records(doing, which, observed, kind) {
        return false;
    }
    let is_its = server.marker.is_some_and(|of| usize::from(of) == which);
    if server.silent || !is_its {
        return false;
    }
    let run = Run {
        kind,
        of: u8::try_from(which).expect("few"),
        identity: identity(observed, kind),
        version: wanted(observed),
        state: RunState::Running(Step::First),
        is_forgotten: false,
    };
    let late = Late {
        host: u8::try_from(host).expect("few"),
        run,
    };
    let goes_on = doing.starts(late, |state| state.start(host, run));
    if goes_on {
        doing.state.memory.follow[which] = Some(kind);
    }
    goes_on
}

fn wanted(observed: &Observed) -> Version {
    let versions = observed.machine.versions();
    version_of(versions.map_or("", |versions| versions.kubelet.as_str()))
}

fn identity(observed: &Observed, kind: JobKind) -> Text {
    let unit = match kind {
        JobKind::Prepare => units::prepare(observed),
        JobKind::Upgrade => units::upgrade(observed),
        JobKind::Kubelet => units::kubelet(observed),
        _ => return Text::of(""),
    };
    Text::of(&unit.map(|unit| unit.identity).unwrap_or_default())
}

/// What is read live just before a job starts.
fn may_start(doing: &mut Doing, observed: &Observed, kind: JobKind) -> bool {
    match check(observed, kind) {
        Check::None | Check::Record => true,
        Check::Init => takes(doing, observed),
        Check::Join => {
            holds(doing, observed, TurnAction::Join) && {
                let members = doing.state.members_now();
                etcd::may_join(observed, members.as_ref().map_err(Clone::clone)).is_ok()
            }
        }
        Check::Update => {
            holds(doing, observed, TurnAction::Upgrade) && {
                let members = doing.state.members_now().map(std::sync::Arc::new);
                may_restart(observed, members.as_ref().map_err(Clone::clone)).is_ok()
            }
        }
    }
}

/// Writes down what the node is about to be made with.
fn records(doing: &mut Doing, which: usize, observed: &Observed, kind: JobKind) -> bool {
    let of_others = || super::settings::made_with(&doing.state, observed);
    let Some(record) = settings::created_with(observed, kind, of_others) else {
        return true;
    };
    let record = Text::of(&record);
    if kind == JobKind::Init && !super::settings::on_cluster(doing) {
        return false;
    }
    let objects = &doing.state.objects;
    objects.machines[which].record == Some(record)
        || doing.effect(|state| state.objects.machines[which].record = Some(record))
}

impl State {
    /// A job begins on a server.
    pub fn start(&mut self, host: usize, run: Run) {
        let server = &mut self.servers[host];
        server.begun |= run.kind == JobKind::Init
            || (run.kind == JobKind::Join
                && self.objects.machines[usize::from(run.of)].is_control_plane);
        if let Some(slot) = Run::slot(run.kind) {
            server.runs[slot] = Some(run);
        }
    }

    /// What a manager that does not lead any more had decided comes to the server, which nobody has looked at since, and which compares
    /// its marker.
    pub fn comes_late(&mut self) {
        let Some(late) = self.late else {
            return;
        };
        let host = usize::from(late.host);
        let server = &self.servers[host];
        if server.silent || server.marker != Some(late.run.of) {
            self.late = None;
        } else if server.running().is_none() {
            self.late = None;
            self.start(host, late.run);
        } else if server
            .running()
            .is_some_and(|run| run.kind == late.run.kind)
        {
            self.late = None;
        }
    }

    /// The job on a host comes one step further.
    pub fn goes(&mut self, host: usize) {
        let has_quorum = self.has_quorum();
        let Some(run) = self.servers[host].running().copied() else {
            return;
        };
        let RunState::Running(step) = run.state else {
            return;
        };
        let of = usize::from(run.of);
        let is_plane = self.objects.machines[of].is_control_plane;
        // its API is away
        if run.kind == JobKind::Join && !has_quorum {
            return self.fails(host);
        }
        let next = match (run.kind, step) {
            (JobKind::Init, Step::First) | (JobKind::Join, Step::Changes) => Some(Step::Made),
            (JobKind::Join | JobKind::Upgrade, Step::First) if is_plane => Some(Step::Changes),
            (JobKind::Kubelet, Step::First) => Some(Step::Changes),
            _ => None,
        };
        if let Some(running) = self.servers[host].running_mut() {
            running.state = next.map_or(RunState::Succeeded, RunState::Running);
        }
        self.step(host, &run, next, has_quorum);
        if next.is_none() {
            self.ended(of, run.kind, true);
        }
    }

    fn step(&mut self, host: usize, run: &Run, next: Option<Step>, has_quorum: bool) {
        let config = self.config;
        let is_plane = self.objects.machines[usize::from(run.of)].is_control_plane;
        let adds = matches!(
            (run.kind, next),
            (JobKind::Init, Some(_)) | (JobKind::Join, Some(Step::Changes))
        );
        if adds && self.member_on(host).is_none() {
            self.add_member(host);
        }
        let votes = matches!(
            (run.kind, next),
            (JobKind::Init | JobKind::Join, Some(Step::Made))
        );
        if votes {
            let mut members = self.members.iter_mut().flatten();
            if let Some(member) = members.find(|member| usize::from(member.host) == host) {
                member.learns = false;
            }
        }
        let server = &mut self.servers[host];
        let stops =
            next.is_some() && is_plane && matches!(run.kind, JobKind::Upgrade | JobKind::Kubelet);
        if !server.stopped {
            server.cost_nothing = stops && !has_quorum;
        }
        server.stopped = stops;
        match (run.kind, next) {
            (JobKind::Init | JobKind::Join, Some(Step::Made)) => server.api = Some(run.version),
            (JobKind::Init | JobKind::Join, None) => {
                server.initialized = run.kind == JobKind::Init;
                server.joined = run.kind == JobKind::Join;
                server.kubelet = Some(run.version);
                (server.written, server.read) = (Some(config), Some(config));
                self.nodes[host] = Some(Node {
                    of: run.of,
                    kubelet: run.version,
                    cordoned: false,
                });
            }
            (JobKind::Upgrade, None) => {
                server.written = Some(config);
                if is_plane {
                    server.api = Some(run.version);
                }
            }
            (JobKind::Kubelet, None) => {
                server.kubelet = Some(run.version);
                server.read = server.written;
                if let Some(node) = &mut self.nodes[host] {
                    node.kubelet = run.version;
                }
            }
            (JobKind::Prepare, None) => server.kubelet = Some(run.version),
            _ => (),
        }
    }

    /// A job has ended: who follows it knows at once.
    fn ended(&mut self, of: usize, kind: JobKind, well: bool) {
        let follows = self.memory.follow[of].take().is_some();
        if well {
            self.memory.backoff[of] = None;
        } else if follows {
            self.memory.backoff[of] = Some((kind, true));
        }
    }

    /// A step of the job on a host fails.
    pub fn fails(&mut self, host: usize) {
        self.breaks_off(host, false, false);
    }

    /// The job on a host fails, or is cut; what it has stopped may stay so.
    pub fn breaks_off(&mut self, host: usize, cut: bool, down: bool) {
        let Some(run) = self.servers[host].running().copied() else {
            return;
        };
        let RunState::Running(step) = run.state else {
            return;
        };
        let server = &mut self.servers[host];
        if let Some(running) = server.running_mut() {
            running.state = if cut {
                RunState::Interrupted(step)
            } else {
                RunState::Failed(step)
            };
        }
        let votes = step == Step::Made;
        server.stopped = down && (server.stopped || votes);
        self.ended(usize::from(run.of), run.kind, false);
    }

    /// The reset of a host for its Machine: what is on it is gone for good.
    pub fn reset(&mut self, host: usize, of: u8) {
        let left = self.member_on(host);
        if let Some(left) = left.filter(|_| self.objects.secret.initialized.is_none()) {
            self.remove_member(left.id);
        }
        let silent = self.servers[host].silent;
        self.servers[host] = super::state::Server {
            silent,
            reset_of: Some(of),
            ..super::state::Server::default()
        };
    }
}
