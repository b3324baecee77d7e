//! Commands that messages name as remedies, ready to be pasted: names that are not plain are left
//! for the reader to fill in. What cannot be undone is a verb of `tatara`, which checks first and
//! says what comes of it. By what they are done to; here those that several kinds have.

pub mod cluster;
pub mod definition;
pub mod host;
pub mod hypervisor;
mod kubectl;
pub mod machine;
pub mod secret;
pub mod workload;

use self::kubectl::Object;
use crate::api::names::{ANNOTATION_PAUSED, ANNOTATION_RETRY};
use crate::words::word;

/// What a Machine waits for.
pub fn describe_machine(namespace: &str, machine: &str) -> String {
    describe("machine", namespace, machine)
}

/// What a Cluster waits for, who has its control-plane turn, and who asks for it.
pub fn describe_cluster(namespace: &str, cluster: &str) -> String {
    describe("cluster", namespace, cluster)
}

/// What an object waits for.
pub fn describe(kind: &str, namespace: &str, name: &str) -> String {
    format!("tatara describe {kind} {} -n {namespace}", word(name))
}

/// The output of the steps of a Machine, from its host; of one `step`, or of all.
pub fn logs(namespace: &str, machine: &str, step: Option<&str>) -> String {
    let step = step.map_or_else(String::new, |step| format!(" --step {step}"));
    format!("tatara logs machine {} -n {namespace}{step}", word(machine))
}

/// That a Machine is to go, without a wait for its end.
pub fn delete_machine(namespace: &str, machine: &str) -> String {
    Object::machine(namespace, machine).delete_at_once()
}

/// That what a Machine runs on is destroyed, erased or disconnected for good: sets
/// [`ANNOTATION_HOST_IS_GONE`](crate::api::names::ANNOTATION_HOST_IS_GONE).
pub fn declare_gone(namespace: &str, machine: &str) -> String {
    format!(
        "tatara machine declare-gone {} -n {namespace}",
        word(machine)
    )
}

/// The conditions and Events of an object, with their whole messages; its kind is in lower case, as
/// in all commands.
pub fn conditions(kind: &str, namespace: &str, name: &str) -> String {
    Object::of(kind, namespace, name).command("describe")
}

/// Corrects an object that cannot be read.
pub fn edit(kind: &str, namespace: &str, name: &str) -> String {
    format!("kubectl edit {kind} {} -n {namespace}", word(name))
}

/// Holds an object still: sets [`ANNOTATION_PAUSED`].
pub fn pause(kind: &str, namespace: &str, name: &str) -> String {
    Object::of(kind, namespace, name).annotate(ANNOTATION_PAUSED, "")
}

/// Ends the pause of an object: removes [`ANNOTATION_PAUSED`].
pub fn resume(kind: &str, namespace: &str, name: &str) -> String {
    Object::of(kind, namespace, name).unannotate(ANNOTATION_PAUSED)
}

/// Retries at once what failed: sets [`ANNOTATION_RETRY`] to another value.
pub fn retry(kind: &str, namespace: &str, name: &str) -> String {
    let object = Object::of(kind, namespace, name);
    object.set("annotate --overwrite", ANNOTATION_RETRY, "\"$(date +%s)\"")
}

/// Replaces the Machines of a MachineDeployment by others of the same template: sets
/// [`ANNOTATION_RESTARTED_AT`](crate::api::names::ANNOTATION_RESTARTED_AT) of the template.
pub fn restart(namespace: &str, deployment: &str) -> String {
    format!("tatara rollout restart {} -n {namespace}", word(deployment))
}

/// Replaces the Machines of a MachineDeployment that the reader chooses, by others of the same
/// template.
pub fn restart_some() -> &'static str {
    "tatara rollout restart NAME"
}

#[cfg(test)]
mod tests;
