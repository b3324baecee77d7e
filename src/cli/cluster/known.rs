//! What is read of a Cluster, and of the Machines that may have its control plane. Pure.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

use crate::cli::place;
use tatara_core::api::cluster::Turn;
use tatara_core::api::conditions::{ConditionType, Reason, is_true};
use tatara_core::api::host::MarkerReference;
use tatara_core::api::names::{ANNOTATION_HOST, ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use tatara_core::api::{Cluster, Host, Machine};
use tatara_core::cluster::live::end::other_cluster;
use tatara_core::control_plane::turn::{Both, Holder, Marks};
use tatara_core::machine::is_begun;
use tatara_core::shown::MadeThere;
use tatara_core::words::is_plain;

/// The CA Secret of a Cluster, without what is in it.
#[derive(Clone, Debug)]
pub enum CaSecret {
    /// It was read.
    Seen(Box<ObjectMeta>),
    /// It does not exist.
    Missing,
    /// The caller may not read it: message of the API server.
    Hidden(String),
}

/// What is read.
#[derive(Clone, Debug)]
pub struct Known {
    /// The Cluster.
    pub cluster: Cluster,
    /// Its CA Secret.
    pub secret: CaSecret,
    /// All Machines of its namespace.
    pub machines: Vec<Machine>,
    /// All Hosts of its namespace.
    pub hosts: Vec<Host>,
}

/// A Machine that may have the control plane. It may not exist any more.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Its UID.
    pub uid: String,
    /// The Machine, if it exists.
    pub machine: Option<&'a Machine>,
    /// Its name, as far as anything tells it.
    pub name: Option<String>,
    /// The Host that has its claim, or its marker.
    pub host: Option<&'a Host>,
    /// The Hypervisor of its virtual machine.
    pub hypervisor: Option<&'a str>,
    /// The Cluster has a record, or its CA Secret has, that it ran `kubeadm init`.
    pub is_recorded: bool,
    /// The marker on its host says that `kubeadm init` of this Cluster succeeded there, as far as
    /// that is reported.
    pub shows_init: bool,
}

impl Known {
    /// Namespace of the Cluster.
    pub fn namespace(&self) -> &str {
        self.cluster
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default()
    }

    /// Name of the Cluster.
    pub fn name(&self) -> &str {
        self.cluster.metadata.name.as_deref().unwrap_or_default()
    }

    /// UIDs of the Cluster and of its CA Secret.
    pub fn uids(&self) -> [Option<&String>; 2] {
        let secret = match &self.secret {
            CaSecret::Seen(metadata) => metadata.uid.as_ref(),
            CaSecret::Missing | CaSecret::Hidden(_) => None,
        };
        [self.cluster.metadata.uid.as_ref(), secret]
    }

    /// Turn and record on both, if both may be read.
    pub fn both(&self) -> Option<Both> {
        let secret = match &self.secret {
            CaSecret::Seen(metadata) => {
                let annotations = metadata.annotations.clone().unwrap_or_default();
                Some(Marks::of(&annotations))
            }
            CaSecret::Missing => None,
            CaSecret::Hidden(_) => return None,
        };
        Some(Both::of(secret, &self.cluster))
    }

    /// The same; of a Secret that may not be read, nothing.
    pub fn marks(&self) -> Both {
        self.both().unwrap_or_else(|| Both::unread(&self.cluster))
    }

    /// Who has the turn, by the Secret and by the Cluster.
    pub fn holders(&self) -> Vec<Turn> {
        let Both {
            secret, cluster, ..
        } = self.marks();
        let turns = [secret.turn, cluster.turn].into_iter();
        let turns = turns.filter_map(|turn| match turn {
            Holder::Of(turn) => Some(turn),
            Holder::Nobody | Holder::Unreadable(_) => None,
        });
        turns.collect()
    }

