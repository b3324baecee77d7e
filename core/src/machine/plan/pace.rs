//! How soon a plan of a Machine is made again because of what it waits for. What each pass asks is
//! asked again; of a host that it does not ask, a pass learns nothing.

use super::super::observed::{Contact, Observed, Stuck};
use super::{Action, Plan, drain};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding};
use crate::api::machine_stage::StageName;
use crate::pace::{Asked, HOOK, MACHINES, TURN};

/// By its stage, by what it asks for, and by the reasons of what it says.
pub(super) fn of(observed: &Observed, plan: &Plan) -> Next {
    // whatever it says: each pass asks its host, and those that it waits for take minutes
    if plan.stage == Some(StageName::Stays) {
        return Next::After(MACHINES);
    }
    let is_held = |action: &Action| matches!(action, Action::AwaitHooks(_));
    if plan.actions.iter().any(is_held) && drain::is_drained(observed) {
        return Next::After(HOOK);
    }
    let turn = plan.asks.map_or(Next::OnChange, |_| Next::After(TURN));
    let paces = plan
        .findings
        .iter()
        .map(|found| of_finding(observed, found));
    paces.fold(turn, Next::sooner)
}

fn of_finding(observed: &Observed, found: &Finding) -> Next {
    let asked = Asked::about(found.reason());
    let is_asked = match asked {
        Asked::Server => is_heard(observed),
        Asked::Released => is_heard(observed) || proves(observed),
        // its time limits may pass meanwhile; one that lives is woken when the API answers
        Asked::Api => found.condition == ConditionType::Deleting,
        // of an update, what was told before stands while nothing is drained
        Asked::Eviction => found.condition != ConditionType::Updating,
        _ => true,
    };
    if is_asked {
        asked.by_machine()
    } else {
        Next::OnChange
    }
}

/// Whether its host was asked in this pass: it answered, or did not.
fn is_heard(observed: &Observed) -> bool {
    let contact = observed.held().map(|held| &held.contact);
    matches!(
        contact,
        Some(Contact::Seen(_) | Contact::Unreachable { .. })
    )
}

/// Whether its released host, or the BMC of that, is asked for a proof in each pass from now on.
fn proves(observed: &Observed) -> bool {
    let stuck = observed.held().and_then(|held| held.stuck.as_ref());
    matches!(
        stuck,
        Some(Stuck::Fenced | Stuck::Retained | Stuck::Silent(_))
    )
}
