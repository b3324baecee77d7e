//! Power: a host that is needed is switched on, one that may rest stays off, and one that does not
//! answer during its release is powered off.

use crate::Why;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::super::observed::{Contact, Observed};
use super::{Action, Plan, State, consumer, is_deleted, owned, reinstall, retain, unavailable};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason, Status, find, is_true};
use crate::api::installation::WipePolicy;
use crate::host::{ContactError, PowerState};

/// A released host that is on is given this time to answer before its power is cut.
const FENCE_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Whether Tatara controls its power: it has a BMC that no other Host has, and is not in
/// maintenance.
pub fn is_driven(observed: &Observed) -> bool {
    let spec = &observed.host.spec;
    spec.bmc.is_some() && !spec.maintenance && observed.duplicates.bmc.is_empty()
}

/// The next step of a host that is off.
pub fn off(observed: &Observed, now: Timestamp) -> Plan {
    let left_off = |mut plan: Plan, message: &str| {
        plan.findings.push(Finding::no(
            ConditionType::PowerOn,
            Reason::PoweredOff,
            message,
        ));
        plan
    };
    if observed.host.spec.maintenance {
        let message = "it is off, and spec.maintenance is true: its power is left alone";
        let plan = unavailable(State::Maintenance, Reason::Maintenance, message);
        return left_off(plan, message);
    }
    match consumer(observed) {
        Some(consumer) if consumer.releasing && observed.consumer.exists() => fenced(observed),
        Some(consumer) if consumer.releasing => match reinstall::policy(observed) {
            WipePolicy::Reset => switch_on(State::Quarantined, "to reset it"),
            WipePolicy::Retain => left_off(
                retain::kept(observed),
                "it is off, and stays off: what its Machine left is kept, as set by spec.wipePolicy",
            ),
            // what is on its disk is read before it is overwritten
            WipePolicy::Reinstall if observed.may_guard.is_some() => switch_on(
                State::Quarantined,
                "to check it before its operating system is reinstalled",
            ),
            WipePolicy::Reinstall => reinstall::on_release(observed, now),
        },
        Some(_) if !observed.consumer.exists() => left_off(
            owned::abandoned(observed),
            "it is off, and stays off: the Machine that claims it does not exist",
        ),
        Some(consumer) => {
            let why = format!("for Machine {}", consumer.name);
            switch_on(State::Claimed, &why)
        }
        None if is_deleted(observed) => {
            let message = "the Host is being deleted, and stays off";
            let plan = unavailable(State::Maintenance, Reason::Deleting, message);
            left_off(plan, message)
        }
        None if !observed.duplicates.address.is_empty() => {
            let problem = observed.duplicates.problem(&observed.host, None);
            let why = problem.unwrap_or_else(|| Why::new(Reason::DuplicateAddress, ""));
            let plan = unavailable(State::Quarantined, why.reason, why.message());
            left_off(
                plan,
                "it is off, and stays off: another Host names the same server",
            )
        }
        None if rests(observed) => resting(),
        None => switch_on(State::Registering, "to check it"),
    }
}

/// Whether it may stay off while it is free: it was clean when last checked, and
/// `powerOffWhenReleased` is set.
fn rests(observed: &Observed) -> bool {
    let status = observed.host.status.as_ref();
    let is_clean =
        status.is_some_and(|s| s.facts.is_some() && is_true(&s.conditions, ConditionType::Clean));
    is_clean && wants_off(observed)
}

fn wants_off(observed: &Observed) -> bool {
    let bmc = observed.host.spec.bmc.as_ref();
    bmc.is_some_and(|bmc| bmc.power_off_when_released)
}

fn resting() -> Plan {
    let message = "switched off while no Machine claims it, as set by spec.bmc.powerOffWhenReleased; a claim switches it on";
    Plan {
        findings: vec![
            Finding::unknown(ConditionType::Reachable, Reason::SwitchedOff, message),
            Finding::no(ConditionType::PowerOn, Reason::SwitchedOff, message),
            Finding::yes(ConditionType::Available, Reason::Available, ""),
        ],
        state: State::Available,
        ..Plan::default()
    }
}

fn switch_on(state: State, why: &str) -> Plan {
    let message = format!("it is off; switching it on {why}");
    let mut plan = unavailable(state, Reason::SwitchingOn, message.clone());
    plan.actions.push(Action::SwitchOn);
    plan.findings.push(Finding::no(
        ConditionType::PowerOn,
        Reason::SwitchingOn,
        message,
    ));
    plan
}

/// Off, while the Machine that had it is still on its way out: nothing of it runs any more.
fn fenced(observed: &Observed) -> Plan {
    let machine = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    let next = match reinstall::policy(observed) {
        WipePolicy::Reset => "it is switched on and reset",
        WipePolicy::Reinstall => "its operating system is reinstalled",
        WipePolicy::Retain => "it is left off",
    };
    let message = format!(
        "its BMC reports that it is off: nothing of Machine {machine} runs on it any more. When that Machine is removed, {next}"
    );
    let mut plan = unavailable(State::Quarantined, Reason::Fenced, message.clone());
    plan.findings
        .push(Finding::no(ConditionType::PowerOn, Reason::Fenced, message));
    plan
}

