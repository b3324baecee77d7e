//! What happens, and to whom: by people, by backups, by servers and networks.

use super::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A pass over a Machine; it may know the objects as they were when they were last looked at.
    Machine { which: Which, fresh: bool },
    /// A pass over a Host.
    Host { which: Which, fresh: bool },
    /// What runs on a server ends, well or not.
    Ends { server: Which, well: bool },
    /// A server stops answering, or answers again.
    Cable { server: Which },
    /// Somebody deletes a Machine.
    Delete { which: Which },
    /// Somebody takes the finalizers off a Host and deletes it.
    ForceDelete { host: Which },
    /// Somebody registers a Host again.
    Register { host: Which },
    /// Somebody removes a claim.
    Unclaim { host: Which },
    /// Somebody sets `releasing`, or takes it back.
    Releasing { host: Which },
    /// Somebody makes a Host from the YAML of another, claim and all.
    Copy { from: Which, to: Which },
    /// Somebody makes a Host of another namespace from the YAML of one here, claim and all: it
    /// stands for the same server.
    Away { from: Which },
    /// Somebody sets `releasing` there, or takes it back.
    AwayReleasing,
    /// A pass over that Host.
    AwayHost,
    /// Somebody edits a Machine: what was recorded on it, or whether it is a control plane.
    Edit { which: Which, what: u8 },
    /// Somebody takes the turn off the Cluster and its CA Secret.
    DropTurn,
    /// Somebody makes a backup.
    Backup,
    /// Somebody restores it.
    Restore,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let (m, h) = (|| 0..UIDS.len(), || 0..HOSTS.len());
    prop_oneof![
        12 => (m(), any::<bool>()).prop_map(|(which, fresh)| Event::Machine { which, fresh }),
        10 => (h(), any::<bool>()).prop_map(|(which, fresh)| Event::Host { which, fresh }),
        8 => (h(), prop::bool::weighted(0.8)).prop_map(|(server, well)| Event::Ends { server, well }),
        1 => h().prop_map(|server| Event::Cable { server }),
        2 => m().prop_map(|which| Event::Delete { which }),
        1 => h().prop_map(|host| Event::ForceDelete { host }),
        2 => h().prop_map(|host| Event::Register { host }),
        1 => h().prop_map(|host| Event::Unclaim { host }),
        1 => h().prop_map(|host| Event::Releasing { host }),
        1 => (h(), h()).prop_map(|(from, to)| Event::Copy { from, to }),
        1 => h().prop_map(|from| Event::Away { from }),
        1 => Just(Event::AwayReleasing),
        2 => Just(Event::AwayHost),
        1 => (m(), 0..4_u8).prop_map(|(which, what)| Event::Edit { which, what }),
        1 => Just(Event::DropTurn),
        1 => Just(Event::Backup),
        1 => Just(Event::Restore),
    ]
}

impl World {
    /// Whoever could say that init was begun can be asked.
    pub(super) fn can_be_asked(&self) -> bool {
        let began = self
            .servers
            .iter()
            .enumerate()
            .filter(|(_, server)| server.began);
        began
            .into_iter()
            .all(|(which, server)| self.now.hosts[which].exists && !server.silent)
    }

    /// Without this Host it is still recorded that init was begun on its server, if it was.
    pub(super) fn is_known_without(&self, host: Which) -> bool {
        let server = &self.servers[host];
        let names = |machine: Which| {
            let object = &self.now.machines[machine];
            let by = [self.now.turn, self.now.made_by];
            by.contains(&Some(machine)) || (object.settings && !object.gone)
        };
        !server.began || server.marker.is_some_and(names)
    }

    pub(super) fn happen(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Machine { which, fresh } => {
                if fresh || self.now.machines[which].gone {
                    self.known[which] = self.now.clone();
                }
                if !self.known[which].machines[which].gone {
                    self.pass_machine(which)?;
                }
            }
            Event::Host { which, fresh } => {
                if fresh {
                    self.known[UIDS.len() + which] = self.now.clone();
                }
                self.pass_host(which)?;
            }
            Event::Ends { server, well } => self.ends(server, well),
            Event::Cable { server }
                if self.servers[server].silent || !self.servers[server].began =>
            {
                self.servers[server].silent ^= true;
            }
            Event::Delete { which } => self.now.machines[which].deleted = true,
            Event::ForceDelete { host } if self.is_known_without(host) => {
                self.now.hosts[host] = HostObject::default();
            }
            Event::Register { host } => self.now.hosts[host].exists = true,
            Event::Unclaim { host } => self.now.hosts[host].claim = None,
            Event::Releasing { host } => {
                if let Some((_, releasing)) = &mut self.now.hosts[host].claim {
                    *releasing ^= true;
                }
            }
            Event::Copy { from, to } if self.now.hosts[to].claim.is_none() => {
                self.now.hosts[to].claim = self.now.hosts[from].claim;
            }
            Event::Away { from } => {
                self.away = self.now.hosts[from].claim.map(|claim| (from, claim));
            }
            Event::AwayReleasing => {
                if let Some((_, (_, releasing))) = &mut self.away {
                    *releasing ^= true;
                }
            }
            Event::AwayHost => self.pass_away()?,
            Event::Edit { which, what } => {
                let machine = &mut self.now.machines[which];
                match what {
                    0 => machine.chosen = None,
                    1 if self.servers.iter().all(|server| !server.began) => {
                        machine.settings = false;
                    }
                    2 => machine.node_ref = false,
                    _ => machine.stripped ^= true,
                }
            }
            Event::DropTurn if self.can_be_asked() => self.now.turn = None,
            Event::Backup => self.backup = Some(self.now.clone()),
            Event::Restore if self.can_be_asked() => self.restore(),
            _ => (),
        }
        Ok(())
    }

    /// Everything in the management cluster is as it was; the manager starts anew.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            self.now = backup;
            self.known = std::array::from_fn(|_| self.now.clone());
        }
    }
}
