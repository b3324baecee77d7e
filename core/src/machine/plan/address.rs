//! The part of a control plane in holding the cluster's virtual IP. Members learn of a newcomer
//! before it takes part, and forget one after it has left: with unicast VRRP, who is not told of
//! the others takes the address as well. Who leaves gives it to another one before, because its API
//! server ends with its etcd member; and takes part again while its deletion waits.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, Infrastructure, Lookup, Observed, Placement};
use super::super::units;
use super::deletion::deleting;
use super::membership::{self, Leaving};
use super::turn::has_turn;
use super::{Action, Plan, job};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::node::{self, Attempt, JobKind, Observation, PlannedUnit, UnitStatus};
use crate::{Next, pace};

/// How long one that leaves tries to start the step that gives the address away: it leaves all the
/// same. A step that runs, and finds no other that takes it, is waited for: the API would be away
/// for as long.
const GIVES_FOR: Duration = Duration::from_mins(5);

/// Whether its part has to be changed, or is not known since the manager started; or it is about to
/// leave, and its host says whether another one holds the address.
pub fn is_due(observed: &Observed) -> bool {
    due(observed).is_some() || leaves_now(observed)
}

fn due(observed: &Observed) -> Option<PlannedUnit> {
    if !observed.had_node() || !observed.acts_as_control_plane() {
        return None;
    }
    let unit = units::address(observed)?;
    (observed.applied_address.as_deref() != Some(&*unit.identity)).then_some(unit)
}

/// Adds what is due to the plan of a Machine that has a Node.
pub(super) fn keep(observed: &Observed, held: &Infrastructure, plan: &mut Plan, now: Timestamp) {
    let (Some(unit), Some(cluster)) = (due(observed), &observed.cluster) else {
        return;
    };
    let Contact::Seen(seen) = &held.contact else {
        return;
    };
    let takes_part = shown(observed, seen).is_some() || observed.is_initializer();
    let Lookup::Known(members) = &cluster.etcd else {
        return;
    };
    if !takes_part && !units::is_known_to_others(observed, members) {
        // without a finding: nobody has to act, and what is recorded of the others wakes nobody
        // here
        plan.next = plan.next.sooner(Next::After(pace::NEIGHBOUR));
        return;
    }
    let attempt = job::next(observed, seen, &job::of_unit(observed, &unit), now);
    let step = start(&attempt).unwrap_or_default();
    plan.actions.extend(step.actions);
    plan.next = plan.next.sooner(step.next);
    let failed = step
        .findings
        .into_iter()
        .find(|f| f.reason() == Reason::AddressFailed);
    if let Some(failed) = failed {
        plan.findings
            .retain(|finding| finding.condition != ConditionType::UpToDate);
        plan.findings.push(Finding {
            condition: ConditionType::UpToDate,
            ..failed
        });
    }
}

fn shown<'a>(observed: &Observed, seen: &'a Observation) -> Option<&'a UnitStatus> {
    seen.job(&observed.marker.job(JobKind::Address))
}

/// What is done next about this unit, if anything.
fn start(attempt: &Attempt<'_>) -> Option<Plan> {
    let kind = JobKind::Address;
    job::plan(kind, attempt, || job::begins(kind))
}

/// What precedes the removal of the etcd member of one that leaves.
pub(super) enum Giving {
    /// Nothing more. Findings, where no other has taken the address.
    Over(Vec<Finding>),
    /// This.
    Next(Plan),
}

/// Whether it may have an address to give: it takes part beside others, and its host is to be
/// asked.
fn may_give(observed: &Observed) -> bool {
    let is_asked = match &observed.placement {
        Placement::Held(held) => {
            !held.releasing && !matches!(held.contact, Contact::SelfRegistering(_))
        }
        // not read yet
        Placement::None(_) => true,
    };
    is_asked
        && observed.had_node()
        && observed.user_says_gone().is_none()
        && units::address(observed).is_some()
}

/// Whether all is said for it to leave, and it has the turn.
fn leaves_now(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Remove))
        && observed.is_deleting()
        && may_give(observed)
        // its place is not read yet where it is decided whether the host is asked
        && (matches!(observed.placement, Placement::None(_))
            || matches!(membership::of(observed), Leaving::Member(_)))
}

