//! kubeadm has finished, and no Node is seen: it has not registered yet, cannot be read, or was
//! deleted.

use super::super::{Action, Plan, health, turn_end};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::{Lookup, Observed};
use crate::machine::own_node;

/// Its Node wakes it.
pub(super) fn plan(observed: &Observed) -> Plan {
    let is_unread = matches!(observed.node, Lookup::Unknown(_) | Lookup::NotYet(_));
    let finding = match &observed.node {
        Lookup::Unknown(why) | Lookup::NotYet(why) => Finding::unknown(
            ConditionType::NodeHealthy,
            own_node::unknown(observed, Reason::ApiUnreachable),
            why.clone(),
        ),
        Lookup::Known(_) if observed.had_node() => health::gone(observed),
        Lookup::Known(_) => Finding::no(
            ConditionType::NodeHealthy,
            Reason::WaitingForNode,
            format!(
                "kubeadm has finished; no Node with providerID {} has registered yet",
                observed.provider_id().unwrap_or_default()
            ),
        ),
    };
    // others need not wait for its Node: kubeadm has finished
    let over = turn_end::ended(observed);
    Plan {
        actions: over.map(Action::ReturnTurn).into_iter().collect(),
        findings: vec![
            // whether its commands have succeeded, is not known without its Node
            if is_unread && observed.awaits_commands() {
                Finding {
                    condition: ConditionType::BootstrapReady,
                    ..finding.clone()
                }
            } else {
                Finding::yes(ConditionType::BootstrapReady, Reason::Bootstrapped, "")
            },
            finding,
        ],
        ..Plan::default()
    }
}
