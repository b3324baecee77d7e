//! Whether a host must still be reset: read live just before, because a reset is irreversible.

use kube::{Api, ResourceExt};

use super::Hosts;
use crate::api::{Host, Machine};
use crate::core::host::Observed;
use crate::engine::{ReconcileError, patch};

/// Requires that the host, read live, is still released by its Machine, and that this Machine is deleted or
/// being deleted.
///
/// # Errors
/// `ReconcileError::Conflict` otherwise; `Api` when the Host or the Machine cannot be read.
pub async fn must_be_released(
    controller: &Hosts,
    observed: &Observed,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let live = patch::live(&controller.base.engine, host).await?;
    let machine = match &live.spec.consumer_ref {
        Some(consumer) => {
            let namespace = host.namespace().unwrap_or_default();
            let machines: Api<Machine> = Api::namespaced(controller.base.client(), &namespace);
            let what = format!("read Machine {}", consumer.name);
            let machine = machines.get_opt(&consumer.name).await;
            machine.map_err(ReconcileError::api(what))?
        }
        None => None,
    };
    if is_released(host, &live, machine.as_ref()) {
        return Ok(());
    }
    Err(ReconcileError::Conflict {
        what: format!("reset Host {}", host.name_any()),
    })
}

/// Whether the decision still holds: the claim is the same and released, and the Machine of this name does not exist,
/// is another one, or is being deleted.
fn is_released(decided_on: &Host, live: &Host, machine: Option<&Machine>) -> bool {
    let Some(consumer) = &live.spec.consumer_ref else {
        return false;
    };
    let stays = machine.is_some_and(|machine| {
        machine.uid().as_ref() == Some(&consumer.uid)
            && machine.metadata.deletion_timestamp.is_none()
    });
    live.spec.consumer_ref == decided_on.spec.consumer_ref && consumer.releasing && !stays
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(consumer: &Value) -> Host {
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h"},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}, "consumerRef": consumer}});
        serde_json::from_value(host).unwrap()
    }

    fn machine(uid: &str, deleted: &Value) -> Machine {
        let machine = json!({"metadata": {"name": "w", "uid": uid, "deletionTimestamp": deleted}, "spec": {}});
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn a_reset_goes_by_what_the_api_server_has_now() {
        let claim = |name: &str, uid: &str, releasing: bool| json!({"name": name, "uid": uid, "cluster": "a", "releasing": releasing});
        let (released, held) = (claim("w", "m", true), claim("w", "m", false));
        let deleting = || Some(machine("m", &json!("2027-01-15T08:00:00Z")));
        let staying = || Some(machine("m", &Value::Null));
        for (case, live, machine, goes) in [
            ("let go, and being deleted", &released, deleting(), true),
            ("let go, and gone", &released, None, true),
            (
                "let go, and made again under its name",
                &released,
                Some(machine("another", &Value::Null)),
                true,
            ),
            ("let go, and nobody deletes it", &released, staying(), false),
            ("given back since", &held, deleting(), false),
            ("given back since, and gone", &held, None, false),
            ("freed since", &Value::Null, deleting(), false),
            (
                "given to another since",
                &claim("x", "other", false),
                None,
                false,
            ),
            (
                "let go by another since",
                &claim("x", "other", true),
                None,
                false,
            ),
        ] {
            let is = is_released(&host(&released), &host(live), machine.as_ref());
            assert_eq!(is, goes, "{case}");
        }
        let is = is_released(&host(&held), &host(&held), None);
        assert!(!is, "what was decided on had not let go");
    }
}
