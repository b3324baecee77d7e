//! Messages for a turn that another Machine has, and for objects that contradict each other.

use super::super::cluster::ObservedCluster;
use crate::Why;
use crate::api::cluster::{Cluster, Turn};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{ANNOTATION_SETTINGS, ANNOTATION_TURN};
use crate::control_plane::turn::{Doubt, Side};
use crate::node::Marker;
use crate::remedy;
use crate::words::word;

/// A Cluster, for the commands in a message.
#[derive(Clone, Copy, Debug)]
pub struct ClusterName<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl<'a> ClusterName<'a> {
    /// The Cluster of a Machine.
    pub fn of(marker: &'a Marker) -> Self {
        Self {
            namespace: &marker.namespace,
            name: &marker.cluster,
        }
    }

    /// This Cluster.
    pub fn of_cluster(cluster: &'a Cluster) -> Self {
        let metadata = &cluster.metadata;
        Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
        }
    }
}

impl Doubt {
    /// The reason of the condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreadable(..) | Self::TwoHolders(..) => Reason::TurnInDoubt,
            Self::RecordOnSecretOnly(_) | Self::TwoRecords(..) => Reason::ControlPlaneInDoubt,
            Self::Reported(reason) => *reason,
        }
    }

    /// Cause and remedy.
    pub fn message(&self, cluster: ClusterName) -> String {
        let ClusterName { namespace, name } = cluster;
        match self {
            Self::Unreadable(side, text) => {
                let (kind, object) = match side {
                    Side::Secret => ("secret", format!("{name}-ca")),
                    Side::Cluster => ("cluster", name.to_owned()),
                };
                format!(
                    "annotation {ANNOTATION_TURN} of {kind} {object} is {text:?}, which names no Machine; any control-plane Machine may be running kubeadm init, so nothing proceeds. {}",
                    resolve(cluster)
                )
            }
            Self::TwoHolders(on_secret, on_cluster) => format!(
                "Secret {name}-ca names Machine {} (uid {}) as the holder of the control-plane turn, Cluster {name} names Machine {} (uid {}); each may be running kubeadm init, so nothing proceeds. {}. {} \
                 Delete the other one: its turn is returned once its host is reset, or powered off through its BMC. {}",
                on_secret.name,
                on_secret.machine,
                on_cluster.name,
                on_cluster.machine,
                resolve(cluster),
                which_made_it(cluster),
                host_is_gone(cluster, "NAME", "UID"),
            ),
            Self::RecordOnSecretOnly(by) => format!(
                "Secret {name}-ca records that the Machine with UID {by} created a control plane, but Cluster {name} has no record of it, for example after a restore of only one of the two; kubeadm init is not started. \
                 Record it on the Cluster, also if the host of that Machine is off: {}. \
                 Only if /var/lib/etcd of that host is lost: delete the Cluster, which resets all of its hosts, and apply it again, so that it gets a CA of its own; delete CA Secrets that you supplied as well, and create them again",
                remedy::cluster::made_by_uid(namespace, name, by)
            ),
            Self::TwoRecords(on_secret, on_cluster) => format!(
                "Secret {name}-ca records that the Machine with UID {on_secret} created the control plane, but Cluster {name} records the one with UID {on_cluster}; kubeadm init is not started. {} {}. {}",
                which_made_it(cluster),
                resolve(cluster),
                both_or_neither(cluster)
            ),
            Self::Reported(_) => format!(
                "Cluster {name} and its CA Secret contradict each other, so nothing proceeds. Condition {} says how, and what to do: {}",
                ConditionType::ControlPlaneInitialized,
                remedy::conditions("cluster", namespace, name)
            ),
        }
    }

    /// A condition that does not hold because of it.
    pub fn finding(&self, condition: ConditionType, cluster: ClusterName) -> Finding {
        Finding::no(condition, self.reason(), self.message(cluster))
    }
}