    /// UIDs of the Machines that are recorded, by the Secret and by the Cluster.
    pub fn records(&self) -> Vec<String> {
        let Both {
            secret, cluster, ..
        } = self.marks();
        let records = [secret.initialized, cluster.initialized];
        records.into_iter().flatten().collect()
    }

    /// The Machine of this UID, whether it exists or not.
    pub fn candidate(&self, uid: &str) -> Candidate<'_> {
        let mut machines = self.machines.iter();
        let machine = machines.find(|machine| machine.metadata.uid.as_deref() == Some(uid));
        let host = place::host(&self.hosts, uid, None);
        let name = machine
            .map(ResourceExt::name_any)
            .or_else(|| host.and_then(|host| named(host, uid)))
            .or_else(|| {
                let holders = self.holders().into_iter();
                // who may edit a missing turn may write anything as a name
                let mut holders =
                    holders.filter(|turn| turn.machine == uid && is_plain(&turn.name));
                holders.next().map(|turn| turn.name)
            });
        let annotations = machine.map(ResourceExt::annotations);
        let hypervisor = annotations.and_then(|all| all.get(ANNOTATION_HYPERVISOR));
        let tells = machine.and_then(made_there) == Some(MadeThere::ByAnother);
        Candidate {
            uid: uid.to_owned(),
            machine,
            name,
            host,
            hypervisor: hypervisor.map(String::as_str),
            is_recorded: self.records().iter().any(|by| by == uid),
            shows_init: tells || host.and_then(|host| self.made_on(host)) == Some(uid),
        }
    }

    /// All that may have the control plane: who is named by a record or a turn, the control-plane
    /// Machines, and whose host shows it, or is claimed for it and left behind.
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        let mut uids = self.records();
        uids.extend(self.holders().into_iter().map(|turn| turn.machine));
        let mut own: Vec<&Machine> = self.control_planes().collect();
        own.sort_by_key(|machine| (machine.creation_timestamp(), machine.name_any()));
        uids.extend(own.into_iter().filter_map(ResourceExt::uid));
        for host in &self.hosts {
            let claim = host.spec.consumer_ref.as_ref();
            let is_left = |uid: &str| !self.exists(uid);
            let left = claim.filter(|claim| claim.cluster == self.name() && is_left(&claim.uid));
            uids.extend(left.map(|claim| claim.uid.clone()));
            uids.extend(self.marker(host).map(|marker| marker.uid.clone()));
        }
        // the Cluster itself, while it removes a member of etcd
        let own = self.cluster.metadata.uid.as_deref();
        let mut all: Vec<Candidate> = Vec::new();
        for uid in uids {
            let is_known = all.iter().any(|known| known.uid == uid);
            if !is_known && Some(uid.as_str()) != own {
                all.push(self.candidate(&uid));
            }
        }
        all
    }

    /// The control-plane Machines of the Cluster.
    pub fn control_planes(&self) -> impl Iterator<Item = &Machine> {
        let own = self.machines.iter().filter(|machine| self.has(machine));
        own.filter(|machine| machine.is_control_plane())
    }

    /// A worker of the Cluster for which kubeadm was begun, so that there was a control plane to
    /// join.
    pub fn joined_worker(&self) -> Option<String> {
        let mut own = self.machines.iter().filter(|machine| self.has(machine));
        let worker = own.find(|machine| !machine.is_control_plane() && is_begun(machine));
        worker.map(ResourceExt::name_any)
    }

    /// Whether a Machine belongs to the Cluster, by its label.
    pub fn has(&self, machine: &Machine) -> bool {
        machine.labels().get(LABEL_CLUSTER).map(String::as_str) == Some(self.name())
    }

    fn exists(&self, uid: &str) -> bool {
        let mut machines = self.machines.iter();
        machines.any(|machine| machine.metadata.uid.as_deref() == Some(uid))
    }

    /// UID of the Machine whose marker on the server of a Host records `kubeadm init` of this
    /// Cluster, as far as the Host says so.
    fn made_on<'a>(&self, host: &'a Host) -> Option<&'a str> {
        let marker = self.marker(host)?;
        marker.initialized.then_some(marker.uid.as_str())
    }

    /// The marker on the server of a Host that is orphaned, of a Machine of this Cluster. It stays
    /// reported while that is silent.
    fn marker<'a>(&self, host: &'a Host) -> Option<&'a MarkerReference> {
        let marker = host.status.as_ref()?.marker.as_ref()?;
        // before the field, it was not said of which Cluster
        let is_its = marker.cluster.as_ref().is_none_or(|of| of == self.name());
        (is_its && marker.namespace == self.namespace()).then_some(marker)
    }

    /// The Cluster that a Secret belongs to by its owner or label, if that is another one.
    pub fn other_cluster(&self, secret: &ObjectMeta) -> Option<String> {
        let secret = Secret {
            metadata: secret.clone(),
            ..Secret::default()
        };
        other_cluster(&secret, &self.cluster)
    }
}

