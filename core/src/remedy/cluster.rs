//! What a person does to a Cluster, and to its CA Secret, which has the same records.

use super::kubectl::Object;
use crate::api::names::{ANNOTATION_HOST_IS_GONE, ANNOTATION_SETTINGS_KEPT};
use crate::words::word;

/// Edits a Cluster.
pub fn edit(namespace: &str, cluster: &str) -> String {
    Object::cluster(namespace, cluster).command("edit")
}

/// Deletes a Cluster, which resets all of its hosts, and waits until it is gone.
pub fn delete(namespace: &str, cluster: &str) -> String {
    Object::cluster(namespace, cluster).delete()
}

/// Shows how the records of a Cluster contradict each other, and what the manager last saw of each
/// host; with one of its options it corrects them.
pub fn resolve(namespace: &str, cluster: &str) -> String {
    format!("tatara cluster resolve {} -n {namespace}", word(cluster))
}

/// Records on both that this Machine ran `kubeadm init`.
pub fn made_by(namespace: &str, cluster: &str, machine: &str) -> String {
    let resolve = resolve(namespace, cluster);
    format!("{resolve} --made-by {}", word(machine))
}

/// The same of a Machine that may not exist any more.
pub fn made_by_uid(namespace: &str, cluster: &str, uid: &str) -> String {
    let resolve = resolve(namespace, cluster);
    format!("{resolve} --made-by-uid {}", word(uid))
}

/// Removes a turn that cannot be read.
pub fn return_turn(namespace: &str, cluster: &str) -> String {
    let resolve = resolve(namespace, cluster);
    format!("{resolve} --return-turn")
}

/// That what a Machine ran on is destroyed, erased or disconnected for good, where the Machine does
/// not exist any more: sets [`ANNOTATION_HOST_IS_GONE`].
pub fn say_gone(namespace: &str, cluster: &str, uid: &str) -> String {
    Object::cluster(namespace, cluster).annotate(ANNOTATION_HOST_IS_GONE, word(uid))
}

/// Takes that back: removes [`ANNOTATION_HOST_IS_GONE`].
pub fn take_back_gone(namespace: &str, cluster: &str) -> String {
    Object::cluster(namespace, cluster).unannotate(ANNOTATION_HOST_IS_GONE)
}

/// Applies settings that were edited under a release that applied none: removes
/// [`ANNOTATION_SETTINGS_KEPT`].
pub fn apply_settings(namespace: &str, cluster: &str) -> String {
    Object::cluster(namespace, cluster).unannotate(ANNOTATION_SETTINGS_KEPT)
}