/// Another Machine has the turn.
pub fn blocked(condition: ConditionType, by: &Turn, cluster: ClusterName) -> Finding {
    let ClusterName { namespace, name } = cluster;
    let look = remedy::describe_machine(namespace, &by.name);
    let all = remedy::describe_cluster(namespace, name);
    Finding::no(
        condition,
        Reason::WaitingForTurn,
        format!(
            "Machine {holder} (uid {}) has the turn to run kubeadm init; this one joins once that has succeeded, and nobody has to act. If it does not proceed: {look}. If that Machine does not exist any more: {all} shows how its turn is returned",
            by.machine,
            holder = word(&by.name),
        ),
    )
}

/// The Cluster does not record which Machine ran `kubeadm init`, though there is a control plane.
pub fn lost_record(observed: &ObservedCluster, cluster: ClusterName) -> Why {
    match observed.initialized_by_secret.clone() {
        Some(by) => {
            let doubt = Doubt::RecordOnSecretOnly(by);
            Why::new(doubt.reason(), doubt.message(cluster))
        }
        None => without_record(cluster),
    }
}

/// Nor does its CA Secret.
pub fn without_record(cluster: ClusterName) -> Why {
    let name = cluster.name;
    let cause = format!(
        "Cluster {name} and its CA Secret have lost the record of the Machine that ran kubeadm init; it is written again once the host of that Machine answers, if there still is one."
    );
    Why::new(Reason::InitRecordMissing, cause).remedied(format!(
        "If that does not come, record a Machine whose control plane runs (or, if none does, delete the Cluster, which resets all of its hosts): {}",
        resolve(cluster)
    ))
}

/// The marker on the host of a Machine records `kubeadm init`, but another Machine is recorded as
/// the one that ran it.
pub fn made_twice(
    condition: ConditionType,
    this: &str,
    recorded: &str,
    cluster: ClusterName,
) -> Finding {
    let name = cluster.name;
    let message = format!(
        "the host of this Machine (uid {this}) says that kubeadm init succeeded there, but the Machine with UID {recorded} is recorded as the one that created the control plane of Cluster {name}. {} \
         If it is the host of UID {recorded}: delete this Machine; its condition Deleting then says how its host is reset. If it is the host of this Machine: {}. {}",
        which_made_it(cluster),
        remedy::cluster::made_by_uid(cluster.namespace, name, this),
        both_or_neither(cluster)
    );
    Finding::no(condition, Reason::ControlPlaneInDoubt, message)
}

/// How two Machines are told apart by their hosts.
fn which_made_it(cluster: ClusterName) -> String {
    format!(
        "Find both hosts: {}. \
         The one on which kubeadm init succeeded has \"initialized\":true in /var/lib/tatara/owner.json, and runs etcd (pidof etcd).",
        remedy::machine::hosts_of_all(cluster.namespace)
    )
}

/// A record is changed by the manager's account alone, and the manager never changes one: a person
/// does, who has looked.
fn resolve(cluster: ClusterName) -> String {
    format!(
        "{} shows what is recorded and what was last seen of each host; it changes nothing until you choose",
        remedy::cluster::resolve(cluster.namespace, cluster.name)
    )
}

fn both_or_neither(cluster: ClusterName) -> String {
    let name = cluster.name;
    format!(
        "If it is both: keep the one that is in use, and delete the other Machine. If none is needed: delete Cluster {name}, which resets all of its hosts, and apply it again"
    )
}

/// What remains where a host cannot prove anything. That its Machine does not exist says nothing of
/// a host, which may run kubeadm init: its Host is looked for first.
fn host_is_gone(cluster: ClusterName, machine: &str, uid: &str) -> String {
    let namespace = cluster.namespace;
    let gone = remedy::declare_gone(namespace, machine);
    format!(
        "Only if its host is destroyed, erased or disconnected for good: {gone}. \
         If that Machine does not exist any more: {}",
        of_nobody(cluster, uid)
    )
}

