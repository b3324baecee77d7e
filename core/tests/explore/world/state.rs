//! The state of the world: small enums and indices, no messages and no clock. A timer is an event that may happen.

use tatara_core::api::cluster::TurnAction;
use tatara_core::api::conditions::Reason;
use tatara_core::machine::LastLook;
use tatara_core::node::JobKind;

use super::text::Text;

/// So many Machines, and Hosts, there are at most.
pub const MOST: usize = 5;
/// In the place of a Machine: the Cluster itself, which takes the turn to remove a member without a Machine.
pub const CLUSTER: u8 = 9;

/// A version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// The one before.
    Old,
    /// The next one.
    New,
}

/// The world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Faults that may still happen.
    pub faults: u8,
    /// A new manager has asked everybody before it does anything: of a world that would be too large else.
    pub is_prompt: bool,
    /// What is written in the management cluster.
    pub objects: Objects,
    /// The same, as the manager's watches showed it when they began to lag.
    pub lag: Option<Box<Objects>>,
    /// The same, as it is in a backup.
    pub backup: Option<Box<Objects>>,
    /// It was restored: what is said of Hosts may be older than what they are.
    pub is_restored: bool,
    /// What the manager that leads has in memory.
    pub memory: Memory,
    /// The start of a job that a manager had decided, which does not lead any more.
    pub late: Option<Late>,
    /// The servers behind the Hosts.
    pub servers: [Server; MOST],
    /// The members of etcd.
    pub members: [Option<Member>; MOST],
    /// The Nodes, by the server that registered them.
    pub nodes: [Option<Node>; MOST],
    /// What kubeadm's ConfigMaps have.
    pub config: Text,
}

/// What is written in the management cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Objects {
    pub machines: [Machine; MOST],
    pub hosts: [Host; MOST],
    pub secret: Marks,
    pub cluster: Marks,
    /// Why condition `ControlPlaneInitialized` of the Cluster is a doubt.
    pub doubt: Option<Reason>,
    /// The settings that the Cluster wants: one of those of the world.
    pub wants: u8,
    /// The Cluster asks for the turn, in its status.
    pub asks: bool,
    /// The annotations of the Cluster about its settings.
    pub settings: Option<Text>,
    pub writing: Option<Text>,
}

/// Turn and record on the Cluster, or on its CA Secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub turn: Option<(u8, TurnAction)>,
    pub initialized: Option<u8>,
}

impl std::hash::Hash for Marks {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let turn = self.turn.map(|(who, action)| (who, action as u8));
        (turn, self.initialized).hash(state);
    }
}

/// A Machine object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Machine {
    pub exists: bool,
    pub deleted: bool,
    pub is_control_plane: bool,
    /// It has Tatara's finalizer.
    pub adopted: bool,
    /// Annotation `tatara.dev/host`, with the provider ID.
    pub chosen: Option<u8>,
    /// Annotation `tatara.dev/kubeadm-settings`.
    pub record: Option<Text>,
    pub wants: Option<Version>,
    /// `tatara.dev/host-is-gone`, by a person.
    pub is_gone: bool,
    pub status: Status,
}

/// Of its status what decisions read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// The Node, by its server.
    pub node: Option<u8>,
    pub kubelet: Option<Version>,
    pub runs: Option<Version>,
    pub updating: Option<Reason>,
    pub draining: bool,
    /// Whether it holds, why, and whether that is of the present generation.
    pub up_to_date: Option<(Option<bool>, Reason, bool)>,
    pub bootstrap: Option<(Option<bool>, Reason)>,
    pub healthy: Option<bool>,
    /// It asks for the turn; what for, and whether that is half done.
    pub asks: Option<(TurnAction, bool)>,
}

/// A Host object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Host {
    pub exists: bool,
    /// The Machine that claims it, and whether it was released.
    pub claim: Option<(u8, bool)>,
    pub reachable: Option<bool>,
    /// Condition `Available`.
    pub available: Option<(bool, Reason)>,
    pub clean: Option<bool>,
    /// Condition `Clean` says that this Machine's marker is on it.
    pub orphan_of: Option<u8>,
}

/// A server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    /// It does not answer the manager.
    pub silent: bool,
    pub marker: Option<u8>,
    /// In the marker.
    pub initialized: bool,
    pub joined: bool,
    /// The job that ran last of each kind: see [`Run::slot`].
    pub runs: [Option<Run>; 5],
    /// The record of the reset of this Machine.
    pub reset_of: Option<u8>,
    /// kubeadm has begun here since the last reset: the key of the CA is there.
    pub begun: bool,
    /// Its API server, and its kubelet.
    pub api: Option<Version>,
    pub kubelet: Option<Version>,
    /// Its member is down.
    pub stopped: bool,
    /// etcd had no quorum anyway when it was stopped.
    pub cost_nothing: bool,
    /// The settings of kubeadm's ConfigMaps that kubeadm wrote last for its kubelet.
    pub written: Option<Text>,
    /// Those with which its kubelet started.
    pub read: Option<Text>,
}

