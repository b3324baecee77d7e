//! The passes over Machines, and what their actions do: judged on what is true now, where the
//! controller reads it live.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::jobs::FIRST;
use super::*;
use crate::api::conditions::merge;
use crate::control_plane::turn::{Marks, Side, Step, give_back, hold, take};
use crate::machine::live::etcd::{self, Removal};
use crate::machine::live::turn::{self, Outcome};
use crate::machine::live::{Check, check};
use crate::machine::plan::{self, update};
use crate::machine::{reported, status};
use crate::{Plan as _, Reports, planner};

impl World {
    pub(super) fn pass(&mut self, which: usize) -> Result<(), TestCaseError> {
        if !self.objects[which].exists {
            return Ok(());
        }
        let observed = self.observed(which);
        self.memory[which].look = observed.last_look;
        let plan = plan(&observed, at(self.now));
        if plan.actions.is_empty() || plan.reports() == Reports::First {
            self.report(which, &observed, &plan);
        }
        for action in &plan.actions {
            if !self.perform(which, &observed, action)? {
                if self.effects_left != Some(0) {
                    self.report(which, &observed, &plan);
                }
                return Ok(());
            }
        }
        match plan::after(&observed, &plan, |_| (), at(self.now)) {
            Some((after, ended)) => self.report(which, &after, &ended),
            None => self.report(which, &observed, &plan),
        }
        Ok(())
    }

    fn report(&mut self, which: usize, observed: &Observed, plan: &Plan) {
        if plan.hands_off || !self.spend() {
            return;
        }
        let object = &mut self.objects[which];
        let mut status = status::status(observed, plan, &object.status, at(self.now));
        let generation = Some(object.generation);
        status.conditions = merge(&status.conditions, &plan.findings, generation, at(self.now));
        status::record(observed, &mut status, plan, at(self.now));
        reported::stamp(&mut status, at(self.now));
        object.status = status;
    }

