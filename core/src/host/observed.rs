//! What a pass over a Host knows, as plain data.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use super::contact::{ContactError, PowerReading};
use super::duplicate_hosts::DuplicateHosts;
use crate::api::Host;
use crate::api::installation::Record;
use crate::installer::{BaseState, Report};
use crate::node::{Attempts, Follow, Observation};
use crate::proof::InitProof;

/// What a pass over a Host knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Host.
    pub host: Arc<Host>,
    /// UID of this management cluster.
    pub management: String,
    /// Other Hosts that are the same server, or look so.
    pub duplicates: DuplicateHosts,
    /// The result of querying it.
    pub contact: Contact,
    /// What its BMC reported last, if it was queried since the manager started.
    pub bmc: Option<PowerReading>,
    /// Its Machine gets no answer from it: it is queried although a Machine has it.
    pub is_missed: bool,
    /// When it last answered any controller, if a Machine has it and no query has failed since.
    pub heard_at: Option<Timestamp>,
    /// Its server had the marker of the worker that claims it when it last answered any controller.
    pub has_its_marker: bool,
    /// Host keys that it presented, if none is pinned and `trustOnFirstUse` is set.
    pub first_contact_keys: Vec<String>,
    /// The unit that runs on it, if one is followed.
    pub following: Option<Follow>,
    /// The Machine that its marker names, as it is here.
    pub owner: Owner,
    /// The Machine that claims it, as it is here: by namespace, name and UID.
    pub consumer: Consumer,
    /// The Cluster of its claim is being deleted: with all that runs on its hosts.
    pub cluster_goes: bool,
    /// Other Hosts of its namespace with the same claim.
    pub rivals: Vec<String>,
    /// The one of them whose server had the marker of that Machine when it was last observed, and
    /// no other server had it; it answers, and the Machine names it.
    pub marked_rival: Option<String>,
    /// Another Host, not being deleted, that names the same server and has the same claim.
    pub stands_in: Option<String>,
    /// The existing Cluster whose control plane is on it, according to its marker and to the
    /// records.
    pub guards: Option<String>,
    /// The existing Cluster whose control plane may be on it: it does not answer, and no Machine is
    /// recorded.
    pub may_guard: Option<String>,
    /// That control plane was made by a Machine that does not exist, and the Cluster does not know
    /// of it.
    pub unrecorded: Option<InitProof>,
    /// Failed resets in a row.
    pub attempts: Attempts,
    /// Whether the manager can serve installers.
    pub has_media: bool,
    /// The installation that is under way, or failed.
    pub installation: Option<Underway>,
}

/// An installation that is under way, or failed.
#[derive(Clone, Debug)]
pub struct Underway {
    /// The record on the Host.
    pub record: Record,
    /// Progress of the installer's image, while it is needed.
    pub image: Option<BaseState>,
    /// Whether the host may read it now.
    pub is_open: bool,
    /// The report of its installer.
    pub report: Option<Report>,
}

/// The Machine that a host's marker names, as it is here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// There is no such Machine, or no marker.
    #[default]
    Unknown,
    /// It exists, and claims no Host.
    WithoutHost,
    /// It exists, and claims the Host of this name.
    On(String),
}

/// The Machine that claims a host, as it is here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consumer {
    /// There is no such Machine, or no claim.
    #[default]
    Missing,
    /// It exists.
    Exists {
        /// It is being deleted.
        is_deleting: bool,
        /// kubeadm was begun for it, by what is recorded beside the host.
        is_begun: bool,
    },
}

impl Consumer {
    /// Whether it exists.
    pub fn exists(self) -> bool {
        self != Self::Missing
    }

    /// Whether a release is intended: `releasing` is a field that can be edited.
    pub fn may_release(self) -> bool {
        match self {
            Self::Missing => true,
            Self::Exists { is_deleting, .. } => is_deleting,
        }
    }

    /// Whether kubeadm was started for it; assumed for one that does not exist.
    pub fn is_begun(self) -> bool {
        match self {
            Self::Missing => true,
            Self::Exists { is_begun, .. } => is_begun,
        }
    }
}

/// The result of querying a host.
#[derive(Clone, Debug)]
pub enum Contact {
    /// It was not queried: it has just answered its Machine, or a unit that runs on it is followed.
    NotAsked,
    /// Its BMC reports that it is off, or Tatara left it off: it cannot be queried.
    Off,
    /// It could not be queried.
    Failed(ContactError),
    /// Its answer.
    Seen(Box<Observation>),
}