/// A job on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    pub kind: JobKind,
    /// The Machine that it is of.
    pub of: u8,
    pub identity: Text,
    pub version: Version,
    pub state: RunState,
    /// A backup that was restored since knows nothing of it, or it was started by a manager that did not lead any more.
    pub is_forgotten: bool,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    Running(Step),
    Succeeded,
    Failed(Step),
    Interrupted(Step),
}

/// The step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Before it changes anything.
    First,
    /// kubeadm has made a member, which learns; or it changes what runs.
    Changes,
    /// The member votes; or all is made, and the marker does not say so.
    Made,
}

/// A member of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// By order of appearance.
    pub id: u8,
    /// Its server.
    pub host: u8,
    /// It has not started, and does not vote.
    pub learns: bool,
}

/// A Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The Machine of its provider ID.
    pub of: u8,
    pub kubelet: Version,
    /// By Tatara.
    pub cordoned: bool,
}

/// What the manager that leads has in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// It has read the CA Secret, lists the Nodes, and has asked etcd.
    pub connected: bool,
    pub follow: [Option<JobKind>; MOST],
    pub look: [LastLook; MOST],
    /// The last attempt of this job failed; `true` while the next one waits.
    pub backoff: [Option<(JobKind, bool)>; MOST],
    /// The API server on the host of this Machine has not served for a while.
    pub lost_api: [bool; MOST],
    /// A host showed a marker, and the key of the CA, when it was asked.
    pub sighted: [Option<(Option<u8>, bool)>; MOST],
    /// Machines of which a host or a person proved that they ended.
    pub ended: u8,
    /// The member without a Machine was silent for long enough.
    pub silence_lasts: bool,
}

impl std::hash::Hash for Memory {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let look = self.look.map(|look| match look {
            LastLook::Never => 0,
            LastLook::Silent => 1,
            LastLook::Idle => 2,
            LastLook::Runs(kind) => 3 + kind as u8,
        });
        (self.connected, self.follow, look, self.backoff).hash(state);
        (self.lost_api, self.sighted, self.ended, self.silence_lasts).hash(state);
    }
}

/// The start of a job that comes late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Late {
    pub host: u8,
    pub run: Run,
}

impl Run {
    /// Where a server keeps a job of this kind.
    pub fn slot(kind: JobKind) -> Option<usize> {
        let kinds = [
            JobKind::Prepare,
            JobKind::Init,
            JobKind::Join,
            JobKind::Upgrade,
            JobKind::Kubelet,
        ];
        kinds.iter().position(|one| *one == kind)
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, RunState::Running(_))
    }
}

impl Server {
    pub fn run(&self, kind: JobKind) -> Option<&Run> {
        self.runs[Run::slot(kind)?].as_ref()
    }

    /// The job that runs.
    pub fn running(&self) -> Option<&Run> {
        self.runs.iter().flatten().find(|run| run.is_running())
    }

    pub fn running_mut(&mut self) -> Option<&mut Run> {
        self.runs.iter_mut().flatten().find(|run| run.is_running())
    }

    /// A node of a Machine is, or may be, here.
    pub fn is_node(&self) -> bool {
        self.initialized || self.joined
    }
}

impl State {
    pub fn member_on(&self, host: usize) -> Option<Member> {
        let mut members = self.members.iter().flatten();
        members
            .find(|member| usize::from(member.host) == host)
            .copied()
    }

    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .flatten()
            .filter(|member| !member.learns)
    }

    /// Whether more than half of those that vote serve.
    pub fn has_quorum(&self) -> bool {
        let up = self
            .voters()
            .filter(|member| !self.servers[usize::from(member.host)].stopped);
        up.count() > self.voters().count() / 2
    }

    /// The host that a Machine has, by what is written.
    pub fn host_of(&self, machine: usize) -> Option<usize> {
        self.objects.host_of(machine)
    }

    /// A new manager knows nothing, but what it has asked at once.
    pub fn forget(&mut self) {
        self.memory = Memory::default();
        if self.is_prompt {
            self.memory.connected = true;
            for which in 0..MOST {
                self.memory.look[which] = self.look(which);
                self.looked(which);
            }
        }
    }

    /// What the host of a Machine shows of jobs that change a member.
    fn look(&self, which: usize) -> LastLook {
        let object = &self.objects.machines[which];
        let host = self
            .host_of(which)
            .filter(|_| object.exists && object.is_control_plane);
        let Some(server) = host.map(|host| &self.servers[host]) else {
            return LastLook::Never;
        };
        let changes = |run: &&Run| {
            JobKind::OF_MEMBER.contains(&run.kind) && !(run.kind == JobKind::Join && server.joined)
        };
        match server.running().filter(changes) {
            _ if server.silent => LastLook::Silent,
            Some(run) => LastLook::Runs(run.kind),
            None => LastLook::Idle,
        }
    }
}

impl Objects {
    /// The only host that has the claim of a Machine.
    pub fn host_of(&self, machine: usize) -> Option<usize> {
        let claims = |host: &Host| {
            let claim = host.claim.filter(|_| host.exists);
            claim.is_some_and(|(by, _)| usize::from(by) == machine)
        };
        let mut hosts = (0..MOST).filter(|host| claims(&self.hosts[*host]));
        hosts.next().filter(|_| hosts.next().is_none())
    }
}
