//! What servers, people and time do in a state, each in one step.

use tatara_core::api::cluster::TurnAction;

use super::events::Event;
use super::state::{MOST, Machine, State, Version};

/// Carries out what is no pass.
pub fn act(state: &mut State, event: Event) {
    match event {
        Event::Pass(_) | Event::CutPass(..) => (),
        Event::Connect => state.memory.connected = true,
        Event::Goes(host) => state.goes(host),
        Event::Waited(which) => {
            if let Some((_, waits)) = &mut state.memory.backoff[which] {
                *waits = false;
            }
        }
        Event::LostApi(which) => {
            let host = state.host_of(which);
            let is_lost = host.is_some_and(|host| {
                let server = &state.servers[host];
                server.api.is_some() && !server.silent && !state.serves(host)
            });
            state.memory.lost_api[which] = is_lost;
        }
        Event::Silence => state.memory.silence_lasts |= state.has_silent_orphan(),
        Event::CatchUp => state.lag = None,
        Event::Late => state.comes_late(),
        Event::Restart => state.forget(),
        Event::Lag => {
            if state.lag.is_none() {
                state.lag = Some(Box::new(state.objects.clone()));
            }
        }
        Event::Fails(host) => state.fails(host),
        Event::Breaks(host, down) => {
            state.breaks_off(host, true, down);
        }
        Event::Silent(host) => state.servers[host].silent = true,
        Event::Answers(host) => state.servers[host].silent = false,
        _ => edit(state, event),
    }
}

/// What people do to objects.
fn edit(state: &mut State, event: Event) {
    let registered = state.registered();
    let objects = &mut state.objects;
    match event {
        Event::Delete(which) => {
            let object = &mut objects.machines[which];
            object.deleted = true;
            // nothing holds it
            if !object.adopted {
                *object = Machine::default();
            }
        }
        Event::Strip(which) => {
            let object = &mut objects.machines[which];
            if object.deleted {
                *object = Machine::default();
            }
        }
        Event::Gone(which) => objects.machines[which].is_gone = true,
        Event::ForgetTurn(secret) => {
            let marks = if secret {
                &mut objects.secret
            } else {
                &mut objects.cluster
            };
            marks.turn = marks.turn.filter(|(_, action)| *action != TurnAction::Init);
        }
        Event::ForgetRecord(true) => objects.secret.initialized = None,
        Event::ForgetRecord(false) => objects.cluster.initialized = None,
        Event::Unregister(host) => objects.hosts[host] = Default::default(),
        Event::Register(host) if host < registered => {
            objects.hosts[host].exists = true;
        }
        Event::ForgetHost(which) => objects.machines[which].chosen = None,
        Event::Upgrade(which) => objects.machines[which].upgrades(),
        Event::Edit(to) => objects.wants = to,
        Event::Restore => restore(state),
        _ => (),
    }
}

impl Machine {
    /// Somebody wants the new version of it: what was told of it is of an earlier generation.
    pub fn upgrades(&mut self) {
        if self.wants == Some(Version::Old) {
            self.wants = Some(Version::New);
            if let Some((_, _, is_current)) = &mut self.status.up_to_date {
                *is_current = false;
            }
        }
    }
}

/// All that is written, as it was. What runs on servers goes on, and a new manager knows of none of it.
fn restore(state: &mut State) {
    let Some(backup) = state.backup.take() else {
        return;
    };
    state.objects = *backup;
    state.is_restored = true;
    state.lag = None;
    for run in state
        .servers
        .iter_mut()
        .flat_map(|server| server.runs.iter_mut().flatten())
    {
        run.is_forgotten = true;
    }
    state.forget();
}

impl State {
    /// What a timer said of something that is over counts no more.
    pub fn normalise(&mut self) {
        for which in 0..MOST {
            let host = self.host_of(which).filter(|_| self.memory.lost_api[which]);
            self.memory.lost_api[which] = host.is_some_and(|host| !self.serves(host));
        }
        self.memory.silence_lasts &= self.has_silent_orphan();
    }

    /// So many servers there are: those behind the first Hosts.
    fn registered(&self) -> usize {
        let last = (0..MOST).rev().find(|host| {
            let server = &self.servers[*host];
            server.marker.is_some() || server.reset_of.is_some() || self.objects.hosts[*host].exists
        });
        last.map_or(0, |last| last + 1)
    }

    /// Whether a member belongs to no Machine, and is down.
    fn has_silent_orphan(&self) -> bool {
        let mut members = self.members.iter().flatten();
        members.any(|member| {
            let at = Some(member.host);
            let mut machines = self.objects.machines.iter();
            let has_machine = machines.any(|machine| machine.exists && machine.chosen == at);
            let server = &self.servers[usize::from(member.host)];
            !has_machine && (server.stopped || server.api.is_none())
        })
    }
}
