//! Whether a machine may be declared gone, by what objects show of it; and what comes of that.
//! Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::cli::describe::age::age;
use crate::cli::place;
use tatara_core::api::names::{
    ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE, ANNOTATION_HYPERVISOR, ANNOTATION_INITIALIZED,
    LABEL_CONTROL_PLANE,
};
use tatara_core::api::{Cluster, Host, Hypervisor, Machine};
use tatara_core::machine::is_begun;
use tatara_core::remedy::{delete_machine, describe_machine};
use tatara_core::words::word;

/// What is read of a machine.
#[derive(Clone, Debug)]
pub struct Known {
    /// The Machine.
    pub machine: Machine,
    /// Its Cluster, if there is one.
    pub cluster: Option<Cluster>,
    /// The other Machines of that.
    pub others: Vec<Machine>,
    /// The Host with its claim; or with its marker; or that it has chosen.
    pub host: Option<Host>,
    /// The Hypervisor of its virtual machine.
    pub hypervisor: Option<Hypervisor>,
}

/// Why a machine is not declared gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// That would change nothing.
    Useless(String),
    /// Something shows that it is there. A person may know better.
    Shown(String),
}

/// The name of the Hypervisor, as the Machine has it.
pub fn hypervisor(machine: &Machine) -> Option<&str> {
    let of = machine.annotations().get(ANNOTATION_HYPERVISOR);
    of.map(String::as_str)
}

/// The Host on which the Machine is.
pub fn host(machine: &Machine, hosts: &[Host]) -> Option<Host> {
    let chosen = machine.annotations().get(ANNOTATION_HOST);
    place::host(hosts, uid(machine), chosen).cloned()
}

fn uid(machine: &Machine) -> &str {
    machine.metadata.uid.as_deref().unwrap_or_default()
}

/// Whether a Machine may be a member of the control plane: kubeadm was begun for it.
fn is_member(machine: &Machine) -> bool {
    (machine.is_control_plane() || machine.labels().contains_key(LABEL_CONTROL_PLANE))
        && is_begun(machine)
}

/// What speaks against it.
pub fn objection(known: &Known, now: Timestamp) -> Option<Objection> {
    useless(known)
        .map(Objection::Useless)
        .or_else(|| shown(known, now).map(Objection::Shown))
}

/// Why nothing would come of it.
fn useless(known: &Known) -> Option<String> {
    let Known { machine, .. } = known;
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let uid = machine.metadata.uid.as_ref();
    if machine.annotations().get(ANNOTATION_HOST_IS_GONE) == uid {
        let then = if machine.metadata.deletion_timestamp.is_some() {
            format!(
                "{} says what it waits for",
                describe_machine(&namespace, &name)
            )
        } else {
            format!(
                "it takes effect when it is deleted: {}",
                delete_machine(&namespace, &name)
            )
        };
        return Some(format!("it is declared gone already; {then}"));
    }
    let cluster = known.cluster.as_ref();
    let stays = cluster.filter(|cluster| cluster.metadata.deletion_timestamp.is_none());
    let is_made = |cluster: &&Cluster| cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    let goes = |other: &Machine| other.metadata.deletion_timestamp.is_some();
    let is_last = !known
        .others
        .iter()
        .any(|other| is_member(other) && !goes(other));
    if let Some(cluster) = stays
        .filter(is_made)
        .filter(|_| is_last && is_member(machine))
    {
        let name = cluster.name_any();
        return Some(format!(
            "it is the last control-plane Machine of Cluster {name} that has joined and is not being deleted: with it the state of that Cluster would go. Create another first, which joins while this one serves. Only if all of it is to go: kubectl -n {namespace} delete cluster {}",
            word(&name)
        ));
    }
    let has_place = known.host.is_some()
        || hypervisor(machine).is_some()
        || machine.annotations().contains_key(ANNOTATION_HOST);
    (!has_place && !is_begun(machine)).then(|| {
        format!(
            "kubeadm was not begun for it, and it has no host, so nothing of it runs: {}",
            delete_machine(&namespace, &name)
        )
    })
}

