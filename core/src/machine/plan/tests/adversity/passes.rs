//! The passes of both controllers, and what their actions do.

use super::*;

impl World {
    pub(super) fn pass_away(&mut self) -> Result<(), TestCaseError> {
        let Some((server, claim)) = self.away else {
            return Ok(());
        };
        let plan = of_hosts::plan(&self.away(server, claim), at(0));
        for action in &plan.actions {
            match action {
                of_hosts::Action::Free(_) => {
                    let lives = self.servers[server].runs(claim.0);
                    prop_assert!(!lives, "a host was freed whose node runs");
                    self.away = None;
                }
                _ => prop_assert!(false, "{action:?} on a server of another namespace"),
            }
        }
        Ok(())
    }

    /// Something that can be asked, or is recorded, says that another host ran `kubeadm init`; see
    /// the turn's own tests.
    pub(super) fn is_witnessed(&self, machine: Which, server: Which) -> bool {
        let other = |(which, found): (Which, &Server)| {
            which != server && self.now.hosts[which].exists && !found.silent && found.began
        };
        let begun = |(which, found): (Which, &MachineObject)| {
            which != machine && found.settings && !found.gone
        };
        self.servers.iter().enumerate().any(other)
            || self.now.machines.iter().enumerate().any(begun)
    }

    pub(super) fn pass_machine(&mut self, which: Which) -> Result<(), TestCaseError> {
        let observed = self.machine(which);
        let plan = plan(&observed, at(0));
        says_why(&plan)?;
        for action in &plan.actions {
            if !self.perform(which, &observed, action)? {
                break;
            }
        }
        let object = &mut self.now.machines[which];
        object.node_ref |= !object.gone && matches!(observed.node, Lookup::Known(Some(_)));
        Ok(())
    }

    /// Carries an action out as `execute` does: judged on what is true now, where that matters.
    /// Says whether the next may follow.
    pub(super) fn perform(
        &mut self,
        which: Which,
        observed: &Observed,
        action: &Action,
    ) -> Result<bool, TestCaseError> {
        let index = |name: &str| HOSTS.iter().position(|host| *host == name).expect("a Host");
        let known = self.known[which].clone();
        let place = match &observed.placement {
            Placement::Held(held) => Some(index(&held.name)),
            Placement::None(_) => None,
        };
        let is_same = self.now.machines[which] == known.machines[which];
        match action {
            Action::Acquire(Acquire::Place { name, .. }) => {
                let host = index(name);
                if !is_same {
                    return Ok(false);
                }
                self.now.machines[which].chosen = Some(host);
                let live = &mut self.now.hosts[host];
                if *live != known.hosts[host] {
                    return Ok(false);
                }
                live.claim = Some((which, false));
            }
            Action::TakeHost => {
                let server = &mut self.servers[place.expect("a place")];
                if server.marker.is_none() && !server.silent {
                    server.marker = Some(which);
                    server.units.clear();
                }
            }
            Action::RunJob(name) => return Ok(self.run(which, place.expect("a place"), *name)),
            Action::TakeTurn => {
                let is_free = self.now.turn.is_none() && self.now.made_by.is_none();
                if !is_free || self.is_witnessed(which, place.expect("a place")) {
                    return Ok(false);
                }
                self.now.turn = Some(which);
            }
            Action::ReturnTurn(_) if self.now.turn == Some(which) => self.now.turn = None,
            Action::RecordInitialized if self.now.made_by.is_none() => {
                self.now.made_by = Some(which);
                self.now.turn = self.now.turn.filter(|turn| *turn != which);
            }
            Action::Release(Release::Now) => {
                let live = &mut self.now.hosts[place.expect("a place")];
                if live.claim != Some((which, false)) {
                    return Ok(false);
                }
                live.claim = Some((which, true));
            }
            Action::DeleteNode { .. } => {
                let lives = self.servers.iter().any(|server| server.runs(which));
                prop_assert!(!lives, "the Node of a server that runs was deleted");
            }
            Action::RemoveFinalizer(_) => {
                if !is_same {
                    return Ok(false);
                }
                self.now.machines[which].gone = true;
            }
            _ => (),
        }
        Ok(true)
    }

    pub(super) fn run(&mut self, which: Which, at_server: Which, name: JobKind) -> bool {
        let turn = self.now.turn == Some(which) && self.now.made_by.is_none();
        if name == JobKind::Init && (!turn || self.is_witnessed(which, at_server)) {
            return false;
        }
        if matches!(name, JobKind::Init | JobKind::Join) {
            self.now.machines[which].settings = true;
        }
        let server = &mut self.servers[at_server];
        let runs = server.units.iter().any(|(_, _, end)| end.is_none());
        if server.marker == Some(which) && !server.silent && !runs {
            server.units.retain(|(_, old, _)| *old != name);
            server.units.push((which, name, None));
            server.began |= name == JobKind::Init;
        }
        true
    }

    pub(super) fn pass_host(&mut self, which: Which) -> Result<(), TestCaseError> {
        if !self.known[UIDS.len() + which].hosts[which].exists {
            return Ok(());
        }
        let observed = self.host(which);
        let plan = of_hosts::plan(&observed, at(0));
        let known = self.known[UIDS.len() + which].hosts[which].clone();
        for action in &plan.actions {
            match action {
                of_hosts::Action::Reset(marker) => self.reset(which, marker, &known)?,
                of_hosts::Action::Free(_) if self.now.hosts[which].claim == known.claim => {
                    let (machine, _) = known.claim.expect("a claim");
                    let lives = self.servers[which].runs(machine);
                    prop_assert!(!lives, "a host was freed whose node runs");
                    self.now.hosts[which].claim = None;
                    self.now.turn = self.now.turn.filter(|turn| *turn != machine);
                }
                _ => (),
            }
        }
        let available = plan
            .findings
            .iter()
            .find(|found| found.condition == "Available");
        let available = available.expect("a finding");
        let live = &mut self.now.hosts[which];
        live.available = live.exists && available.status == Status::True;
        live.freeing = available.reason() == "Freeing";
        let marker = self.servers[which].marker;
        live.orphan_of = marker.filter(|_| live.exists && available.reason() == "Orphaned");
        prop_assert!(available.status == Status::True || !available.message().is_empty());
        Ok(())
    }

    /// The live reads of the Host's `execute`, and then the unit, which runs only where the marker
    /// is that Machine's.
    pub(super) fn reset(
        &mut self,
        which: Which,
        marker: &Marker,
        known: &HostObject,
    ) -> Result<(), TestCaseError> {
        let machine = UIDS
            .iter()
            .position(|uid| *uid == marker.uid)
            .expect("a Machine");
        let object = &self.now.machines[machine];
        let live = &self.now.hosts[which];
        let server = &mut self.servers[which];
        if live.claim != known.claim || server.marker != Some(machine) || server.silent {
            return Ok(());
        }
        if !object.gone && !object.deleted {
            return Ok(());
        }
        let is_only = self.now.made_by == Some(machine) && server.initialized;
        prop_assert!(!is_only, "the only control plane was reset");
        let runs = server.units.iter().any(|(_, _, end)| end.is_none());
        if !runs {
            *server = Server {
                units: vec![(machine, JobKind::Reset, Some(true))],
                ..Server::default()
            };
        }
        Ok(())
    }

    pub(super) fn ends(&mut self, server: Which, well: bool) {
        let server = &mut self.servers[server];
        for (_, name, end) in server.units.iter_mut().filter(|(_, _, end)| end.is_none()) {
            *end = Some(well);
            server.initialized |= well && *name == JobKind::Init;
            server.joined |= well && *name == JobKind::Join;
        }
    }
}
