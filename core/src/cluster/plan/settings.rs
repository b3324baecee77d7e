//! kubeadm's ConfigMaps follow the settings of the Cluster; then its Machines do.

use kube::ResourceExt;

use super::super::observed::{Moves, Observed};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::ANNOTATION_SETTINGS;
use crate::control_plane::health::Verdict;
use crate::settings::{RecordStep, between, left, record_step};

const NAME: ConditionType = ConditionType::SettingsApplied;

/// Adds what has to be done for the settings of a control plane that is ours.
pub(super) fn keep(observed: &Observed, plan: &mut Plan) {
    let Ok(spec) = &observed.spec else {
        return;
    };
    if observed.external || observed.initialized_by.is_none() {
        return;
    }
    let is_healthy = observed
        .health
        .as_ref()
        .is_some_and(|health| health.judgement.verdict == Verdict::Healthy);
    let serves = observed.connected && is_healthy;
    let forsaken = observed.moves.as_ref();
    let forsaken = forsaken.and_then(|moves| moves.forsaken.clone());
    if let Some(version) = forsaken.filter(|_| serves) {
        plan.actions.push(Action::ForgetAddons { version });
    }
    match record_step(&observed.cluster, spec, observed.made_with.clone()) {
        RecordStep::Keep => {
            let annotations = observed.cluster.annotations();
            if annotations.contains_key(ANNOTATION_SETTINGS) {
                plan.findings.push(Finding::yes(NAME, Reason::Applied, ""));
            }
        }
        RecordStep::Take { settings, kept } => {
            plan.actions.push(Action::RecordSettings { settings, kept });
        }
        RecordStep::Leave(differences) => {
            let (namespace, name) = (
                observed.cluster.namespace().unwrap_or_default(),
                observed.cluster.name_any(),
            );
            let message = left(&differences.join("; "), &namespace, &name);
            plan.findings
                .push(Finding::no(NAME, Reason::SettingsDiffer, message));
        }
        RecordStep::Refuse(why) => {
            plan.findings
                .push(Finding::no(NAME, Reason::InvalidConfiguration, why));
        }
        RecordStep::Follow { from, to } => {
            let recorded = from.first().map(|from| between(from, &to));
            let differences = recorded.unwrap_or_default().join("; ");
            let message = if let Some(Moves { what, remedy, .. }) = &observed.moves {
                format!(
                    "waiting until {what}, to write into kubeadm's ConfigMaps: {differences}{remedy}"
                )
            } else if serves {
                plan.actions.push(Action::ApplySettings { from, to });
                format!("writing into kubeadm's ConfigMaps: {differences}")
            } else {
                format!(
                    "waiting until the cluster's API serves, to write into kubeadm's ConfigMaps: {differences}"
                )
            };
            plan.findings
                .push(Finding::no(NAME, Reason::Applying, message));
        }
    }
}