    /// One more effect; `false` once the manager is killed. The next one knows what is written, and
    /// what it reads.
    fn spend(&mut self) -> bool {
        match &mut self.effects_left {
            None => true,
            Some(0) => {
                self.forget();
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// A new manager knows what is written alone.
    pub(super) fn forget(&mut self) {
        self.memory = Default::default();
        self.known = Known {
            // the Secret is not read yet
            both: Both {
                secret: Marks::default(),
                ..self.both.clone()
            },
            etcd: Lookup::NotYet("not asked yet".into()),
            components: Default::default(),
        };
    }

    /// Writes of the turn, one at a time, as `turn.rs` makes them.
    fn go(&mut self, decide: impl Fn(&Both) -> Step) -> Step {
        loop {
            self.known.both = self.both.clone();
            match decide(&self.both) {
                Step::Write(side, marks) if self.spend() => match side {
                    Side::Secret => self.both.secret = marks,
                    Side::Cluster => self.both.cluster = marks,
                },
                step => return step,
            }
        }
    }

    fn holds(&mut self, observed: &Observed, action: TurnAction) -> bool {
        let wanted = turn::wanted(observed, action);
        let step = self.go(|both| hold(both, &wanted));
        let cluster = observed.cluster.as_ref().expect("a cluster");
        turn::taken(&observed.marker, &cluster.uid, action, step) == Outcome::Yes
    }

    /// A pass of the planner, by what is known.
    pub(super) fn plan_turns(&mut self) {
        let all = self.objects.iter().enumerate();
        let seats = all
            .filter(|(_, object)| object.exists)
            .map(|(which, object)| {
                let mut of = machine(&format!("cp-{which}"), UIDS[which], true);
                of.metadata.deletion_timestamp = object.deleted.then(|| Time(at(0)));
                let status = Some(object.status.clone());
                let known = match &self.known.etcd {
                    Lookup::Known(members) => Some(members.as_ref()),
                    _ => None,
                };
                planner::Seat {
                    uid: UIDS[which].into(),
                    name: format!("cp-{which}"),
                    wants: planner::Wants::of(&Machine { status, ..of }, false),
                    is_begun: object.begun,
                    runs: self.known_job(which),
                    look: self.memory[which].look,
                    member: planner::MemberView::of(known, &[&address(which)], &[]),
                }
            });
        let observed = planner::Observed {
            cluster: ("default".into(), "a".into()),
            both: Some(self.known.both.clone()),
            uid: "cluster".into(),
            has_orphan: false,
            seats: seats.collect(),
        };
        for action in planner::plan(&observed).actions {
            if let planner::Action::Grant(to) = action {
                self.go(|both| take(both, &to));
            }
        }
    }

    /// Carries an action out. Says whether the next may follow.
    fn perform(
        &mut self,
        which: usize,
        observed: &Observed,
        action: &Action,
    ) -> Result<bool, TestCaseError> {
        Ok(match action {
            Action::RunJob(kind) => self.run(which, observed, *kind),
            Action::RemoveMember(member) => self.remove(observed, member),
            Action::AwaitComponents => {
                self.ask();
                update::unwell(observed, self.known.components[which].as_deref()).is_none()
            }
            Action::ReturnTurn(over) => {
                prop_assert!(over.is_about(UIDS[which]));
                let is_proven = match over {
                    TurnIsOver::Member(proof) => {
                        let members = self.look();
                        etcd::may_return(observed, proof, listed(&members)) == Outcome::Yes
                    }
                    _ => true,
                };
                is_proven && self.go(|both| give_back(both, UIDS[which])) == Step::Done
            }
            Action::Drain { .. } => self.cordon(which, true),
            Action::UncordonNode { .. } => self.cordon(which, false),
            Action::Release(Release::Now) => {
                let may_release = !etcd::is_asked_before_release(observed)
                    || etcd::may_release(observed, listed(&self.look())).is_ok();
                let releases = may_release && self.spend();
                self.objects[which].releasing |= releases;
                releases
            }
            Action::DeleteNode { .. } => {
                prop_assert!(
                    self.sites[which].is_reset,
                    "the Node of what may run was deleted"
                );
                let deletes = self.spend();
                self.nodes[which] = self.nodes[which].take().filter(|_| !deletes);
                deletes
            }
            Action::RemoveFinalizer(_) => {
                let ends = self.spend();
                self.objects[which].exists &= !ends;
                ends
            }
            _ => true,
        })
    }

    fn cordon(&mut self, which: usize, cordoned: bool) -> bool {
        if !self.has_quorum() || !self.spend() {
            return false;
        }
        if let Some(node) = &mut self.nodes[which] {
            let name = crate::api::names::ANNOTATION_CORDONED;
            node.unschedulable = cordoned;
            node.annotations.remove(name);
            if cordoned {
                node.annotations.insert(name.into(), "true".into());
            }
        }
        true
    }

    fn remove(&mut self, observed: &Observed, member: &Member) -> bool {
        if !self.holds(observed, turn::of_removal(observed)) {
            return false;
        }
        let members = self.look();
        match etcd::may_remove(observed, member, listed(&members)) {
            Ok(Removal::IsOver) => true,
            Ok(Removal::Begins(_)) if self.spend() => {
                self.members.retain(|one| one.id != member.id);
                true
            }
            _ => false,
        }
    }

    fn run(&mut self, which: usize, observed: &Observed, kind: JobKind) -> bool {
        let is_running = |run: &Run| matches!(run.state, UnitState::Running(_));
        let running = self.sites[which].jobs.iter().find(|run| is_running(run));
        match running.map(|run| run.kind) {
            Some(running) if running != kind => return true,
            None if !self.may_start(observed, kind) || !self.spend() => return false,
            None => self.start(which, observed, kind),
            Some(_) => (),
        }
        self.memory[which].follow = Some(Follow {
            job: observed.marker.job(kind),
            progress: None,
            since: at(self.now),
            retried: None,
        });
        true
    }

    fn start(&mut self, which: usize, observed: &Observed, kind: JobKind) {
        let unit = match kind {
            JobKind::Prepare => units::prepare(observed),
            JobKind::Upgrade => units::upgrade(observed),
            JobKind::Kubelet => units::kubelet(observed),
            _ => Err(String::new()),
        };
        let object = &mut self.objects[which];
        object.begun |= kind == JobKind::Join;
        let jobs = &mut self.sites[which].jobs;
        jobs.retain(|run| run.kind != kind);
        jobs.push(Run {
            kind,
            identity: unit.map(|unit| unit.identity).unwrap_or_default(),
            version: object.wants.clone(),
            state: UnitState::Running(step(FIRST)),
            is_forgotten: false,
        });
    }

    /// What is asked just before a job starts.
    fn may_start(&mut self, observed: &Observed, kind: JobKind) -> bool {
        match check(observed, kind) {
            Check::Join => {
                self.holds(observed, TurnAction::Join)
                    && etcd::may_join(observed, listed(&self.look())).is_ok()
            }
            Check::Update => {
                self.holds(observed, TurnAction::Upgrade)
                    && update::may_restart(observed, self.look().as_ref().map_err(Clone::clone))
                        .is_ok()
            }
            // nothing here runs kubeadm init, or is a worker
            Check::None | Check::Init | Check::Record => true,
        }
    }
}

fn listed(members: &Result<Arc<Members>, String>) -> etcd::Read<'_> {
    members.as_deref().map_err(Clone::clone)
}
