//! Whether a host must still be reset: read live just before, because a reset is irreversible.

use std::sync::Arc;

use kube::{Api, ResourceExt};

use super::Hosts;
use crate::api::{Cluster, Host, Machine};
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

/// The Cluster that the claim of a Host names, if it is being deleted.
pub fn cluster_that_goes(controller: &Hosts, host: &Host) -> Option<Arc<Cluster>> {
    let claim = host.spec.consumer_ref.as_ref()?;
    let clusters = &controller.base.stores().clusters;
    let cluster = clusters.get(&host.namespace()?, &claim.cluster)?;
    cluster
        .metadata
        .deletion_timestamp
        .is_some()
        .then_some(cluster)
}

/// Whether a Node that is left in the Cluster has to be deleted: the Nodes of one that is being deleted end with it, and its API
/// may have ended before them. Somebody else's control plane outlives it.
pub fn keeps_its_nodes(cluster: &Cluster, is_external: bool) -> bool {
    cluster.metadata.deletion_timestamp.is_none() || is_external
}

/// Requires that the Cluster that the claim of the Host names is being deleted, read live: the same one, by its UID.
///
/// # Errors
/// `ReconcileError::Conflict` otherwise; `Api` when the Cluster cannot be read.
pub async fn must_go(controller: &Hosts, host: &Host) -> Result<(), ReconcileError> {
    let what = || format!("stop what runs on Host {}", host.name_any());
    let conflict = || ReconcileError::Conflict { what: what() };
    let known = cluster_that_goes(controller, host).ok_or_else(conflict)?;
    let live = patch::live(&controller.base.engine, known.as_ref()).await?;
    let goes = live.metadata.deletion_timestamp.is_some();
    goes.then_some(()).ok_or_else(conflict)
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
    fn a_clean_host_does_not_wait_for_the_api_of_a_cluster_that_goes() {
        let cluster = |deleted: &Value| -> Cluster {
            let network = json!({"pods": {"cidrBlocks": ["10.244.0.0/16"]},
                "services": {"cidrBlocks": ["10.96.0.0/16"]}, "serviceDomain": "cluster.local"});
            let cluster = json!({"metadata": {"name": "a", "deletionTimestamp": deleted},
                "spec": {"clusterNetwork": network}});
            serde_json::from_value(cluster).unwrap()
        };
        let (stays, goes) = (
            cluster(&Value::Null),
            cluster(&json!("2027-01-15T08:00:00Z")),
        );
        for (case, cluster, is_external, keeps) in [
            ("it stays", &stays, false, true),
            ("it goes", &goes, false, false),
            ("its control plane is another's", &goes, true, true),
        ] {
            assert_eq!(keeps_its_nodes(cluster, is_external), keeps, "{case}");
        }
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
