//! The condition that sums up the others, and the phase.

use super::super::observed::Observed;
use super::{Plan, is_live};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::trouble;

/// In the order in which a cluster comes to life: the first that does not hold is the reason.
const PARTS: [ConditionType; 7] = [
    ConditionType::ConfigurationValid,
    ConditionType::CertificatesReady,
    ConditionType::ControlPlaneInitialized,
    ConditionType::ControlPlaneHealthy,
    ConditionType::EtcdHealthy,
    ConditionType::SettingsApplied,
    ConditionType::AddonsApplied,
];

/// An etcd that cannot be asked may serve all the same: its API server tells. Settings that are on
/// their way, or left, are on the Machines too; those that are refused are here alone.
fn holds(finding: &Finding) -> bool {
    let is_settings = finding.condition == ConditionType::SettingsApplied;
    if is_settings && finding.reason() != Reason::InvalidConfiguration {
        return true;
    }
    let is_unread =
        finding.condition == ConditionType::EtcdHealthy && finding.status == Status::Unknown;
    finding.status == Status::True || is_unread
}

/// Adds `Ready`, and the phase.
pub fn summarise(observed: &Observed, plan: &mut Plan) {
    let blocking = PARTS
        .iter()
        .filter_map(|name| {
            plan.findings
                .iter()
                .find(|finding| finding.condition == *name)
        })
        .find(|finding| !holds(finding))
        .cloned();
    let ready = observed
        .machines
        .iter()
        .filter(|machine| machine.ready)
        .count()
        + observed.well;
    let all = observed.machines.len() + observed.well;
    let finding = match blocking {
        Some(finding) => Finding {
            condition: ConditionType::Ready,
            ..finding
        },
        None if ready < all || observed.pool.is_some() => {
            let machines = format!("{ready} of {all} Machines are ready");
            let worst = trouble::worst(observed.machines.iter().filter_map(|m| m.trouble.as_ref()));
            let message = match observed.pool.clone() {
                // no Machine is waited for
                Some(pool) if ready == all => {
                    trouble::beside(trouble::beside(pool, Some(machines)), worst)
                }
                pool => trouble::beside(trouble::beside(machines, worst), pool),
            };
            Finding::no(ConditionType::Ready, Reason::WaitingForMachines, message)
        }
        None => Finding::yes(ConditionType::Ready, Reason::Ready, failing(observed)),
    };
    plan.phase = if is_live(observed) {
        "Running"
    } else if all == 0 {
        "Pending"
    } else {
        "Provisioning"
    };
    plan.findings.push(finding);
}

/// Of Machines that are Ready, what a person should look at: an update that fails.
fn failing(observed: &Observed) -> String {
    let troubles = observed.machines.iter().filter_map(|m| m.trouble.as_ref());
    trouble::worst(troubles.filter(|trouble| trouble.is_warning())).unwrap_or_default()
}
