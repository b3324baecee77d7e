//! The Secrets of a Cluster as they were last read or written, without data: before a write they
//! need not be read again.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::Clusters;
use super::sources::Now;
use crate::controllers::cluster_cache::{ClusterMemories, ClusterMemory};
use tatara_core::api::Cluster;
use tatara_core::api::cluster_provider_spec::AddonKind;

/// Annotation in which kubectl keeps the last applied object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Records that a Secret was read, or does not exist.
pub fn read(known: &ClusterMemories, cluster: &Cluster, name: &str, secret: Option<&Secret>) {
    known.update(&cluster.uid().unwrap_or_default(), |known| match secret {
        Some(secret) => drop(known.secrets.insert(name.to_owned(), emptied(secret))),
        None => drop(known.secrets.remove(name)),
    });
}

/// Records a write of the manager, whose content is known: the watch event for it is not a change.
pub fn wrote(controller: &Clusters, cluster: &Cluster, secret: &Secret) {
    let uid = cluster.uid().unwrap_or_default();
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    let now = Now::At(secret.resource_version().unwrap_or_default());
    let source = (AddonKind::Secret, namespace, name.clone());
    controller.secret_names.is_there(&source.1, &source.2);
    let was_told = controller.secrets.wrote(&source, now);
    let revision = controller.secrets.revision(&uid);
    controller.workloads.known.update(&uid, |known| {
        known.secrets.insert(name, emptied(secret));
        catch_up(known, was_told, revision);
    });
}

/// Accepts the revision if the watch showed only our own write; any other event requires a read.
fn catch_up(known: &mut ClusterMemory, was_told: bool, revision: u64) {
    if was_told && known.secrets_at.map(|at| at + 1) == Some(revision) {
        known.secrets_at = Some(revision);
    }
}

/// Invalidates the cached Secrets: the next pass reads them even without a watch event.
pub fn read_again(known: &ClusterMemories, cluster: &Cluster) {
    known.update(&cluster.uid().unwrap_or_default(), |known| {
        known.secrets_at = None;
    });
}

fn emptied(secret: &Secret) -> Secret {
    let mut secret = secret.clone();
    (secret.data, secret.string_data) = (None, None);
    secret.metadata.managed_fields = None;
    // kubectl apply repeats the data there
    secret.annotations_mut().remove(LAST_APPLIED);
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_the_watch_told_of_already_is_not_read_again() {
        for (told, revision, expected) in [(true, 4, 4), (true, 5, 3), (false, 3, 3), (false, 4, 3)]
        {
            let mut known = ClusterMemory {
                secrets_at: Some(3),
                ..ClusterMemory::default()
            };
            catch_up(&mut known, told, revision);
            assert_eq!(known.secrets_at, Some(expected), "{told} {revision}");
        }
    }
}
