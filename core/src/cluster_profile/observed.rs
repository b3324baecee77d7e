//! What a pass over the ClusterProfiles of a Cluster knows, as plain data.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

use super::access::{ExistingSecret, Kubeconfig};
use super::input::Server;
use super::owned::OwnedFields;
use crate::Next;
use crate::control_plane::health::Verdict;

/// What a pass knows. Everything about the workload cluster is what was detected of it.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The Cluster.
    pub cluster: ClusterFacts,
    /// Inventory namespaces that were asked for, and may be written to.
    pub namespaces: Vec<String>,
    /// Those that were asked for, and may not.
    pub forbidden: Vec<String>,
    /// Where the workload cluster's API is served and what it is verified by, once that is known.
    pub server: Option<Server>,
    /// What consumers are to be given, once the workload cluster has a token for them.
    pub kubeconfig: Option<Kubeconfig>,
    /// The Secret of the name of theirs that is there.
    pub secret: Option<ExistingSecret>,
    /// A Cluster whose administrators' kubeconfig has that name.
    pub rival: Option<String>,
    /// Why consumers cannot be given access yet, human-readable.
    pub waits_for: String,
    /// Why the access of consumers may be out of date or refused, human-readable.
    pub problem: Option<String>,
    /// Their account in the workload cluster is to be looked after.
    pub account_due: bool,
    /// When the workload cluster is asked next.
    pub asks: Next,
    /// Nothing changed since a pass that left nothing to do: the profiles were not read.
    pub unchanged: bool,
    /// What the probes of the control plane add up to.
    pub verdict: Verdict,
    /// The same, human-readable.
    pub health: String,
    /// `gitVersion` of the workload cluster, when it said.
    pub version: Option<String>,
    /// The workload cluster's ClusterProperties as sorted names and values, when it said.
    pub properties: Option<Vec<(String, String)>>,
    /// ClusterProperties that a profile cannot carry.
    pub skipped: Vec<String>,
    /// Whether the management cluster knows ClusterProfiles at all.
    pub served: bool,
    /// The profiles that are there under the Cluster's name, by namespace.
    pub profiles: BTreeMap<String, Existing>,
}

/// What a profile contains about its Cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// Namespace.
    pub namespace: String,
    /// Name, and the profile's.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Labels, which consumers copy on.
    pub labels: BTreeMap<String, String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has the finalizer with which its profiles are deleted first.
    pub held: bool,
}

/// A profile that is there.
#[derive(Clone, Debug, PartialEq)]
pub enum Existing {
    /// Tatara wrote it for this Cluster.
    Ours(Box<Ours>),
    /// It belongs to another cluster manager, or to another Cluster; whose it is, human-readable.
    Foreign(String),
}

/// A profile of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ours {
    /// UID.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// Since when it is being deleted.
    pub deleted_at: Option<Timestamp>,
    /// Finalizers that hold it; all are of others.
    pub finalizers: Vec<String>,
    /// The parts that we wrote.
    pub owned: OwnedFields,
}
