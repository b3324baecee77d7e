//! Whether an installation may begin, or be given up, by what was read live just before: it erases
//! disks.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::api::host::HostSpec;
use crate::api::names::{ANNOTATION_INSTALLATION, ANNOTATION_PAUSED, ANNOTATION_REINSTALL};
use crate::api::{Host, Machine};

/// Whether the Host is as it was when that was decided, and unclaimed or released by a Machine that
/// is deleted. `machine` is the one of the name in its claim.
pub fn is_free(decided_on: &Host, live: &Host, machine: Option<&Machine>) -> bool {
    let is_let_go = live.spec.consumer_ref.as_ref().is_none_or(|consumer| {
        let is_held = machine.is_some_and(|machine| machine.uid().as_ref() == Some(&consumer.uid));
        consumer.releasing && !is_held
    });
    is_unchanged(decided_on, live) && is_let_go
}

/// Whether the Host is as it was when an installation was decided on, and not excluded from
/// changes.
pub fn is_unchanged(decided_on: &Host, live: &Host) -> bool {
    live.spec == decided_on.spec && may_be_given_up(decided_on, live)
}

/// Whether the installation on the Host is the one that is given up.
pub fn may_be_given_up(decided_on: &Host, live: &Host) -> bool {
    record(live) == record(decided_on) && !is_excluded(live)
}

/// Every field that the decision to begin an installation depends on.
pub fn basis(host: &Host) -> (HostSpec, Option<Time>, [Option<String>; 3]) {
    let names = [
        ANNOTATION_REINSTALL,
        ANNOTATION_INSTALLATION,
        ANNOTATION_PAUSED,
    ];
    let annotations = names.map(|name| host.annotations().get(name).cloned());
    let deleted = host.metadata.deletion_timestamp.clone();
    (host.spec.clone(), deleted, annotations)
}

/// Whether the user excluded it from changes.
fn is_excluded(host: &Host) -> bool {
    host.spec.maintenance || host.annotations().contains_key(ANNOTATION_PAUSED)
}

/// The record of an installation on a Host.
pub fn record(host: &Host) -> Option<&String> {
    host.annotations().get(ANNOTATION_INSTALLATION)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(record: &Value, consumer: &Value, maintenance: bool) -> Host {
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"name": "h", "annotations": {(ANNOTATION_INSTALLATION): record}},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}, "consumerRef": consumer,
                "maintenance": maintenance}});
        serde_json::from_value(host).unwrap()
    }

    fn machine(uid: &str) -> Machine {
        let machine = json!({"metadata": {"name": "w", "uid": uid}, "spec": {}});
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn disks_are_erased_only_of_a_host_that_is_as_it_was_and_that_nobody_holds() {
        let claim =
            |releasing| json!({"name": "w", "uid": "m", "cluster": "a", "releasing": releasing});
        let (one, other) = (json!("one"), json!("other"));
        let free = host(&one, &Value::Null, false);
        let released = host(&one, &claim(true), false);
        let held = host(&one, &claim(false), false);
        for (case, decided_on, live, machine, expected) in [
            ("free", &free, &free, None, true),
            (
                "released, and its Machine is gone",
                &released,
                &released,
                None,
                true,
            ),
            (
                "released, and its Machine was made again",
                &released,
                &released,
                Some(machine("n")),
                true,
            ),
            (
                "released, and its Machine is there",
                &released,
                &released,
                Some(machine("m")),
                false,
            ),
            ("held", &held, &held, None, false),
            ("claimed since", &free, &held, None, false),
            (
                "another installation since",
                &free,
                &host(&other, &Value::Null, false),
                None,
                false,
            ),
            (
                "in maintenance since",
                &free,
                &host(&one, &Value::Null, true),
                None,
                false,
            ),
        ] {
            assert_eq!(
                is_free(decided_on, live, machine.as_ref()),
                expected,
                "{case}"
            );
        }
    }
}
