//! How a world begins: Hosts, Machines that run already, and Machines that somebody has just made.

use tatara_core::machine::LastLook;
use tatara_core::node::JobKind;
use tatara_core::settings;

use crate::world::rest::{calm, round};
use crate::world::scope::cluster_spec;
use crate::world::state::{Machine, Member, Node, Run, RunState, Server, State, Version};
use crate::world::text::Text;

/// Something that somebody does.
type Change = Box<dyn Fn(&mut State)>;

/// A world in the making.
pub struct Setup {
    state: State,
    /// What happens once the rest is at rest.
    later: Vec<Change>,
}

impl Setup {
    /// So many faults, and so many clean Hosts.
    pub fn new(faults: u8, hosts: usize) -> Self {
        let settings = Text::of(&settings::text(&settings::of_cluster(cluster_spec(0)), 0));
        let mut state = State {
            faults,
            is_prompt: false,
            objects: Default::default(),
            lag: None,
            backup: None,
            is_restored: false,
            memory: Default::default(),
            late: None,
            servers: Default::default(),
            members: Default::default(),
            nodes: Default::default(),
            config: settings,
        };
        for host in state.objects.hosts.iter_mut().take(hosts) {
            host.exists = true;
        }
        Self {
            state,
            later: Vec::new(),
        }
    }

    /// A new manager asks everybody at once.
    pub fn prompt(&mut self) {
        self.state.is_prompt = true;
    }

    /// A Machine that somebody has made.
    pub fn wants(&mut self, which: usize, is_control_plane: bool) {
        self.state.objects.machines[which] = Machine {
            exists: true,
            is_control_plane,
            wants: Some(Version::Old),
            ..Machine::default()
        };
    }

    /// A control plane that runs on a host. The first one ran kubeadm init.
    pub fn runs(&mut self, which: usize, host: usize) {
        self.joined(which, host, true);
    }

    /// A worker that runs on a host.
    pub fn works(&mut self, which: usize, host: usize) {
        self.joined(which, host, false);
    }

    fn joined(&mut self, which: usize, host: usize, is_plane: bool) {
        self.wants(which, is_plane);
        let (of, at) = (
            u8::try_from(which).expect("few"),
            u8::try_from(host).expect("few"),
        );
        let is_first = self.state.objects.cluster.initialized.is_none();
        let settings = self.state.config;
        if is_first {
            self.state.objects.settings = Some(settings);
            self.state.objects.cluster.initialized = Some(of);
            self.state.objects.secret.initialized = Some(of);
        }
        let object = &mut self.state.objects.machines[which];
        (object.adopted, object.chosen) = (true, Some(at));
        let unit = if is_first {
            JobKind::Init
        } else {
            JobKind::Join
        };
        let record = settings::of(cluster_spec(0), unit, is_plane, None);
        object.record = Some(Text::of(&record.to_string()));
        self.state.objects.hosts[host].claim = Some((of, false));
        let server = &mut self.state.servers[host];
        (server.marker, server.begun) = (Some(of), is_plane);
        (server.initialized, server.joined) = (is_first, !is_first);
        (server.api, server.kubelet) = (is_plane.then_some(Version::Old), Some(Version::Old));
        (server.written, server.read) = (Some(settings), Some(settings));
        let done = |kind| Run {
            kind,
            of,
            identity: Text::of(""),
            version: Version::Old,
            state: RunState::Succeeded,
            is_forgotten: false,
        };
        for kind in [JobKind::Prepare, unit] {
            if let Some(slot) = Run::slot(kind) {
                server.runs[slot] = Some(done(kind));
            }
        }
        let mut free = self.state.members.iter_mut();
        if let Some(slot) = free.find(|slot| is_plane && slot.is_none()) {
            *slot = Some(Member {
                id: at,
                host: at,
                learns: false,
            });
        }
        self.state.nodes[host] = Some(Node {
            of,
            kubelet: Version::Old,
            cordoned: false,
        });
        self.state.memory.look[which] = LastLook::Idle;
    }

    /// Its server does not answer, and its member is down.
    pub fn silent(&mut self, host: usize) {
        self.later.push(Box::new(move |state| {
            state.servers[host].silent = true;
            state.servers[host].stopped = true;
            state.servers[host].cost_nothing = true;
        }));
    }

    /// Somebody has deleted a Machine.
    pub fn deleted(&mut self, which: usize) {
        self.later.push(Box::new(move |state| {
            state.objects.machines[which].deleted = true;
        }));
    }

    /// The Machine of a control plane, its Host and its server are gone; its member is not.
    pub fn orphaned(&mut self, which: usize) {
        self.later.push(Box::new(move |state| {
            state.objects.machines[which] = Machine::default();
            state.objects.hosts[which] = Default::default();
            state.servers[which] = Server {
                silent: true,
                stopped: true,
                cost_nothing: true,
                ..Server::default()
            };
        }));
    }

    /// A backup of the management cluster as it is now, for whoever restores it later.
    pub fn backed_up(&mut self) {
        let objects = self.state.objects.clone();
        self.state.backup = Some(Box::new(objects));
    }

    /// Some time passes in which nothing goes wrong.
    pub fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.state = round(&self.state).expect("a world that begins well");
        }
    }

    /// Somebody changes something once the rest is at rest.
    pub fn later(&mut self, change: impl Fn(&mut State) + 'static) {
        self.later.push(Box::new(change));
    }

    /// The world at rest, but for what somebody has just made: those Machines are left out until then.
    pub fn done(self) -> State {
        let made = self.state.objects.machines;
        let is_new = |machine: &Machine| machine.exists && machine.chosen.is_none();
        let mut now = calm(&self.state);
        for machine in &mut now.objects.machines {
            if is_new(machine) {
                *machine = Machine::default();
            }
        }
        for _ in 0..20 {
            now = round(&now).expect("a world that begins well");
        }
        for (machine, made) in now.objects.machines.iter_mut().zip(made) {
            if is_new(&made) {
                *machine = made;
            }
        }
        for change in &self.later {
            change(&mut now);
        }
        now.faults = self.state.faults;
        now
    }
}
