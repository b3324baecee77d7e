//! What the status of a Machine says of earlier passes, and decides. It is read here alone:
//! everything else in a status is for people, and for other controllers.
//!
//! An older release has conditions for it and none of the fields; where it wrote the status last,
//! its conditions count.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use crate::api::Machine;
use crate::api::conditions::{ConditionType, Reason, Status, find, is_true};
use crate::api::machine::MachineStatus;

/// Reasons of `UpToDate` with which versions or settings that differ are left as they are until the
/// spec is edited.
const SETTLED: [Reason; 3] = [
    Reason::KubeletVersionDiffers,
    Reason::SettingsDiffer,
    Reason::NeedsReplacement,
];

/// Whether an update was begun on its host, and has not ended.
pub fn update_is_begun(machine: &Machine) -> bool {
    machine.status.as_ref().is_some_and(|status| {
        if has_fields(status) {
            status.change.as_ref().is_some_and(|change| change.begun)
        } else {
            is_true(&status.conditions, ConditionType::Updating)
        }
    })
}

/// Whether its Node was there once, and the commands after kubeadm had succeeded.
pub fn is_bootstrapped(machine: &Machine) -> bool {
    machine.status.as_ref().is_some_and(|status| {
        if has_fields(status) {
            status.bootstrapped_at.is_some()
        } else {
            is_true(&status.conditions, ConditionType::BootstrapReady)
        }
    })
}

/// Whether what runs was settled for this generation of its spec: it is what is wanted, or is left.
pub fn is_settled(machine: &Machine) -> bool {
    machine.status.as_ref().is_some_and(|status| {
        let of = if has_fields(status) {
            status.settled_generation
        } else {
            settled(status)
        };
        of.is_some() && of == machine.metadata.generation
    })
}

/// Takes over what an older release has left in conditions, which may not be said again in this
/// pass.
pub fn take_over(status: &mut MachineStatus, old: &MachineStatus) {
    if has_fields(old) {
        return;
    }
    let bootstrap = find(&old.conditions, ConditionType::BootstrapReady);
    let bootstrap = bootstrap.filter(|said| said.status == Status::True);
    status.bootstrapped_at = bootstrap.map(|said| said.last_transition_time.clone());
    status.settled_generation = settled(old);
}

/// Records when a status is written. Where an older release wrote last, and nothing was recorded
/// since, it stays known.
pub fn stamp(status: &mut MachineStatus, now: Timestamp) {
    let is_recorded = status.recorded_at == status.last_updated;
    status.last_updated = Some(Time(now));
    if is_recorded {
        status.recorded_at.clone_from(&status.last_updated);
    }
}

/// Whether no older release has written the status since the fields were.
pub fn has_fields(status: &MachineStatus) -> bool {
    status.recorded_at.is_some() && status.recorded_at == status.last_updated
}

/// The generation for which what runs was found to be what is wanted, or is left, by condition
/// `UpToDate`.
pub(super) fn settled(status: &MachineStatus) -> Option<i64> {
    let told = find(&status.conditions, ConditionType::UpToDate)?;
    let is_left = SETTLED.iter().any(|reason| told.reason == *reason);
    (told.status == Status::True || is_left)
        .then_some(told.observed_generation)
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(status: &Value) -> Machine {
        let manifest = json!({
            "metadata": { "name": "w-0", "generation": 7 },
            "spec": { "providerSpec": {} },
            "status": status,
        });
        serde_json::from_value(manifest).expect("a Machine")
    }

    fn condition(type_: &str, status: &str, reason: &str, generation: i64) -> Value {
        json!({ "type": type_, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-29T08:00:00Z", "observedGeneration": generation })
    }

    /// Begun, bootstrapped, settled.
    fn said(machine: &Machine) -> [bool; 3] {
        [
            update_is_begun(machine),
            is_bootstrapped(machine),
            is_settled(machine),
        ]
    }

    #[test]
    fn the_fields_count_and_the_conditions_where_an_older_release_wrote_last() {
        let fields = json!({
            "change": { "kind": "Update", "step": "Drain", "begun": true, "since": "2026-11-29T08:00:00Z" },
            "bootstrappedAt": "2026-11-29T08:00:00Z",
            "settledGeneration": 7,
            "lastUpdated": "2026-11-29T09:00:00Z",
            "recordedAt": "2026-11-29T09:00:00Z",
            "conditions": [],
        });
        assert_eq!(said(&machine(&fields)), [true; 3]);
        // an older release has ended the update since, and knows none of the fields
        let mut older = fields.clone();
        older["lastUpdated"] = json!("2026-11-29T10:00:00Z");
        assert_eq!(said(&machine(&older)), [false; 3]);
        older["conditions"] = json!([
            condition("Updating", "True", "Draining", 7),
            condition("BootstrapReady", "True", "Bootstrapped", 3),
            condition("UpToDate", "False", "SettingsDiffer", 7),
        ]);
        assert_eq!(said(&machine(&older)), [true; 3]);
        // of a release that has the fields, the conditions are for people
        let mut lost = older;
        for field in ["change", "bootstrappedAt", "settledGeneration"] {
            lost[field] = Value::Null;
        }
        lost["recordedAt"] = lost["lastUpdated"].clone();
        assert_eq!(said(&machine(&lost)), [false; 3]);
    }

    #[test]
    fn what_is_settled_is_so_for_one_generation() {
        for (status, reason, generation, expected) in [
            ("True", "VersionsEqual", 7, true),
            ("True", "VersionsEqual", 6, false),
            ("False", "KubeletVersionDiffers", 7, true),
            ("False", "Updating", 7, false),
        ] {
            let condition = condition("UpToDate", status, reason, generation);
            let status = json!({ "conditions": [condition] });
            assert_eq!(is_settled(&machine(&status)), expected, "{reason}");
        }
        assert!(!is_settled(&machine(&json!({}))));
    }
}
