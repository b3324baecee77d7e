//! What is written into kubeadm's record before a control plane joins or is updated, and whether a
//! worker joins by it.
//!
//! Only the version changes, and what the Cluster's spec owns where somebody edited it; the rest of
//! what `upload-config` writes (v1beta4, and the RBAC of the two `ConfigMaps`) is the same in all
//! versions of kubeadm that are supported.

use kube::ResourceExt;

use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::ANNOTATION_ADDONS_DUE;
use crate::api::{Cluster, Machine};
use crate::control_plane::Members;
use crate::kubeadm::record::{RecordStep, may_go_back, step};
use crate::kubeadm::{Compared, Kept, KubernetesVersion, Owned, version};
use crate::machine::Observed;
use crate::machine::plan::{recorded, skew as versions};
use crate::node::{JobKind, UnitState};
use crate::settings::{self, Settings};

const MISSING: &str = "ConfigMap kube-system/kubeadm-config of the cluster has no ClusterConfiguration with a kubernetesVersion, and kubeadm join reads it. Restore it from a backup; or, on a control plane, from a file with the ClusterConfiguration of this cluster (kubernetesVersion, controlPlaneEndpoint, networking, and what the Cluster sets): kubeadm init phase upload-config kubeadm --config FILE. Without --config that writes defaults";

/// kubeadm's record, as read before a worker joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The cluster's API is not connected.
    Unconnected,
    /// Why it cannot be read.
    Unread(String),
    /// There is none with a version.
    Missing,
    /// The version that stands there.
    Version(KubernetesVersion),
}

/// Whether a worker fits to kubeadm's record.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// The job begins.
    Yes,
    /// It does not begin now.
    NotYet(Finding),
    /// The host is prepared with another kubeadm, and will be prepared again.
    Differs(Finding),
}

/// Whether the record is read before this job of a worker: before each join; before a preparation
/// only if it is not the first one and nothing is known of the record, as after a restart.
pub fn is_read(observed: &Observed, kind: JobKind) -> bool {
    let is_unknown = observed.cluster.as_ref();
    let is_unknown = is_unknown.is_some_and(|cluster| cluster.recorded.is_none());
    match kind {
        JobKind::Join => true,
        JobKind::Prepare => is_unknown && preparation(observed).is_some(),
        _ => false,
    }
}

/// Whether the host of a worker is prepared with a kubeadm of the minor version that is recorded.
pub fn fits(observed: &Observed, kind: JobKind, record: Recorded) -> Fit {
    let cluster = observed.cluster.as_ref();
    let is_join = kind == JobKind::Join;
    // a host is prepared for the first time before there is a control plane as well
    let is_made = cluster.is_some_and(|cluster| cluster.initialized_by.is_some());
    let is_prepared = preparation(observed) == Some(&UnitState::Succeeded);
    let needs_it = is_join || (is_made && is_prepared);
    // not everybody makes a control plane with kubeadm
    let is_external = cluster.is_some_and(|cluster| cluster.external);
    let unless = |is_needed: bool, finding: Finding| {
        if is_needed {
            Fit::NotYet(finding)
        } else {
            Fit::Yes
        }
    };
    match record {
        Recorded::Unconnected => unless(needs_it, unconnected()),
        Recorded::Unread(error) => unless(needs_it, wait(recorded::unread(observed, &error))),
        Recorded::Missing => unless(is_join && !is_external, missing()),
        Recorded::Version(version) => {
            recorded::differs(observed, &version).map_or(Fit::Yes, |message| {
                Fit::Differs(Finding::no(
                    ConditionType::BootstrapReady,
                    Reason::VersionSkew,
                    message,
                ))
            })
        }
    }
}

/// The state of the job that prepares the host, as seen in this pass.
fn preparation(observed: &Observed) -> Option<&UnitState> {
    let prepare = observed.marker.job(JobKind::Prepare);
    Some(&observed.seen()?.job(&prepare)?.state)
}

/// What the record and what depends on it were, read just before a control plane joins.
#[derive(Clone, Debug)]
pub struct JoinFacts<'a> {
    /// The `ClusterConfiguration`, if there is one.
    pub text: Option<&'a str>,
    /// The record with what the Cluster's spec owns, if that differs; or why that is not known.
    pub owned: Result<Option<Owned>, String>,
    /// The version to which kubeadm's addons have to follow
    /// ([`crate::api::names::ANNOTATION_ADDONS_DUE`]).
    pub due: Option<&'a str>,
    /// What the other control planes run: see [`running`].
    pub runs: Vec<Option<KubernetesVersion>>,
    /// etcd's members.
    pub members: &'a Members,
}

