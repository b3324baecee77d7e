//! It has a Node: the Node is kept according to the Machine's spec, and its health is reported.

use k8s_openapi::jiff::Timestamp;

use super::super::{Action, Plan, health, marks, turn_end, up_to_date, update, virtual_machine};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::{Lookup, MOMENT, Observed, Placement};
use crate::machine::own_node;
use crate::{Next, NodeView};

/// The Node, and what is wrong with its virtual machine.
pub(super) fn plan(observed: &Observed, node: &NodeView, now: Timestamp) -> Plan {
    let plan = of_node(observed, node);
    let machine = observed.virtual_machine.as_ref();
    let trouble =
        machine.and_then(|machine| Some((machine, virtual_machine::plan(observed, machine, now)?)));
    match trouble {
        Some((machine, trouble)) => {
            virtual_machine::beside_node(plan, trouble, machine.told.is_ok())
        }
        None => plan,
    }
}

/// Keeps the Node according to the Machine's spec.
pub(super) fn of_node(observed: &Observed, view: &NodeView) -> Plan {
    let mut plan = Plan::default();
    let over = turn_end::ended(observed);
    plan.actions.extend(over.map(Action::ReturnTurn));
    if observed.has_token {
        plan.actions.push(Action::RemoveToken);
    }
    if marks::differs(&marks::wanted(observed), view) {
        plan.actions.push(Action::UpdateNode {
            node: view.name.clone(),
            uid: view.uid.clone(),
        });
    }
    plan.findings.push(Finding::yes(
        ConditionType::InfrastructureReady,
        Reason::HostClaimed,
        format!("runs as Node {}", view.name),
    ));
    plan.findings.push(Finding::yes(
        ConditionType::BootstrapReady,
        Reason::Bootstrapped,
        "",
    ));
    plan.findings.push(health::finding(observed, view));
    plan.findings.push(up_to_date::finding(observed, view));
    plan
}

/// A Machine whose settings, or those of its Cluster, cannot be used. A running node is left as it
/// is and judged by its Node; nothing is started before the problem is resolved.
pub(in super::super) fn beside(observed: &Observed, problem: Finding) -> Plan {
    let runs = matches!(&observed.placement, Placement::Held(held) if !held.releasing);
    let goes = observed.cluster.as_ref().is_some_and(|c| c.deleting);
    let mut plan = match &observed.node {
        _ if goes => return Plan::waiting(problem),
        Lookup::Known(Some(node)) if runs => of_node(observed, node),
        Lookup::Unknown(why) if runs && observed.had_node() => Plan::waiting(Finding::unknown(
            ConditionType::NodeHealthy,
            own_node::unknown(observed, Reason::NodeUnknown),
            why.clone(),
        )),
        Lookup::NotYet(_) => {
            return Plan {
                hands_off: true,
                next: Next::After(MOMENT),
                ..Plan::default()
            };
        }
        _ => return Plan::waiting(problem),
    };
    plan.actions.clear();
    plan.findings
        .retain(|finding| finding.condition != ConditionType::UpToDate);
    update::beside(observed, &mut plan, &problem);
    plan.findings.push(Finding {
        condition: ConditionType::UpToDate,
        ..problem
    });
    plan
}
