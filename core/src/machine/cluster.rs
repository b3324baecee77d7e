//! A Cluster, as its Machines see it.

use std::sync::Arc;

use super::member::ControlPlaneMachine;
use super::observed::Lookup;
use super::peers::Peers;
use crate::api::ClusterProviderSpec;
use crate::api::cluster::{ClusterNetwork, Turn};
use crate::control_plane::Members;
use crate::control_plane::component::Components;
use crate::control_plane::turn::Doubt;
use crate::kubeadm::{Endpoint, KubernetesVersion};
use crate::settings;

/// A Cluster, as its Machines see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedCluster {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Its networks.
    pub network: ClusterNetwork,
    /// Tatara's settings; an error is the Cluster's to report.
    pub spec: Result<ClusterProviderSpec, String>,
    /// What kubeadm's ConfigMaps have of them.
    pub settings: settings::OfCluster,
    /// It is being deleted.
    pub deleting: bool,
    /// It has a ClusterProfile, according to the finalizer with which the profile is deleted first.
    pub published: bool,
    /// UID of the Machine that ran `kubeadm init`.
    pub initialized_by: Option<String>,
    /// The Machine that has the control-plane turn, according to the CA Secret, or else to the
    /// Cluster.
    pub turn: Option<Turn>,
    /// Why this Machine does not get the turn that it asks for.
    pub turn_waits: Option<String>,
    /// Another holder of the turn, which only the Cluster names.
    pub other_turn: Option<Turn>,
    /// UID of the Machine that ran `kubeadm init`, as the CA Secret says: an edit of the Cluster
    /// does not change it.
    pub initialized_by_secret: Option<String>,
    /// How Cluster and CA Secret contradict each other, once the Cluster's condition says that they
    /// do.
    pub in_doubt: Option<Box<Doubt>>,
    /// Its certificate authorities exist.
    pub certificates_ready: bool,
    /// Tatara does not manage its control plane; its kubeconfig was supplied.
    pub external: bool,
    /// Where its API is served, as far as that is known.
    pub endpoint: Option<Endpoint>,
    /// The members of its etcd, as last listed; or why no list can be read. `NotYet` also where
    /// etcd is not ours.
    pub etcd: Lookup<Arc<Members>>,
    /// The components on this Machine's own server, as last asked; `None` also where that is not
    /// ours.
    pub components: Option<Arc<Components>>,
    /// Its other control-plane Machines for which kubeadm was started; filled for a control plane
    /// only.
    pub other_control_planes: Vec<ControlPlaneMachine>,
    /// Version of its control plane: the lowest that its API servers report.
    pub version: Option<String>,
    /// Version that kubeadm has recorded for it, as a Machine read it last. `None`: not asked since
    /// the manager started, or since its version is another.
    pub recorded: Option<KubernetesVersion>,
    /// What its other Machines, and their Nodes, mean for this one.
    pub peers: Peers,
    /// Machines of the cluster that are no control plane, while it is being deleted; counted for a
    /// control plane only.
    pub workers_left: usize,
}

impl ObservedCluster {
    /// Whether its control plane, which is ours and stays, is not recorded on the Cluster: not made
    /// yet, or its record was lost.
    pub fn is_unrecorded(&self) -> bool {
        self.initialized_by.is_none() && !self.external && !self.deleting
    }
}
