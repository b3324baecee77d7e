//! Whether a Host is as its owner asks: free, in use, or kept back.

use super::Plan;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};

/// Adds `Ready`. It repeats what keeps the Host from being used, but for what its owner or a Machine keeps it for; and what
/// is wrong with it although somebody has it. A Host that is off while it is free, as asked, is ready.
pub fn tell(plan: &mut Plan) {
    let find = |name| plan.findings.iter().find(|f| f.condition == name);
    let Some(available) = find(ConditionType::Available) else {
        return;
    };
    let is_kept = [Reason::Claimed, Reason::Maintenance].contains(&available.reason);
    let is_no = |finding: &&Finding| finding.status == Status::False;
    let trouble = if available.status == Status::True || is_kept {
        let parts = [ConditionType::Reachable, ConditionType::Clean];
        parts.into_iter().filter_map(find).find(is_no)
    } else {
        Some(available)
    };
    let ready = Finding {
        condition: ConditionType::Ready,
        status: match trouble {
            Some(_) => Status::False,
            None => Status::True,
        },
        ..trouble.unwrap_or(available).clone()
    };
    plan.findings.push(ready);
}