/// A clean host that no Machine has, with `powerOffWhenReleased`.
pub fn switch_off(observed: &Observed) -> Option<Plan> {
    // a BMC that failed lately does not take the host away from those who could use it
    let may = |power: &Result<PowerState, ContactError>| power.is_ok();
    let is_able = observed.bmc.as_ref().is_some_and(|heard| may(&heard.power))
        || (observed.bmc.is_none() && says_reachable(observed));
    if !(wants_off(observed) && is_driven(observed) && is_able) {
        return None;
    }
    let message = "clean, and no Machine claims it: switching it off, as set by spec.bmc.powerOffWhenReleased";
    let mut plan = unavailable(State::Releasing, Reason::SwitchingOff, message);
    plan.actions.push(Action::SwitchOff);
    Some(plan)
}

fn says_reachable(observed: &Observed) -> bool {
    let status = observed.host.status.as_ref();
    status.is_some_and(|status| is_true(&status.conditions, ConditionType::BMCReachable))
}

/// Cuts the power of a released host that does not answer, so that nothing of its Machine keeps
/// running unobserved. Only if it is silent: a server that answers but refuses the login may be in
/// use by another.
pub fn fence(observed: &Observed, error: &ContactError, now: Timestamp, plan: &mut Plan) {
    let releasing = consumer(observed).is_some_and(|consumer| consumer.releasing);
    let may = releasing
        && observed.consumer.exists()
        && observed.consumer.may_release()
        && error.is_silence()
        && is_driven(observed);
    let Some(heard) = observed.bmc.as_ref().filter(|_| may) else {
        return;
    };
    if let Some(why) = reinstall::was_anothers(observed) {
        let text = format!("; its power is not cut: {why}");
        add(plan, ConditionType::Available, None, &text);
        return;
    }
    if let Err(problem) = &heard.power {
        let text = format!("; its power could not be cut: {}", problem.message);
        add(plan, ConditionType::Available, None, &text);
        return;
    }
    let status = observed.host.status.as_ref();
    let silent = status.and_then(|status| find(&status.conditions, ConditionType::Reachable));
    let since = silent
        .filter(|condition| condition.status == Status::False)
        .map_or(now, |condition| condition.last_transition_time.0);
    let left = FENCE_AFTER - now.duration_since(since);
    if left > SignedDuration::ZERO {
        let left = Duration::try_from(left).unwrap_or_default();
        plan.next = plan.next.sooner(Next::After(left));
    } else {
        add(
            plan,
            ConditionType::Available,
            Some(Reason::Fencing),
            "; cutting its power through its BMC, so that nothing keeps running unobserved",
        );
        plan.actions.push(Action::Fence);
    }
}

fn add(plan: &mut Plan, condition: ConditionType, reason: Option<Reason>, text: &str) {
    let found = plan.findings.iter_mut().find(|f| f.condition == condition);
    if let Some(finding) = found {
        let message = format!("{}{text}", finding.message());
        finding.why = Why::new(reason.unwrap_or(finding.reason()), message);
    }
}

/// Adds the conditions about BMC and power.
pub fn tell(observed: &Observed, plan: &mut Plan) {
    if observed.host.spec.bmc.is_none() {
        return;
    }
    plan.findings.extend(reachable(observed));
    if !plan
        .findings
        .iter()
        .any(|f| f.condition == ConditionType::PowerOn)
    {
        plan.findings.extend(power(observed));
    }
}

/// Whether the BMC can be used; `None` if it was not queried since the manager started, and the
/// condition stays as it is.
fn reachable(observed: &Observed) -> Option<Finding> {
    if let [twin, ..] = observed.duplicates.bmc.as_slice() {
        let message = format!(
            "spec.bmc.address and systemID are also those of Host {twin}: powering one off would power off the other, so \
             neither BMC is used; correct one, or set systemID of both to that of their own system"
        );
        return Some(Finding::no(
            ConditionType::BMCReachable,
            Reason::DuplicateBMC,
            message,
        ));
    }
    let heard = observed.bmc.as_ref()?;
    Some(match &heard.power {
        Err(error) if !error.is_about_power() => Finding::no(
            ConditionType::BMCReachable,
            error.reason,
            error.message.clone(),
        ),
        _ => Finding::yes(ConditionType::BMCReachable, Reason::BMCAnswers, ""),
    })
}

/// Whether it is on: because it answers, or else as its BMC reports.
fn power(observed: &Observed) -> Option<Finding> {
    let said = match &observed.contact {
        Contact::Seen(_) => {
            return Some(Finding::yes(
                ConditionType::PowerOn,
                Reason::Answers,
                "it answers over SSH",
            ));
        }
        _ => &observed.bmc.as_ref()?.power,
    };
    match said {
        Ok(PowerState::On) => {
            let message = "its BMC reports that it is on";
            Some(Finding::yes(
                ConditionType::PowerOn,
                Reason::PoweredOn,
                message,
            ))
        }
        Ok(PowerState::Off) => {
            let message = "its BMC reports that it is off";
            Some(Finding::no(
                ConditionType::PowerOn,
                Reason::PoweredOff,
                message,
            ))
        }
        Ok(state) => {
            let message = format!("its BMC reports {state}, neither on nor off");
            Some(Finding::unknown(
                ConditionType::PowerOn,
                Reason::PowerUnknown,
                message,
            ))
        }
        Err(error) if error.is_about_power() => Some(Finding::no(
            ConditionType::PowerOn,
            error.reason,
            error.message.clone(),
        )),
        Err(error) if matches!(observed.contact, Contact::Failed(_)) => {
            let message = error.message.clone();
            Some(Finding::unknown(
                ConditionType::PowerOn,
                Reason::PowerUnknown,
                message,
            ))
        }
        Err(_) => None,
    }
}
