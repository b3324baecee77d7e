//! One pass over a Machine: its plan, remembered by what it reads, and the effects of its actions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tatara_core::api::conditions::merge;
use tatara_core::machine::plan::{self, Plan};
use tatara_core::machine::{LastLook, Observed, status};
use tatara_core::{Plan as _, Reports};

use super::build::at;
use super::state::{Late, State, Status};
use super::status::{built, compact};
use super::view::View;

/// How a pass does not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// The manager is killed instead of this effect, and a new one starts.
    Killed,
    /// This effect is the last one: its answer is lost.
    Unanswered,
    /// Instead of this start of a job another manager leads; it comes later all the same.
    Deposed,
}

/// A plan, and what is reported of it.
pub struct Passed {
    pub observed: Observed,
    pub plan: Plan,
    pub reported: Status,
    /// What is reported in place of that once the actions were carried out.
    pub ended: Option<Status>,
    pub look: LastLook,
}

thread_local! {
    static PASSES: RefCell<HashMap<View, Rc<Passed>>> = RefCell::default();
}

/// So many plans of a kind are remembered by each thread: some 20 KB each.
pub const REMEMBERED: usize = 12_000;

/// The plan of a Machine that sees this.
pub fn passed(view: View) -> Rc<Passed> {
    let known = PASSES.with_borrow(|all| all.get(&view).cloned());
    known.unwrap_or_else(|| {
        let passed = Rc::new(compute(&view));
        PASSES.with_borrow_mut(|all| {
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.insert(view, Rc::clone(&passed));
        });
        passed
    })
}

fn compute(view: &View) -> Passed {
    let observed = super::observed::observed(view);
    let plan = plan::plan(&observed, at(0));
    let report = |observed: &Observed, plan: &Plan| {
        if plan.hands_off {
            return view.own.status;
        }
        let mut status = status::status(observed, plan, &built(&view.own.status), at(0));
        status.conditions = merge(&status.conditions, &plan.findings, Some(1), at(0));
        compact(&status)
    };
    let ended = plan::after(&observed, &plan, |_| (), at(0));
    Passed {
        reported: report(&observed, &plan),
        ended: ended.map(|(after, plan)| report(&after, &plan)),
        look: observed.last_look,
        observed,
        plan,
    }
}

/// A pass that is being carried out.
pub struct Doing {
    pub state: State,
    /// Effects so far.
    pub effects: u8,
    /// After, or instead of, which effect it is cut.
    stop: Option<(u8, Cut)>,
    /// It was cut.
    pub is_cut: bool,
    /// What must not be, and was done.
    pub broken: Option<String>,
}

impl Doing {
    pub fn new(state: &State, stop: Option<(u8, Cut)>) -> Self {
        Self {
            state: state.clone(),
            effects: 0,
            stop,
            is_cut: false,
            broken: None,
        }
    }

    /// One more effect. `false` if the pass ends by it.
    pub fn effect(&mut self, act: impl FnOnce(&mut State)) -> bool {
        self.effects += 1;
        let cut = self.stop.filter(|(at, _)| *at == self.effects);
        match cut.map(|(_, cut)| cut) {
            Some(Cut::Killed | Cut::Deposed) => {
                self.state.forget();
                self.is_cut = true;
            }
            Some(Cut::Unanswered) => {
                act(&mut self.state);
                self.is_cut = true;
            }
            None => act(&mut self.state),
        }
        !self.is_cut
    }

    /// The start of a job, which may come late.
    pub fn starts(&mut self, late: Late, act: impl FnOnce(&mut State)) -> bool {
        let is_late = self.stop == Some((self.effects + 1, Cut::Deposed));
        let goes_on = self.effect(act);
        if is_late {
            self.state.late = Some(late);
            // a prompt manager has looked before it decides anything
            if self.state.is_prompt {
                self.state.looked(usize::from(late.host));
            }
        }
        goes_on
    }

    /// Whether a cut of this kind was where it is possible.
    pub fn was_late(&self) -> bool {
        self.state.late.is_some()
    }

    pub fn breaks(&mut self, what: impl Into<String>) {
        self.broken.get_or_insert(what.into());
    }
}

/// A pass over a Machine.
pub fn of_machine(state: &State, which: usize, stop: Option<(u8, Cut)>) -> Doing {
    let mut doing = Doing::new(state, stop);
    let view = state.view(which);
    let held = view.held;
    let passed = passed(view);
    doing.state.memory.look[which] = passed.look;
    if let Some((host, true)) = held.map(|host| (host, passed.observed.seen().is_some())) {
        doing.state.sight(host);
    }
    let plan = &passed.plan;
    if plan.actions.is_empty() || plan.reports() == Reports::First {
        report(&mut doing, which, passed.reported);
    }
    for action in &plan.actions {
        if doing.is_cut || doing.broken.is_some() {
            return doing;
        }
        if !super::perform::perform(&mut doing, which, &passed.observed, action) {
            if !doing.is_cut {
                report(&mut doing, which, passed.reported);
            }
            return doing;
        }
    }
    report(&mut doing, which, passed.ended.unwrap_or(passed.reported));
    doing
}

/// A status is written; one that is not differs in words alone.
fn report(doing: &mut Doing, which: usize, status: Status) {
    let object = &doing.state.objects.machines[which];
    if object.exists && object.status != status && !doing.is_cut {
        doing.effect(|state| state.objects.machines[which].status = status);
    }
}

impl State {
    /// The manager that leads has looked at a server: what another one had decided before is not started there any more.
    pub fn looked(&mut self, host: usize) {
        let is_there = |late: &Late| usize::from(late.host) == host;
        if !self.servers[host].silent && self.late.as_ref().is_some_and(is_there) {
            self.late = None;
        }
    }

    /// A server was asked, and what it showed is remembered: until init is recorded, it is evidence of one.
    pub fn sight(&mut self, host: usize) {
        self.looked(host);
        let server = &self.servers[host];
        if self.objects.cluster.initialized.is_some() && self.objects.secret.initialized.is_some() {
            return;
        }
        let before = self.memory.sighted[host];
        self.memory.sighted[host] = if server.silent {
            before.or(Some((None, false)))
        } else {
            Some((server.marker, server.begun))
        };
    }
}