impl Candidate<'_> {
    /// What it is called in a sentence.
    pub fn label(&self) -> String {
        let uid = &self.uid;
        match (&self.name, self.machine) {
            (Some(name), Some(_)) => format!("Machine {name} (uid {uid})"),
            (Some(name), None) => format!("Machine {name} (uid {uid}, which does not exist)"),
            (None, _) => format!("a Machine that does not exist (uid {uid})"),
        }
    }

    /// The same, with the UID only where there is no Machine of that name.
    pub fn called(&self) -> String {
        match (&self.name, self.machine) {
            (Some(name), Some(_)) => format!("Machine {name}"),
            _ => self.label(),
        }
    }

    /// Whether kubeadm was begun for it, as far as the Machine tells.
    pub fn is_begun(&self) -> bool {
        self.machine.is_some_and(is_begun)
    }

    /// Whether it has had a Node, so that kubeadm has succeeded.
    pub fn had_node(&self) -> bool {
        let status = self.machine.and_then(|machine| machine.status.as_ref());
        status.is_some_and(|status| status.node_ref.is_some())
    }

    /// Whether it is a control plane whose Node is Ready, and that stays.
    pub fn serves(&self) -> bool {
        self.machine.is_some_and(|machine| {
            let status = machine.status.as_ref();
            let is_ready =
                status.is_some_and(|status| is_true(&status.conditions, ConditionType::Ready));
            machine.is_control_plane()
                && self.had_node()
                && is_ready
                && machine.metadata.deletion_timestamp.is_none()
        })
    }

    /// What contradicts that its host has the control plane of this Cluster, or that this is
    /// recorded.
    pub fn made_there(&self) -> Option<MadeThere> {
        self.machine.and_then(made_there)
    }

    /// The Host that it has chosen, where that has neither its claim nor its marker.
    pub fn chosen(&self) -> Option<&str> {
        let annotations = self.machine.map(ResourceExt::annotations);
        let chosen = annotations.and_then(|all| all.get(ANNOTATION_HOST));
        chosen.filter(|_| self.host.is_none()).map(String::as_str)
    }
}

/// What the conditions of a Machine say of its host.
fn made_there(machine: &Machine) -> Option<MadeThere> {
    let status = machine.status.as_ref()?;
    let mut doubts = status
        .conditions
        .iter()
        .filter(|condition| condition.reason == Reason::ControlPlaneInDoubt);
    doubts.find_map(|condition| MadeThere::read(&condition.message))
}

/// The name of the Machine of this UID, by its claim or marker.
fn named(host: &Host, uid: &str) -> Option<String> {
    let claim = host.spec.consumer_ref.as_ref();
    let claim = claim.filter(|claim| claim.uid == uid);
    let marker = host.status.as_ref();
    let marker = marker.and_then(|status| status.marker.as_ref());
    let marker = marker.filter(|marker| marker.uid == uid);
    claim
        .map(|claim| claim.name.clone())
        .or_else(|| marker.map(|marker| marker.name.clone()))
}
