//! It has no place yet, and claims one, once. A claim that was lost is reported, and nothing is
//! done.

use super::super::lost_claim::{proof, remedy};
use super::super::{Acquire, Action, Plan};
use crate::Why;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::{Lookup, Observed, Unheld};
use crate::proof::{Clean, Evidence};

/// The next step: `choice` is the host that it would claim, or why there is none.
pub(super) fn plan(observed: &Observed, choice: &Result<String, Why>) -> Plan {
    if observed.is_in_memory() && observed.chosen.is_none() {
        return claim(choice, None);
    }
    match &observed.chosen {
        None if !observed.is_begun() => claim(choice, None),
        Some(chosen) if !observed.is_begun() && matches!(chosen.now, Unheld::Free) => {
            claim(&Ok(chosen.host.clone()), None)
        }
        _ => match proof(observed) {
            Ok(proof) if proof.evidence() == Evidence::NeverStarted => {
                claim(choice, Clean::from(&proof))
            }
            Ok(_) => lost(observed, "the host was reset"),
            Err(why) => lost(observed, &why),
        },
    }
}

fn claim(choice: &Result<String, Why>, instead: Option<Clean>) -> Plan {
    let finding =
        |reason, message| Finding::no(ConditionType::InfrastructureReady, reason, message);
    match choice {
        Ok(host) => {
            let host = host.clone();
            let message = format!("claiming {host}");
            let action = Action::Acquire(Acquire::Place {
                name: host,
                instead,
            });
            Plan::act(action, finding(Reason::Claiming, message))
        }
        Err(refusal) => Plan::waiting(refusal.finding(ConditionType::InfrastructureReady)),
    }
}

fn lost(observed: &Observed, why: &str) -> Plan {
    let message = format!(
        "no Host has the claim of this Machine: {why}. A Machine never moves to another host{}. {}",
        match &observed.node {
            Lookup::Known(Some(node)) =>
                format!(", and Node {} and its pods are left alone", node.name),
            _ => String::new(),
        },
        remedy(observed)
    );
    Plan::waiting(Finding::no(
        ConditionType::InfrastructureReady,
        Reason::HostLost,
        message,
    ))
}