/// What shows that it is there.
fn shown(known: &Known, now: Timestamp) -> Option<String> {
    let Known { machine, .. } = known;
    let answers = |kind: &str, name: String, conditions: &[Condition], what: &str| {
        let (answers, since) = place::answers(conditions)?;
        let since = age(since, now);
        answers.then(|| {
            format!(
                "condition Reachable of {kind} {name} says that it answers the manager, for {since}. {what}. If it has just failed, wait until the condition says so, which needs a manager that runs"
            )
        })
    };
    let conditions = |conditions: Option<&Vec<Condition>>| conditions.cloned().unwrap_or_default();
    if let Some(host) = &known.host {
        let (has_claim, has_marker) = (
            place::claims(host, uid(machine)),
            place::marks(host, uid(machine)),
        );
        // another has it by now, and nothing of this Machine is seen there
        if !has_claim && !has_marker {
            return None;
        }
        let what = if has_claim {
            "A server that answers is reset after the deletion of its Machine; condition Available of the Host says if it is not"
        } else {
            "Its server has the marker of this Machine: restore the claim, condition InfrastructureReady or Deleting of the Machine has the command"
        };
        let status = host.status.as_ref();
        let all = conditions(status.map(|status| &status.conditions));
        return answers("Host", host.name_any(), &all, what).or_else(|| is_on(host, machine));
    }
    let hypervisor = known.hypervisor.as_ref()?;
    let status = hypervisor.status.as_ref();
    let all = conditions(status.map(|status| &status.conditions));
    let what = "It is asked to delete the virtual machine when the Machine is deleted; condition Deleting says if that fails";
    answers("Hypervisor", hypervisor.name_any(), &all, what)
}

/// A server that does not answer, and runs.
fn is_on(host: &Host, machine: &Machine) -> Option<String> {
    let bmc = host.status.as_ref()?.bmc.as_ref()?;
    let is_on = bmc.power_state.as_deref() == Some("On");
    let claim = host.spec.consumer_ref.as_ref();
    let then = if claim.is_some_and(|claim| claim.releasing) {
        "Cut its power: its Machine is removed once its BMC reports that it is off".to_owned()
    } else {
        format!(
            "Delete the Machine first ({}): its Host is released after the drain, and the manager cuts the power of one that does not answer",
            delete_machine(
                &machine.namespace().unwrap_or_default(),
                &machine.name_any()
            )
        )
    };
    is_on.then(|| {
        format!(
            "the BMC of Host {} reports that its server is on, which may run its Pods. {then}",
            host.name_any()
        )
    })
}

/// What comes of it, a sentence each.
pub fn consequences(known: &Known) -> Vec<String> {
    let Known { machine, .. } = known;
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let mut all = Vec::new();
    all.push(if machine.metadata.deletion_timestamp.is_some() {
        "It is being deleted: this takes effect at once, but for its hooks and for an etcd member that the others cannot do without, and cannot be undone".to_owned()
    } else {
        format!(
            "It is not being deleted: this takes effect when it is ({})",
            delete_machine(&namespace, &name)
        )
    });
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    let stays = known.cluster.as_ref();
    let stays = stays.filter(|cluster| cluster.metadata.deletion_timestamp.is_none());
    if let Some(node) = node.filter(|_| stays.is_some()) {
        all.push(format!(
            "Node {node} is deleted without a drain: its Pods start on other Nodes, also those with volumes that one Node at a time may use"
        ));
    }
    if let Some(cluster) = stays.filter(|_| is_member(machine)) {
        all.push(format!(
            "Its etcd member is removed as soon as the others of Cluster {} can do without it, and its control-plane turn, if it has that, goes to others",
            cluster.name_any()
        ));
    }
    all.push(of_place(known));
    all.push(
        "If it is not gone, the same Pods run twice, and write to the same storage twice".into(),
    );
    all
}

/// What becomes of that on which it is.
fn of_place(known: &Known) -> String {
    let Known { machine, .. } = known;
    let chosen = machine.annotations().get(ANNOTATION_HOST);
    match (&known.host, hypervisor(machine), chosen) {
        (Some(host), ..) if place::claims(host, uid(machine)) => format!(
            "Host {} is not reset: no other Machine gets it before its server answers and is reset",
            host.name_any()
        ),
        (Some(host), ..) => format!(
            "Host {} has another claim, or none, and is left as it is",
            host.name_any()
        ),
        (None, Some(hypervisor), _) if known.hypervisor.is_none() => {
            format!("Hypervisor {hypervisor} does not exist: nothing deletes its virtual machine")
        }
        (None, Some(hypervisor), _) => format!(
            "Its virtual machine is not deleted while Hypervisor {hypervisor} does not answer; it is once that does"
        ),
        (None, None, Some(host)) => {
            format!("Host {host} does not exist: nothing resets its server")
        }
        (None, None, None) => "Its host is not recorded: nothing resets its server".into(),
    }
}

#[cfg(test)]
#[path = "gone_tests.rs"]
mod tests;
