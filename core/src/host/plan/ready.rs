//! Whether a Host is as its owner asks: free, in use, or kept back.

use super::super::observed::{Contact, Observed};
use super::Plan;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};

/// Adds `Ready`. It repeats what keeps the Host from being used, but for what its owner or a
/// Machine keeps it for; and what is wrong with it while a Machine has it. A Host that is off while
/// it is free, as asked, is ready.
pub fn tell(observed: &Observed, plan: &mut Plan) {
    let find = |name| plan.findings.iter().find(|f| f.condition == name);
    let Some(available) = find(ConditionType::Available) else {
        return;
    };
    let is_kept = [Reason::Claimed, Reason::Maintenance].contains(&available.reason());
    let is_no = |finding: &Finding| finding.status == Status::False;
    let trouble = if available.status == Status::True || is_kept {
        let parts = [ConditionType::Reachable, ConditionType::Clean];
        let said = |part| find(part).cloned().or_else(|| before(observed, part));
        parts.into_iter().filter_map(said).find(is_no)
    } else {
        Some(available.clone())
    };
    let ready = Finding {
        condition: ConditionType::Ready,
        status: match &trouble {
            Some(_) => Status::False,
            None => Status::True,
        },
        ..trouble.unwrap_or_else(|| available.clone())
    };
    plan.findings.push(ready);
}

/// What was found wrong when it was last asked: of a host that is not asked in this pass the
/// condition stays as it is.
fn before(observed: &Observed, part: ConditionType) -> Option<Finding> {
    let Contact::NotAsked = observed.contact else {
        return None;
    };
    let status = observed.host.status.as_ref()?;
    let said = conditions::find(&status.conditions, part)?;
    let reason = Reason::parse(&said.reason)?;
    (said.status == Status::False).then(|| Finding::no(part, reason, said.message.clone()))
}
