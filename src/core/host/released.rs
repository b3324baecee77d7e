//! Whether a host must still be reset, by what was read live just before: a reset is irreversible.

use kube::ResourceExt;

use crate::api::{Cluster, Host, Machine};

/// Whether the decision still holds: the claim is the same and released, and the Machine of this name does not exist,
/// is another one, or is being deleted.
pub fn is_released(decided_on: &Host, live: &Host, machine: Option<&Machine>) -> bool {
    let Some(consumer) = &live.spec.consumer_ref else {
        return false;
    };
    let stays = machine.is_some_and(|machine| {
        machine.uid().as_ref() == Some(&consumer.uid)
            && machine.metadata.deletion_timestamp.is_none()
    });
    live.spec.consumer_ref == decided_on.spec.consumer_ref && consumer.releasing && !stays
}

/// Whether a Node that is left in the Cluster has to be deleted: the Nodes of one that is being deleted end with it, and its API
/// may have ended before them. Somebody else's control plane outlives it.
pub fn keeps_its_nodes(cluster: &Cluster, is_external: bool) -> bool {
    cluster.metadata.deletion_timestamp.is_none() || is_external
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