/// Another one holds the virtual IP before its etcd member is removed. A host that does not answer
/// cannot give it away.
pub(super) fn give_away(observed: &Observed, now: Timestamp) -> Giving {
    let over = Giving::Over(Vec::new());
    let Placement::Held(held) = &observed.placement else {
        return over;
    };
    if !may_give(observed) {
        return over;
    }
    match &held.contact {
        Contact::Seen(seen) if seen.owner.of(&observed.marker).is_some() => {
            on_host(observed, seen, now).unwrap_or(over)
        }
        Contact::NotAsked => match &observed.follow {
            Some(follow) => {
                let mut plan = job::followed(observed, follow);
                say_of_deletion(&mut plan, None);
                Giving::Next(plan)
            }
            None => over,
        },
        _ => over,
    }
}

/// The unit that gives the address away.
fn given(observed: &Observed) -> Option<PlannedUnit> {
    observed.identities.plan(node::give_address()).ok()
}

fn gives() -> Finding {
    let message =
        "another control plane takes the virtual IP before the etcd member of this one is removed";
    deleting(Reason::AddressChanging, message)
}

/// `None` once another one holds it.
fn on_host(observed: &Observed, seen: &Observation, now: Timestamp) -> Option<Giving> {
    let unit = given(observed)?;
    let attempt = job::next(observed, seen, &job::of_unit(observed, &unit), now);
    let mut plan = start(&attempt)?;
    let end = unstarted_since(observed).and_then(|since| since.checked_add(GIVES_FOR).ok());
    let has_passed = end.is_some_and(|end| end <= now);
    if has_passed && !matches!(attempt, Attempt::Attach { .. }) {
        let why = observed
            .attempts(JobKind::Address)
            .error
            .unwrap_or_default();
        let why = why.lines().next().unwrap_or_default();
        let why = why.strip_prefix("why: ").unwrap_or(why);
        let message = format!(
            "the step that gives the virtual IP away could not be started on its host for {} minutes ({why}), and this Machine leaves all the same. If it holds the address, the API does not answer until another control plane takes it",
            GIVES_FOR.as_secs() / 60
        );
        return Some(Giving::Over(vec![deleting(Reason::AddressFailed, message)]));
    }
    for action in &mut plan.actions {
        *action = Action::GiveAddress;
    }
    say_of_deletion(&mut plan, end);
    Some(Giving::Next(plan))
}

/// Says of the deletion what was found of the step that gives the address away.
fn say_of_deletion(plan: &mut Plan, end: Option<Timestamp>) {
    for finding in &mut plan.findings {
        if finding.reason() == Reason::AddressFailed {
            (finding.condition, finding.status) = (ConditionType::Deleting, Status::True);
            let then = match end {
                Some(end) => format!("Without that it leaves at {end:.0}"),
                None => {
                    "Until another one takes the address, this one keeps it, and the turn: no other control plane joins, leaves or is updated. To let it leave without that, only if two other control planes are healthy: switch its host off; the API is away until another one takes the address".into()
                }
            };
            // in the first line, which the objects above repeat: a log may follow
            let message = finding.message();
            let (line, log) = message.split_once('\n').unwrap_or((&message, ""));
            let line = line.trim_end_matches('.');
            finding.reword(format!("{line}. {then}\n{log}").trim_end());
        } else {
            *finding = gives();
        }
    }
}

/// Since when nothing can be started on its host; from its deletion on.
fn unstarted_since(observed: &Observed) -> Option<Timestamp> {
    let attempts = observed.attempts(JobKind::Address);
    let since = attempts.since.filter(|_| attempts.error.is_some())?;
    let deleted = observed.machine.metadata.deletion_timestamp.as_ref();
    Some(deleted.map_or(since, |deleted| since.max(deleted.0)))
}

/// Says this of the deletion instead.
pub(super) fn say(plan: &mut Plan, findings: Vec<Finding>) {
    if !findings.is_empty() {
        plan.findings
            .retain(|finding| finding.condition != ConditionType::Deleting);
        plan.findings.extend(findings);
    }
}

/// One that began to give the address away and does not leave now takes part again.
pub(super) fn take_back(observed: &Observed, plan: &mut Plan, now: Timestamp) {
    let (Placement::Held(held), Some(given)) = (&observed.placement, given(observed)) else {
        return;
    };
    let Contact::Seen(seen) = &held.contact else {
        return;
    };
    let is_given = |job: &UnitStatus| job.identity == given.identity;
    if held.releasing || !shown(observed, seen).is_some_and(is_given) {
        return;
    }
    let mut part = Plan::default();
    keep(observed, held, &mut part, now);
    // before what waits
    plan.actions.splice(0..0, part.actions);
    plan.findings.extend(part.findings);
    plan.next = plan.next.sooner(part.next);
}
