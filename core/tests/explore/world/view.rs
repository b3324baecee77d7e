//! What a pass over a Machine reads, and nothing else: by this its plan is remembered.

use tatara_core::machine::LastLook;
use tatara_core::node::JobKind;

use super::state::{Host, MOST, Machine, Marks, Member, Node, Objects, Server, State, Version};
use super::text::Text;
use tatara_core::api::conditions::Reason;

/// What a pass over a Machine reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub which: usize,
    pub own: Machine,
    /// The other Machines; of each what its neighbours read.
    pub others: [Option<Machine>; MOST],
    /// The Hosts that have its claim.
    pub claims: u8,
    /// The host that it has; of the others nothing is read then.
    pub held: Option<usize>,
    pub hosts: [Host; MOST],
    /// What the server shows that it has, or has chosen.
    pub server: Option<(usize, Server)>,
    /// Whether the Nodes are listed, and the API serves.
    pub nodes_read: Read,
    pub nodes: [Option<Node>; MOST],
    /// Servers whose node runs, so that its Node is Ready.
    pub ready: u8,
    /// Servers that answer, with the marker of a Machine.
    pub marked: [Option<u8>; MOST],
    pub cluster: Scope,
    pub members_read: Read,
    pub members: [Option<Member>; MOST],
    /// Members that serve, and can be asked, by their server.
    pub healthy: u8,
    /// The API server beside it.
    pub api: Option<(Version, Serving)>,
    /// The lowest version of the API servers.
    pub lowest: Option<Version>,
    pub follows: [Option<JobKind>; MOST],
    pub looks: [LastLook; MOST],
    pub backoff: Option<(JobKind, bool)>,
}

/// Of the Cluster and its CA Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    pub secret: Marks,
    pub cluster: Marks,
    pub doubt: Option<Reason>,
    pub wants: u8,
    pub settings: Option<Text>,
    pub writing: Option<Text>,
}

/// Whether something could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// Not yet, since the manager started.
    NotYet,
    Fails,
    Known,
}

/// How an API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Serving {
    Serves,
    /// It does not, since a moment.
    Fails,
    /// It has not for a while.
    Lost,
}

impl std::hash::Hash for View {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.which, &self.own, &self.others, self.claims).hash(state);
        (self.held, &self.hosts, &self.server).hash(state);
        (self.nodes_read, &self.nodes, self.ready).hash(state);
        (&self.marked, &self.cluster).hash(state);
        (self.members_read, &self.members, self.healthy).hash(state);
        (self.api, self.lowest, self.follows, self.backoff).hash(state);
        let look = self.looks.map(|look| match look {
            LastLook::Never => 0,
            LastLook::Silent => 1,
            LastLook::Idle => 2,
            LastLook::Runs(kind) => 3 + kind as u8,
        });
        look.hash(state);
    }
}

impl State {
    /// The objects as the watches show them.
    pub fn known(&self) -> &Objects {
        self.lag.as_deref().unwrap_or(&self.objects)
    }

    /// What a pass over a Machine reads now.
    pub fn view(&self, which: usize) -> View {
        let known = self.known();
        let held = known.host_of(which);
        let own = known.machines[which];
        let claims = (0..MOST).filter(|host| {
            let host = &known.hosts[*host];
            host.exists && host.claim.is_some_and(|(by, _)| usize::from(by) == which)
        });
        let claims = claims.fold(0, |all, host| all | 1 << host);
        let mut hosts = known.hosts;
        if let Some(held) = held {
            for (at, host) in hosts.iter_mut().enumerate() {
                if at != held {
                    *host = Host::default();
                }
            }
        }
        let asked = held.or(own.chosen.map(usize::from));
        let (nodes_read, members_read) = match (self.memory.connected, self.has_quorum()) {
            (false, _) => (Read::NotYet, Read::NotYet),
            (true, false) => (Read::Fails, Read::Fails),
            (true, true) => (Read::Known, Read::Known),
        };
        let is_plane = own.is_control_plane;
        let mut others = known
            .machines
            .map(|machine| machine.exists.then_some(machine));
        others[which] = None;
        for other in others.iter_mut().flatten() {
            other.adopted = true;
        }
        View {
            which,
            own,
            others,
            claims,
            held,
            hosts,
            server: asked.map(|host| (host, self.servers[host])),
            nodes_read,
            nodes: if nodes_read == Read::Known {
                self.nodes
            } else {
                Default::default()
            },
            ready: self.ready(),
            marked: self
                .servers
                .map(|server| server.marker.filter(|_| !server.silent)),
            cluster: Scope {
                secret: if self.memory.connected {
                    known.secret
                } else {
                    Marks::default()
                },
                cluster: known.cluster,
                doubt: known.doubt,
                wants: known.wants,
                settings: known.settings,
                writing: known.writing,
            },
            members_read: if is_plane { members_read } else { Read::NotYet },
            members: if is_plane && members_read == Read::Known {
                self.members
            } else {
                Default::default()
            },
            healthy: if is_plane { self.healthy() } else { 0 },
            api: held
                .filter(|_| is_plane)
                .and_then(|host| self.api(which, host)),
            lowest: self.lowest(),
            follows: self.memory.follow,
            looks: self.memory.look,
            backoff: self.memory.backoff[which],
        }
    }

    /// The members that serve, and are asked through the host of a Machine that the manager reaches.
    pub fn healthy(&self) -> u8 {
        let is_up = |member: &&Member| {
            let host = usize::from(member.host);
            let server = &self.servers[host];
            let claim = self.objects.hosts[host].claim;
            let is_known =
                claim.is_some_and(|(by, _)| self.objects.machines[usize::from(by)].exists);
            !member.learns && !server.stopped && !server.silent && is_known
        };
        let up = self.members.iter().flatten().filter(is_up);
        up.fold(0, |all, member| all | 1 << member.host)
    }

    /// The servers whose kubelet reports.
    pub fn ready(&self) -> u8 {
        let servers = self.servers.iter().enumerate();
        let run = servers.filter(|(_, server)| server.is_node());
        run.fold(0, |all, (host, _)| all | 1 << host)
    }

    /// Whether the API server on a host serves.
    pub fn serves(&self, host: usize) -> bool {
        let server = &self.servers[host];
        let votes = self.member_on(host).is_some_and(|member| !member.learns);
        server.api.is_some() && votes && !server.stopped && self.has_quorum()
    }

    /// What is known of the API server beside a Machine; nothing before it was asked.
    fn api(&self, which: usize, host: usize) -> Option<(Version, Serving)> {
        let server = &self.servers[host];
        let version = server.api.filter(|_| self.memory.connected)?;
        let serving = if server.silent || !self.serves(host) {
            if self.memory.lost_api[which] && !server.silent {
                Serving::Lost
            } else {
                Serving::Fails
            }
        } else {
            Serving::Serves
        };
        Some((version, serving))
    }

    fn lowest(&self) -> Option<Version> {
        let voters = self.voters();
        let all = voters.filter_map(|member| self.servers[usize::from(member.host)].api);
        all.min()
    }
}
