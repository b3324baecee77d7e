//! What a person does to a Host.

use super::kubectl::{Object, list};
use crate::api::names::{ANNOTATION_INSTALLATION, ANNOTATION_REINSTALL, FINALIZER_IN_USE};
use crate::node::Marker;
use crate::words::word;

/// Columns: which UID has the claim of a Host.
const CLAIMS: &str = "HOST:.metadata.name,UID:.spec.consumerRef.uid";

/// Lists the Hosts, with the reason of each.
pub fn all(namespace: &str) -> String {
    list(namespace, "hosts")
}

/// Lists the Hosts, with what each says.
pub fn all_messages(namespace: &str) -> String {
    format!("{} -o wide", all(namespace))
}

/// Lists the Hosts, with the UID of the Machine that has each.
pub fn all_claims(namespace: &str) -> String {
    format!("{} -o custom-columns={CLAIMS}", all(namespace))
}

/// Finds the Host that the Machine of a UID has, and what that Host says.
pub fn of_machine(namespace: &str, uid: &str) -> String {
    format!(
        "{} -o custom-columns={CLAIMS},MESSAGE:.status.message | grep {}",
        all(namespace),
        word(uid)
    )
}

/// Prints what a Host says.
pub fn message(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).get("jsonpath='{.status.message}'")
}

/// Deletes a Host, which is not its server, and waits until it is gone.
pub fn delete(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).delete()
}

/// Deletes a Host, without a wait for its end.
pub fn delete_at_once(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).delete_at_once()
}

/// Registers a Host again without its claim. Needs jq, and keeps in a file what the Host was.
pub fn register_again(namespace: &str, host: &str) -> String {
    let object = Object::host(namespace, host);
    let (get, delete, host) = (object.get("json"), object.delete(), word(host));
    format!(
        "{get} >{host}-before.json && \
         jq '.metadata |= {{name, namespace, labels: (.labels // {{}})}} | del(.spec.consumerRef, .status)' {host}-before.json >{host}.json && \
         {delete} && kubectl apply -f {host}.json"
    )
}

/// Gives a Host the claim of a Machine; a claim that is `releasing` has the Host reset.
pub fn claim(namespace: &str, host: &str, of: &Marker, releasing: bool) -> String {
    // a Machine without the label of a Cluster has none
    let cluster = Some(of.cluster.as_str()).filter(|name| !name.is_empty());
    let patch = format!(
        "{{\"spec\":{{\"consumerRef\":{{\"name\":\"{}\",\"uid\":\"{}\",\"cluster\":\"{}\",\"releasing\":{releasing}}}}}}}",
        word(&of.machine),
        word(&of.uid),
        cluster.map_or("", word)
    );
    Object::host(namespace, host).merge(&patch)
}

/// Sets the Cluster of a claim back, which is final.
pub fn set_cluster(namespace: &str, host: &str, cluster: &str) -> String {
    let cluster = word(cluster);
    let patch = format!("{{\"spec\":{{\"consumerRef\":{{\"cluster\":\"{cluster}\"}}}}}}");
    Object::host(namespace, host).merge_as_manager(&patch)
}

/// Has a Host reset whose Machine does not exist any more.
pub fn release(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).merge("{\"spec\":{\"consumerRef\":{\"releasing\":true}}}")
}

/// Has a Host reset whose data was kept.
pub fn wipe(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).merge("{\"spec\":{\"wipePolicy\":\"reset\"}}")
}

/// Takes [`FINALIZER_IN_USE`] off a Host, where it is the one at this position: the Host goes at
/// once, whatever is on its server. Finalizers of others stay.
pub fn let_go(namespace: &str, host: &str, at: usize) -> String {
    let path = format!("/metadata/finalizers/{at}");
    Object::host(namespace, host).patch(&format!(
        "[{{\"op\":\"test\",\"path\":\"{path}\",\"value\":\"{FINALIZER_IN_USE}\"}},{{\"op\":\"remove\",\"path\":\"{path}\"}}]"
    ))
}

/// Installs a Host on the disk that the reader names: sets [`ANNOTATION_REINSTALL`].
pub fn reinstall(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).annotate(ANNOTATION_REINSTALL, "DISK")
}

/// Goes on with the system that is on a Host: removes [`ANNOTATION_INSTALLATION`].
pub fn keep_system(namespace: &str, host: &str) -> String {
    Object::host(namespace, host).unannotate(ANNOTATION_INSTALLATION)
}
