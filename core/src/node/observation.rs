//! The state of a host, read in one round trip.

use serde::Deserialize;

use super::event::UnitStatus;
use super::finding::Finding;
use super::job::{Job, JobKind};
use super::marker::{Marker, Ownership};
use super::render::ParseError;
use crate::api::host::HostFacts;

/// What [`super::observe`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The host's clock, in milliseconds since 1970.
    pub clock: i64,
    /// What the host is made of.
    pub facts: HostFacts,
    /// The Machine that the marker names.
    pub owner: Ownership,
    /// Traces of Kubernetes on the host. On a host with a marker of Tatara they belong to its
    /// Machine.
    pub occupied: Vec<Finding>,
    /// Units that were started on the host, of any Machine.
    pub units: Vec<UnitStatus>,
    /// What is installed.
    pub versions: SoftwareVersions,
    /// Whether systemd has the kubelet running.
    pub kubelet_active: bool,
    /// Whether a process of a pod runs.
    pub pods_run: bool,
    /// The installation that its operating system came from, where that was ours.
    pub installation: Option<String>,
    /// `sha256:<hex>` of kubeadm's file with the CA's certificate, where its key is there as well:
    /// from before `kubeadm init` until the reset.
    pub authority: Option<String>,
    /// Differs once `kubeadm init` or `join` has written something there, or the marker says so: a
    /// reset is decided on as of this. Empty where it could not be read, which no host compares
    /// equal with.
    pub kubeadm_runs: String,
}

/// Versions that the programs on a host report; `None` if one is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SoftwareVersions {
    /// Such as `v1.36.3`.
    pub kubelet: Option<String>,
    /// Such as `v1.36.3`.
    pub kubeadm: Option<String>,
    /// Such as `1.7.24`.
    pub containerd: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawObservation {
    clock: i64,
    owner: Option<String>,
    occupied: Vec<Finding>,
    facts: HostFacts,
    versions: SoftwareVersions,
    kubelet_active: bool,
    pods_run: bool,
    #[serde(default)]
    installation: Option<String>,
    #[serde(default)]
    authority: Option<String>,
    #[serde(default)]
    kubeadm_runs: String,
    units: Vec<UnitStatus>,
}

/// Characters of a fact. The longest is a hostname, of 253.
const FACT: usize = 256;
/// Addresses of a host, and further facts.
const FACTS: usize = 64;

fn cut(fact: String) -> String {
    match fact.char_indices().nth(FACT) {
        Some((end, _)) => fact[..end].to_owned(),
        None => fact,
    }
}

/// What of the facts goes into the Host: root on the host says what it likes.
fn bounded(facts: HostFacts) -> HostFacts {
    let extra = facts.extra.into_iter().take(FACTS);
    HostFacts {
        hostname: cut(facts.hostname),
        os: cut(facts.os),
        architecture: cut(facts.architecture),
        kernel: cut(facts.kernel),
        machine_id: cut(facts.machine_id),
        addresses: facts.addresses.into_iter().take(FACTS).map(cut).collect(),
        default_interface: facts.default_interface.map(cut),
        cgroup: cut(facts.cgroup),
        extra: extra.map(|(name, fact)| (cut(name), cut(fact))).collect(),
        ..facts
    }
}

/// Reads what [`super::observe`] printed. Bytes that are not UTF-8 (in a step's output) are
/// replaced.
///
/// # Errors
/// [`ParseError`]: the output is not an observation.
pub fn parse_observation(stdout: &[u8]) -> Result<Observation, ParseError> {
    let text = String::from_utf8_lossy(stdout);
    let printed: RawObservation = serde_json::from_str(&text)
        .map_err(|source| ParseError::new("an observation of the host", &text, source))?;
    Ok(Observation {
        clock: printed.clock,
        facts: bounded(printed.facts),
        owner: Ownership::read(printed.owner),
        occupied: printed.occupied,
        units: printed.units,
        versions: SoftwareVersions {
            kubelet: printed.versions.kubelet.map(cut),
            kubeadm: printed.versions.kubeadm.map(cut),
            containerd: printed.versions.containerd.map(cut),
        },
        kubelet_active: printed.kubelet_active,
        pods_run: printed.pods_run,
        installation: printed.installation,
        authority: printed.authority,
        kubeadm_runs: cut(printed.kubeadm_runs),
    })
}

impl Observation {
    /// State of this job, if it was ever started on the host.
    pub fn job(&self, job: &Job) -> Option<&UnitStatus> {
        self.units.iter().find(|status| status.job == *job)
    }

    /// Whether this job runs.
    pub fn runs(&self, job: &Job) -> bool {
        self.job(job).is_some_and(UnitStatus::is_running)
    }

    /// The jobs of this Machine that run, in the order of its life.
    pub fn running(&self, marker: &Marker) -> impl Iterator<Item = JobKind> {
        let runs = |kind: &JobKind| self.runs(&marker.job(*kind));
        JobKind::ALL.into_iter().filter(runs)
    }

    /// The step of this job that failed and has not succeeded since.
    pub fn failure(&self, job: &Job) -> Option<&super::Failure> {
        self.job(job)?.failure()
    }
}