/// The way to the host of a Machine that does not exist.
pub fn of_nobody(cluster: ClusterName, uid: &str) -> String {
    let ClusterName { namespace, name } = cluster;
    format!(
        "find its host: {}; \
         the status message of that Host says how it is reset; the reset returns the turn. A Host that is missing or does not answer proves nothing. A virtual machine has no Host: condition MachinesKnown of its Hypervisor names it. \
         Only if what it ran on is destroyed, erased or disconnected for good: {}",
        remedy::host::of_machine(namespace, uid),
        remedy::cluster::say_gone(namespace, name, uid)
    )
}

/// Evidence that another Machine may have run `kubeadm init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// This control-plane Machine, for which kubeadm was started.
    Machine(String),
    /// This control-plane Machine, whose label names another Cluster, or none, and which none
    /// records.
    Stray {
        /// Its name.
        machine: String,
        /// The Cluster of its label.
        label: Option<String>,
    },
    /// This worker, for which kubeadm was started: so there was a control plane to join.
    Worker(String),
    /// A Host that has the key of the Cluster's CA.
    Host {
        /// Its name.
        name: String,
        /// The Machine that its marker names.
        owner: Option<Marker>,
        /// That Machine exists and claims it: with the Cluster it is deleted, and the Host reset.
        is_claimed: bool,
    },
}

/// Another Machine may have run `kubeadm init`, and the Cluster does not record it.
pub fn witnessed(condition: ConditionType, witness: &Witness, cluster: ClusterName) -> Finding {
    let ClusterName { namespace, name } = cluster;
    let message = match witness {
        Witness::Machine(machine) => format!(
            "kubeadm was started for Machine {machine}, as its annotation {ANNOTATION_SETTINGS} says, but Cluster {name} has no record of it, for example after an edit or a restore; kubeadm init is not started a second time. \
             If its control plane runs: {}. \
             Only if that control plane is not wanted, which loses its state: {}",
            remedy::cluster::made_by(namespace, name, machine),
            remedy::machine::delete(namespace, machine)
        ),
        Witness::Stray { machine, label } => {
            let (said, keep) = match label {
                Some(of) => (
                    format!("its label names Cluster {of}, which has no record of it"),
                    format!(
                        "If Cluster {of} is only missing here: apply it again as it was, with its CA"
                    ),
                ),
                None => (
                    "it has no label that names a Cluster".to_owned(),
                    format!(
                        "If it belongs to one: {}",
                        remedy::machine::add_cluster(namespace, machine)
                    ),
                ),
            };
            format!(
                "kubeadm was started for control-plane Machine {machine}; {said}, so it is unknown whose control plane it created; kubeadm init is not started. \
                 {keep}. Only if nobody needs the control plane that may run on its host, which is reset then and loses its state: {}",
                remedy::machine::delete(namespace, machine)
            )
        }
        Witness::Worker(worker) => format!(
            "kubeadm was started for worker {worker}, as its annotation {ANNOTATION_SETTINGS} says, so Cluster {name} had a control plane of which it has no record; kubeadm init is not started a second time. \
             Find the host that has \"initialized\":true in /var/lib/tatara/owner.json, and there the UID of its Machine; then: {} --force. \
             If that host does not exist any more: delete Cluster {name}, which resets all its hosts, and apply it again",
            remedy::cluster::made_by_uid(namespace, name, "UID")
        ),
        Witness::Host {
            name: host,
            owner,
            is_claimed,
        } => {
            let by = owner.as_ref().map_or_else(
                || "no Machine".to_owned(),
                |owner| format!("Machine {} (uid {})", owner.machine, owner.uid),
            );
            // a command is given where the UID is known
            let keep = owner.as_ref().map_or_else(String::new, |owner| {
                let made_by = remedy::cluster::made_by_uid(namespace, name, &owner.uid);
                format!("If it runs: {made_by} --force. ")
            });
            let end = if *is_claimed {
                format!("delete Cluster {name}, which resets the Host, and apply it again")
            } else {
                format!(
                    "have the Host reset, or erase its server; {} says how",
                    remedy::host::message(namespace, host)
                )
            };
            format!(
                "Host {host} has the key of this Cluster's CA, and its marker names {by}: a control plane of which Cluster {name} has no record may run there, for example after a restore; kubeadm init is not started a second time. \
                 {keep}Only if that control plane is not wanted, which loses its state: {end}"
            )
        }
    };
    Finding::no(condition, Reason::ControlPlaneInDoubt, message)
}

