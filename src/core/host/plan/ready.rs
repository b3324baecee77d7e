//! Whether a Host is as its owner asks: free, in use, or kept back.

use super::super::observed::{Contact, Observed};
use super::Plan;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};

/// Adds `Ready`. It repeats what keeps the Host from being used, but for what its owner or a Machine keeps it for; and what
/// is wrong with it although somebody has it. A Host that is off while it is free, as asked, is ready.
pub fn tell(observed: &Observed, plan: &mut Plan) {
    let find = |name| plan.findings.iter().find(|f| f.condition == name);
    let Some(available) = find(ConditionType::Available) else {
        return;
    };
    let is_kept = [Reason::Claimed, Reason::Maintenance].contains(&available.reason);
    let is_no = |finding: &&Finding| finding.status == Status::False;
    let trouble = if available.status == Status::True || is_kept {
        let parts = [ConditionType::Reachable, ConditionType::Clean];
        let said = parts.into_iter().filter_map(find).find(is_no).cloned();
        let is_said = find(ConditionType::Reachable).is_some();
        said.or_else(|| unreachable(observed).filter(|_| !is_said))
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

/// That it did not answer when it was last asked: of a host that is not asked in this pass the condition stays as it is.
fn unreachable(observed: &Observed) -> Option<Finding> {
    let Contact::NotAsked = observed.contact else {
        return None;
    };
    let status = observed.host.status.as_ref()?;
    let said = conditions::find(&status.conditions, ConditionType::Reachable)?;
    let reason = Reason::parse(&said.reason)?;
    (said.status == Status::False)
        .then(|| Finding::no(ConditionType::Reachable, reason, said.message.clone()))
}
