//! What a pass over the ClusterProfiles of a Cluster knows, as plain data.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

use super::access::{Found, Kubeconfig};
use super::input::Server;
use super::owned::Owned;
use crate::core::Next;
use crate::core::cluster::health::Verdict;

/// What a pass knows. Everything about the member is what was detected of it.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The Cluster.
    pub cluster: ClusterFacts,
    /// Inventory namespaces that were asked for, and may be written to.
    pub namespaces: Vec<String>,
    /// Those that were asked for, and may not.
    pub forbidden: Vec<String>,
    /// Where the member's API is served and what it is verified by, once that is known.
    pub server: Option<Server>,
    /// What consumers are to be given, once the member has a token for them.
    pub kubeconfig: Option<Kubeconfig>,
    /// The Secret of the name of theirs that is there.
    pub secret: Option<Found>,
    /// A Cluster whose administrators' kubeconfig has that name.
    pub rival: Option<String>,
    /// Why they cannot be given a way in yet, for people.
    pub waits_for: String,
    /// Why what consumers find may be out of date or refused, for people.
    pub problem: Option<String>,
    /// Their account in the member is to be looked after.
    pub account_due: bool,
    /// When the member is asked next.
    pub asks: Next,
    /// Nothing changed since a pass that left nothing to do: the profiles were not looked at.
    pub unchanged: bool,
    /// What the probes of the control plane add up to.
    pub verdict: Verdict,
    /// The same for people.
    pub health: String,
    /// `gitVersion` of the member, when it said.
    pub version: Option<String>,
    /// The member's ClusterProperties as sorted names and values, when it said.
    pub properties: Option<Vec<(String, String)>>,
    /// ClusterProperties that a profile cannot carry.
    pub skipped: Vec<String>,
    /// Whether the management cluster knows ClusterProfiles at all.
    pub served: bool,
    /// The profiles that are there under the Cluster's name, by namespace.
    pub profiles: BTreeMap<String, Existing>,
}

/// What a profile says about its Cluster.
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
    /// Whether it waits for its profiles to go first.
    pub held: bool,
}

/// A profile that is there.
#[derive(Clone, Debug, PartialEq)]
pub enum Existing {
    /// It stands for this Cluster and is ours.
    Ours(Box<Ours>),
    /// It is somebody else's, or another Cluster's; who, for people.
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
    pub owned: Owned,
}
