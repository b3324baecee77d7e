//! What the two Machines know, and what their plans and everything else do to them.

use super::*;

impl World {
    pub(super) fn new() -> Self {
        let member = Member {
            claims: true,
            ..Member::default()
        };
        Self {
            now: 0,
            states: vec![Both::default()],
            seen: Default::default(),
            writes_left: None,
            is_lost: false,
            has_moved: false,
            sites: [Site::default(), Site::default()],
            members: [member.clone(), member],
        }
    }

    pub(super) fn observed(&self, at_machine: usize) -> Observed {
        let (member, site) = (&self.members[at_machine], &self.sites[at_machine]);
        let seen = &self.seen[at_machine];
        let name = format!("cp-{at_machine}");
        let mut observed = control_plane();
        observed.machine = Arc::new(machine(&name, UIDS[at_machine], true));
        observed.marker = marker(&name, UIDS[at_machine]);
        observed = edited(
            observed,
            &json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 120 } } }),
        );
        if let Some(since) = member.deleted_at {
            observed = deleted(observed, at(since));
        }
        observed = with_cluster(observed, |cluster| {
            cluster.turn = seen.holder().cloned();
            cluster.initialized_by.clone_from(&seen.cluster.initialized);
        });
        if member.settings {
            let settings =
                json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } } });
            observed = edited(observed, &settings);
        }
        if site.unregistered {
            return lost(observed, Unheld::Missing);
        }
        if !member.claims {
            return observed;
        }
        let owner = if site.marked {
            Ownership::Owner(Owner {
                marker: observed.marker.clone(),
                initialized: site.initialized,
                joined: false,
            })
        } else {
            Ownership::Nobody
        };
        let units = site.units.iter().map(|(name, state)| {
            let state = state.clone().unwrap_or(UnitState::Running(step("one")));
            unit(&observed, *name, state)
        });
        let units = units.collect();
        observed = on(observed, owner, units);
        if let Placement::Held(held) = &mut observed.placement {
            held.releasing = member.releasing;
            if site.silent {
                held.contact = Contact::Unreachable {
                    reason: Reason::SshUnreachable,
                    message: "no answer".into(),
                };
            }
        }
        observed
    }

    pub(super) fn both(&self) -> Both {
        self.states.last().cloned().unwrap_or_default()
    }

    /// Writes of the turn, as `turn.rs` makes them; nothing when the manager was killed between two
    /// of them.
    pub(super) fn go(&mut self, decide: impl Fn(&Both) -> Step) -> Option<Step> {
        loop {
            let mut both = self.both();
            let step = decide(&both);
            let Step::Write(side, marks) = step else {
                return Some(step);
            };
            if let Some(left) = &mut self.writes_left {
                let Some(less) = left.checked_sub(1) else {
                    self.start_anew();
                    return None;
                };
                *left = less;
            }
            match side {
                Side::Secret => both.secret = marks,
                Side::Cluster => both.cluster = marks,
            }
            self.states.push(both);
        }
    }

    pub(super) fn start_anew(&mut self) {
        self.writes_left = None;
        for site in &mut self.sites {
            site.sighted = false;
        }
    }

    /// The turn, or the leave to start init, judged live: on both objects, and on what other hosts
    /// say.
    pub(super) fn takes(&mut self, machine: usize) -> bool {
        let other = &mut self.sites[1 - machine];
        other.sighted |= other.began && other.answers();
        let begun = &self.members[1 - machine];
        let is_witnessed = self.sites[1 - machine].sighted || (begun.settings && !begun.gone);
        !is_witnessed && self.go(|both| take(both, &turn_of(UIDS[machine]))) == Some(Step::Done)
    }

    pub(super) fn look_whether_all_is_lost(&mut self) {
        let both = self.both();
        let names = |uid: &str| {
            let by = [&both.secret.initialized, &both.cluster.initialized];
            both.has_turn_of(uid) || by.into_iter().flatten().any(|by| by == uid)
        };
        self.is_lost |= (0..2).any(|host| {
            let site = &self.sites[host];
            let begun = &self.members[host];
            let is_known = site.sighted || (begun.settings && !begun.gone) || names(UIDS[host]);
            site.began && !site.answers() && !is_known
        });
    }

    /// Carries an action out as `execute` does: judged on what is true now, where that matters.
    pub(super) fn perform(&mut self, machine: usize, action: &Action) {
        if *action == Action::RunJob(JobKind::Init) && !self.takes(machine) {
            return;
        }
        let (site, member) = (&mut self.sites[machine], &mut self.members[machine]);
        match action {
            // another host than the one that it had is a third, and nothing was begun on that
            Action::Acquire(Acquire::Place { .. }) if site.unregistered => {
                self.has_moved |= site.began;
            }
            Action::Acquire(Acquire::Place { .. }) => member.claims = true,
            Action::TakeHost if site.answers() => site.marked = true,
            Action::RunJob(name) if site.marked && site.answers() => {
                let running = site.units.iter().any(|(_, state)| state.is_none());
                if !running {
                    site.units.retain(|(old, _)| old != name);
                    site.units.push((*name, None));
                    site.began |= *name == JobKind::Init;
                    member.settings |= *name == JobKind::Init;
                }
            }
            Action::TakeTurn => {
                self.takes(machine);
            }
            Action::ReturnTurn(_) => {
                self.go(|both| give_back(both, UIDS[machine]));
            }
            Action::RecordInitialized => {
                self.go(|both| record(both, UIDS[machine]));
            }
            Action::Release(Release::Now) => member.releasing = true,
            Action::RemoveFinalizer(_) => member.gone = true,
            _ => (),
        }
    }

    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::Pass { machine, fresh } if !self.members[machine].gone => {
                if fresh {
                    self.seen[machine] = self.both();
                }
                let site = &mut self.sites[machine];
                site.sighted |= site.began && site.answers();
                let plan = plan(&self.observed(machine), at(self.now));
                for action in &plan.actions {
                    self.perform(machine, action);
                }
            }
            Event::Ends { host, well } => {
                let site = &mut self.sites[host];
                for (name, state) in site.units.iter_mut().filter(|(_, state)| state.is_none()) {
                    *state = Some(if well {
                        UnitState::Succeeded
                    } else {
                        failure("no")
                    });
                    site.initialized |= well && *name == JobKind::Init;
                }
            }
            Event::PowerCut { host } => {
                for (_, state) in &mut self.sites[host].units {
                    state.get_or_insert(UnitState::Interrupted(step("one")));
                }
            }
            Event::Cable { host } => self.sites[host].silent ^= true,
            Event::Lose { host } => {
                let site = &mut self.sites[host];
                site.unregistered ^= true;
                // what a Host said goes with it
                site.sighted = false;
            }
            Event::Strip { machine } => {
                self.members[machine].gone |= self.members[machine].deleted_at.is_some();
            }
            Event::Look { host } => self.look(host),
            Event::Delete { machine } => {
                self.members[machine].deleted_at.get_or_insert(self.now);
            }
            Event::Reset { host } => self.reset(host),
            Event::Minute => self.now += 60,
            Event::Crash { writes } => self.writes_left = Some(writes),
            Event::Settle => {
                self.go(settle);
            }
            Event::Edit { side, to } => {
                let mut both = self.both();
                let turn = to.map_or(Holder::Nobody, |to| Holder::Of(turn_of(UIDS[to])));
                match side {
                    Side::Secret => both.secret.turn = turn,
                    Side::Cluster => both.cluster.turn = turn,
                }
                self.states.push(both);
            }
            Event::Restore { what, then } => {
                let then = self.states[then % self.states.len()].clone();
                let both = match what {
                    None => then,
                    Some(Side::Secret) => Both {
                        secret: then.secret,
                        ..self.both()
                    },
                    Some(Side::Cluster) => Both {
                        cluster: then.cluster,
                        ..self.both()
                    },
                };
                self.states.push(both);
            }
            Event::Pass { .. } => (),
        }
    }

    /// It has the control plane of the Cluster, which stays; see the Host's `guarded`.
    pub(super) fn guards(&self, host: usize) -> bool {
        let by = self.both().cluster.initialized;
        self.sites[host].initialized && by.is_none_or(|by| by == UIDS[host])
    }

    /// What the Host's controller proves of a Machine that does not exist: by the marker, and where
    /// no other host has the key.
    pub(super) fn look(&mut self, host: usize) {
        let [site, other] = [&self.sites[host], &self.sites[1 - host]];
        let is_proven = site.initialized && site.answers() && !other.sighted;
        if self.members[host].gone && is_proven && self.both().cluster.initialized.is_none() {
            self.go(|both| record_found(both, UIDS[host]));
        }
    }

    /// What the Host's controller does: the reset, of which the host keeps the record; and the
    /// claim, once its Machine is gone.
    pub(super) fn reset(&mut self, host: usize) {
        if !self.members[host].releasing || !self.sites[host].answers() || self.guards(host) {
            return;
        }
        self.sites[host] = Site {
            units: vec![(JobKind::Reset, Some(UnitState::Succeeded))],
            ..Site::default()
        };
        if self.members[host].gone {
            if self.go(|both| give_back(both, UIDS[host])).is_none() {
                return;
            }
            self.members[host].claims = false;
            self.members[host].releasing = false;
        }
    }
}
