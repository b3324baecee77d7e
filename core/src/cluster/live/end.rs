//! What goes with a Cluster, and what is left alone: its objects, and its Secrets.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use crate::api::Cluster;
use crate::api::names::{ANNOTATION_INITIALIZED, LABEL_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY};
use crate::api::readable::unreadable;

/// Whether an object of a Cluster that is being deleted is deleted with it: it is ours, can be
/// read, and is not being deleted yet.
pub fn is_deleted<K: Resource>(object: &K, is_ours: bool) -> bool {
    is_ours && unreadable(object).is_none() && object.meta().deletion_timestamp.is_none()
}

/// What is done with a Secret of a Cluster as long as it is needed, and after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// It is left alone: another Cluster has it.
    Anothers,
    /// It gets our finalizer, or loses it.
    Finalizer,
    /// First it loses the record of the control plane, so that a Cluster of the same name and CA
    /// can be created again.
    Record,
}

/// What is done with a Secret, as it was read.
pub fn holding(secret: &Secret, cluster: &Cluster, needed: bool) -> Holding {
    if other_cluster(secret, cluster).is_some() {
        Holding::Anothers
    } else if !needed && has_record_of(secret, cluster) {
        Holding::Record
    } else {
        Holding::Finalizer
    }
}

/// The other Cluster that owns a Secret. The Secret names of two Clusters can collide:
/// `a-profile-kubeconfig` is that of the ClusterProfile of `a`, and of the administrators of
/// `a-profile`.
pub fn other_cluster(secret: &Secret, cluster: &Cluster) -> Option<String> {
    let owners = secret.owner_references().iter();
    let owners = owners.filter(|owner| owner.kind == Cluster::kind(&()));
    let is_made_here =
        secret.labels().get(LABEL_MANAGED_BY).map(String::as_str) == Some(MANAGED_BY);
    let label = secret.labels().get(LABEL_CLUSTER);
    let label = label.filter(|_| is_made_here);
    let mut names = owners.map(|owner| &owner.name).chain(label);
    names.find(|name| **name != cluster.name_any()).cloned()
}

/// Whether it has the record of this Cluster. A record that the Cluster does not have stays: a user
/// has to investigate it.
fn has_record_of(secret: &Secret, cluster: &Cluster) -> bool {
    let record = secret.annotations().get(ANNOTATION_INITIALIZED);
    record.is_some() && record == cluster.annotations().get(ANNOTATION_INITIALIZED)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Machine;
    use crate::api::readable::UNREADABLE;

    fn secret(record: Option<&str>) -> Secret {
        let mut secret = Secret::default();
        let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
        secret.annotations_mut().extend(record);
        secret
    }

    fn cluster(record: Option<&str>) -> Cluster {
        let network = json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
        let cluster = json!({"metadata": {"name": "c"}, "spec": {"clusterNetwork": network}});
        let mut cluster: Cluster = serde_json::from_value(cluster).expect("a Cluster");
        let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
        cluster.annotations_mut().extend(record);
        cluster
    }

    #[test]
    fn only_what_is_ours_and_can_be_read_is_deleted_and_once() {
        let object = |annotations: &Value, deleted: &Value| -> Machine {
            let meta =
                json!({"name": "m", "annotations": annotations, "deletionTimestamp": deleted});
            serde_json::from_value(json!({"metadata": meta, "spec": {}})).expect("a Machine")
        };
        let (none, goes) = (Value::Null, json!("2027-01-15T08:00:00Z"));
        let unreadable = json!({ (UNREADABLE): "spec" });
        for (case, annotations, deleted, is_ours, expected) in [
            ("ours", &none, &none, true, true),
            ("another's", &none, &none, false, false),
            ("unreadable", &unreadable, &none, true, false),
            ("goes", &none, &goes, true, false),
        ] {
            let is = is_deleted(&object(annotations, deleted), is_ours);
            assert_eq!(is, expected, "{case}");
        }
    }

    #[test]
    fn a_secret_of_another_cluster_is_known_by_its_owner_or_label() {
        let mut secret = secret(None);
        assert_eq!(other_cluster(&secret, &cluster(None)), None, "a user's own");
        let labels = secret.labels_mut();
        labels.insert(LABEL_CLUSTER.into(), "b".into());
        assert_eq!(
            other_cluster(&secret, &cluster(None)),
            None,
            "a user's label"
        );
        let labels = secret.labels_mut();
        labels.insert(LABEL_MANAGED_BY.into(), MANAGED_BY.into());
        let other = Some("b".to_owned());
        assert_eq!(other_cluster(&secret, &cluster(None)), other);
        let left = holding(&secret, &cluster(None), false);
        assert_eq!(left, Holding::Anothers);
        secret.labels_mut().insert(LABEL_CLUSTER.into(), "c".into());
        assert_eq!(other_cluster(&secret, &cluster(None)), None, "its own");
        let owner = json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "name": "b", "uid": "1"}]);
        secret.metadata.owner_references = serde_json::from_value(owner).expect("owners");
        assert_eq!(other_cluster(&secret, &cluster(None)), other);
    }

    #[test]
    fn only_the_record_of_the_cluster_itself_goes_with_it() {
        let finalizer = Holding::Finalizer;
        for (case, on_secret, on_cluster, needed, expected) in [
            ("its own", Some("m"), Some("m"), false, Holding::Record),
            ("needed", Some("m"), Some("m"), true, finalizer),
            ("in doubt", Some("m"), None, false, finalizer),
            ("another's", Some("other"), Some("m"), false, finalizer),
            ("none", None, None, false, finalizer),
        ] {
            let holding = holding(&secret(on_secret), &cluster(on_cluster), needed);
            assert_eq!(holding, expected, "{case}");
        }
    }
}