/// What is written before a control plane joins, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// On the Cluster: the version to which the addons are to follow. First, so that whoever reads
    /// the higher record knows that.
    pub announced: Option<KubernetesVersion>,
    /// The record.
    pub configuration: Option<String>,
    /// What of that sets back what the Cluster's spec owns.
    pub differences: Vec<String>,
    /// The version of the record that is replaced.
    pub from: Option<KubernetesVersion>,
    /// On the Cluster: no addons are to follow.
    pub is_not_due: bool,
}

/// What has to be written before the Machine joins with this version.
///
/// # Errors
/// Why the record does not let it join.
pub fn may_join(
    observed: &Observed,
    wanted: &KubernetesVersion,
    facts: JoinFacts<'_>,
) -> Result<Writes, Finding> {
    let text = facts.text.ok_or_else(missing)?;
    let owned = facts.owned.map_err(wait)?;
    let (owned, differences) = owned.map_or_else(Default::default, |owned| {
        (Some(owned.configuration), owned.differences)
    });
    let skew =
        |message: String| Finding::no(ConditionType::BootstrapReady, Reason::VersionSkew, message);
    let writes = match step(owned.as_deref().unwrap_or(text), wanted) {
        RecordStep::Unreadable => return Err(missing()),
        RecordStep::Keep => Writes {
            // a raise that was announced and never written
            is_not_due: owned.is_none() && is_due_beyond(facts.due, wanted),
            configuration: owned,
            ..Writes::default()
        },
        RecordStep::Newer {
            recorded,
            configuration,
        } => {
            let (versions, voters) = ((&recorded, wanted), facts.members.voters().count());
            if !may_go_back(versions, facts.due, &facts.runs, voters) {
                return Err(skew(versions::recorded(observed, &recorded, wanted)));
            }
            Writes {
                configuration: Some(configuration),
                from: Some(recorded),
                is_not_due: true,
                ..Writes::default()
            }
        }
        RecordStep::Raise {
            from,
            configuration,
        } => {
            version::check_control_plane_step(&from, wanted)
                .map_err(|error| skew(error.to_string()))?;
            Writes {
                announced: Some(wanted.clone()),
                configuration: Some(configuration),
                from: Some(from),
                ..Writes::default()
            }
        }
    };
    Ok(Writes {
        differences,
        ..writes
    })
}

/// Whether this job of a control plane renders static pods by kubeadm's record.
pub fn is_rendered_by(kind: JobKind) -> bool {
    kind == JobKind::Upgrade
}

/// What is set back before kubeadm renders static pods by the record.
///
/// # Errors
/// Why that cannot be told.
pub fn may_update(owned: Result<Option<Owned>, String>) -> Result<Option<Owned>, Finding> {
    let updating = |why| Finding::yes(ConditionType::Updating, Reason::WaitingForControlPlane, why);
    owned.map_err(updating)
}

/// The user's part of the record, and what of the record is compared, by the Cluster as read after
/// it: what an edit has just written there is either recorded by then, or being written.
pub fn compared(cluster: &Cluster) -> (Settings, Compared) {
    let recorded = settings::part(&settings::kept(cluster), Kept::Cluster);
    if settings::writing(cluster).is_empty() {
        (recorded, Compared::WithSettings)
    } else {
        (recorded, Compared::Fixed)
    }
}

/// The version to which kubeadm's addons are to follow, according to the Cluster.
pub fn due(cluster: &Cluster) -> Option<String> {
    cluster.annotations().get(ANNOTATION_ADDONS_DUE).cloned()
}

/// The cluster's API, in which the record is, is not connected.
pub fn unconnected() -> Finding {
    wait("the cluster's API is not connected yet".into())
}

/// There is no record with a version.
pub fn missing() -> Finding {
    wait(MISSING.into())
}

/// The version of the control plane that a Machine wants.
pub fn wanted(observed: &Observed) -> Option<KubernetesVersion> {
    let versions = observed.machine.versions()?;
    versions.control_plane.as_deref()?.parse().ok()
}

/// What the API servers of other control planes run, as they told last.
pub fn running<'a>(
    observed: &Observed,
    machines: impl Iterator<Item = &'a Machine>,
) -> Vec<Option<KubernetesVersion>> {
    let runs = |machine: &Machine| {
        let versions = machine.status.as_ref()?.versions.as_ref()?;
        versions.control_plane.as_ref()?.parse().ok()
    };
    machines
        .filter(|machine| machine.metadata.uid != observed.machine.metadata.uid)
        .map(runs)
        .collect()
}

/// Whether the addons are to follow to a version that is newer than what is recorded.
fn is_due_beyond(due: Option<&str>, recorded: &KubernetesVersion) -> bool {
    let due = due.and_then(|due| due.parse::<KubernetesVersion>().ok());
    due.is_some_and(|due| due > *recorded)
}

fn wait(message: String) -> Finding {
    Finding::no(
        ConditionType::BootstrapReady,
        Reason::WaitingForControlPlane,
        message,
    )
}
