//! What a person does to a Machine.

use super::kubectl::{Object, as_manager, list};
use crate::api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_EXCLUDE_DRAIN, ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE,
    ANNOTATION_HYPERVISOR, LABEL_CLUSTER,
};
use crate::words::{is_plain, word};

/// That a Machine is to go; kubectl waits until it is gone, which [`super::delete_machine`] does
/// not.
pub fn delete(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).delete()
}

/// Edits a Machine.
pub fn edit(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).command("edit")
}

/// Edits what is final on a Machine, to set it back.
pub fn edit_as_manager(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).command(&as_manager("edit"))
}

/// Prints a Machine, to copy from.
pub fn manifest(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).get("yaml")
}

/// What happened to a Machine.
pub fn events(namespace: &str, machine: &str) -> String {
    format!(
        "kubectl -n {namespace} events --for machine/{}",
        word(machine)
    )
}

/// The UIDs of all Machines and the Hosts that they chose, by their [`ANNOTATION_HOST`].
pub fn hosts_of_all(namespace: &str) -> String {
    format!(
        "{} -o custom-columns='NAME:.metadata.name,UID:.metadata.uid,HOST:.metadata.annotations.tatara\\.dev/host'",
        list(namespace, "machines")
    )
}

/// Has the set of a Machine delete it first when it shrinks: sets [`ANNOTATION_DELETE_MACHINE`].
pub fn mark(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).annotate(ANNOTATION_DELETE_MACHINE, "")
}

/// Neither drains the Node of a Machine nor waits for its volumes: sets
/// [`ANNOTATION_EXCLUDE_DRAIN`].
pub fn skip_drain(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).annotate(ANNOTATION_EXCLUDE_DRAIN, "")
}

/// Removes annotations by which others hold the end of a Machine:
/// [`HOOK_PRE_DRAIN`](crate::api::names::HOOK_PRE_DRAIN) and
/// [`HOOK_PRE_TERMINATE`](crate::api::names::HOOK_PRE_TERMINATE).
pub fn remove_hooks(namespace: &str, machine: &str, hooks: &[&str]) -> String {
    Object::machine(namespace, machine).unannotate(&hooks.join("- "))
}

/// Takes back that what a Machine runs on is gone: removes [`ANNOTATION_HOST_IS_GONE`].
pub fn take_back_gone(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).unannotate(ANNOTATION_HOST_IS_GONE)
}

/// Removes the annotation that names the place of a Machine, [`ANNOTATION_HOST`] or
/// [`ANNOTATION_HYPERVISOR`], where it is another's.
pub fn remove_place(namespace: &str, machine: &str, annotation: &str) -> String {
    Object::machine(namespace, machine).unannotate(annotation)
}

/// Names the Host that a Machine runs on: sets [`ANNOTATION_HOST`].
pub fn set_host(namespace: &str, machine: &str, host: &str) -> String {
    let machine = Object::machine(namespace, machine);
    machine.set("annotate --overwrite", ANNOTATION_HOST, word(host))
}

/// Sets [`ANNOTATION_HYPERVISOR`] back.
pub fn set_hypervisor(namespace: &str, machine: &str, hypervisor: &str) -> String {
    let machine = Object::machine(namespace, machine);
    let verb = as_manager("annotate --overwrite");
    machine.set(&verb, ANNOTATION_HYPERVISOR, word(hypervisor))
}

/// Sets the label of its Cluster back, which is final once a Machine has its provider ID.
pub fn set_cluster(namespace: &str, machine: &str, cluster: &str) -> String {
    let machine = Object::machine(namespace, machine);
    let verb = as_manager("label --overwrite");
    machine.set(&verb, LABEL_CLUSTER, word(cluster))
}

/// Adds the label of its Cluster, which the reader knows, to a Machine that has none.
pub fn add_cluster(namespace: &str, machine: &str) -> String {
    let machine = Object::machine(namespace, machine);
    machine.set(&as_manager("label"), LABEL_CLUSTER, "CLUSTER")
}

/// Sets the provider ID of a Machine back.
pub fn set_provider_id(namespace: &str, machine: &str, id: &str) -> String {
    let patch = format!("{{\"spec\":{{\"providerID\":\"{id}\"}}}}");
    Object::machine(namespace, machine).merge_as_manager(&patch)
}

/// Sets the versions of a Machine. A node reports which one its kubelet has, and may report
/// anything.
pub fn set_versions(
    namespace: &str,
    machine: &str,
    kubelet: &str,
    control_plane: Option<&str>,
) -> String {
    let control_plane =
        control_plane.map(|text| format!(",\"controlPlane\":\"{}\"", version(text)));
    let patch = format!(
        "{{\"spec\":{{\"versions\":{{\"kubelet\":\"{}\"{}}}}}}}",
        version(kubelet),
        control_plane.unwrap_or_default()
    );
    Object::machine(namespace, machine).merge(&patch)
}

/// A version, also one with build metadata, such as `v1.36.3+dist.1`.
fn version(text: &str) -> &str {
    if is_plain(&text.replace('+', "-")) {
        text
    } else {
        "VERSION"
    }
}

/// Gives up the wait for a machine that does not answer, 60 s after its deletion.
pub fn limit_release(namespace: &str, machine: &str) -> String {
    let patch = "{\"spec\":{\"deletion\":{\"hostReleaseTimeoutSeconds\":60}}}";
    Object::machine(namespace, machine).merge(patch)
}