/// The marker of a Machine's host names another Cluster than its label, or its claim, does: a
/// marker cannot be edited by accident, and what it made is that Cluster's.
pub fn of_another(
    condition: ConditionType,
    marker: &Marker,
    host: &str,
    cluster: ClusterName,
) -> Option<Finding> {
    let ClusterName { namespace, name } = cluster;
    if (marker.namespace.as_str(), marker.cluster.as_str()) == (namespace, name) {
        return None;
    }
    let (of, machine) = (&marker.cluster, &marker.machine);
    let message = format!(
        "the marker on its host names Cluster {}/{of}, but the Machine names Cluster {namespace}/{name}; nothing is run there, and nothing is recorded. Restore what was edited, in the manager's name. \
         The claim of the Host: {}. \
         The label: {}",
        marker.namespace,
        remedy::host::set_cluster(namespace, host, of),
        remedy::machine::set_cluster(namespace, machine, of)
    );
    Some(Finding::no(condition, Reason::ControlPlaneInDoubt, message))
}

/// The marker on the host of a Machine records `kubeadm init`, and the host has the key of another
/// CA than the Cluster.
pub fn of_another_authority(condition: ConditionType, cluster: ClusterName) -> Finding {
    let ClusterName { namespace, name } = cluster;
    let message = format!(
        "kubeadm init succeeded on the host of this Machine with another CA than that of Secret {name}-ca, for example because that Secret was edited, or Cluster {name} was force-deleted and created again; the control plane is not recorded. \
         To keep this control plane, copy ca.crt and ca.key from /etc/kubernetes/pki of the host into the Secret: {}. \
         Only if it is not wanted, delete Cluster {name}, which resets the host, and apply it again: {}",
        remedy::secret::put_back_authority(namespace, &format!("{name}-ca")),
        remedy::cluster::delete(namespace, name)
    );
    Finding::no(condition, Reason::ControlPlaneInDoubt, message)
}

/// A control-plane Machine of a Cluster with an external control plane, which needs no turn.
pub fn external(condition: ConditionType, cluster: ClusterName) -> Finding {
    let name = cluster.name;
    Finding::no(
        condition,
        Reason::ControlPlaneJoinUnsupported,
        format!(
            "Cluster {name} has an external control plane, because its Secret {name}-kubeconfig was supplied; that cannot change. Delete this Machine; for a control plane that Tatara runs, create another Cluster"
        ),
    )
}

/// The certificates of the Cluster were not read since the manager started.
pub fn unread(condition: ConditionType, cluster: ClusterName) -> Finding {
    let name = cluster.name;
    Finding::no(
        condition,
        Reason::WaitingForCertificates,
        format!(
            "the certificates of Cluster {name} are not read yet; they identify a host on which kubeadm init has already run, so kubeadm init waits for them. If this persists, the condition CertificatesReady of the Cluster says what to do"
        ),
    )
}

/// Turn and record are kept on the CA Secret, which is missing.
pub fn no_secret(condition: ConditionType, cluster: ClusterName) -> Finding {
    let name = cluster.name;
    Finding::no(
        condition,
        Reason::WaitingForCertificates,
        format!(
            "Secret {name}-ca, on which the control-plane turn is kept, does not exist; the condition CertificatesReady of Cluster {name} says what to do"
        ),
    )
}
