//! How one object stands, by its conditions: a mark, a short state, and why it is not ready.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;

use crate::api::conditions::{find, is_true};
use crate::api::names::ANNOTATION_PAUSED;
use crate::api::{Cluster, ClusterProfile, Host, Machine, MachineDeployment, MachineSet};

/// The first thing that people look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is as it shall be.
    Ready,
    /// It is on its way, or waits for another.
    Working,
    /// It failed, and somebody should look at it.
    Trouble,
    /// Nothing is done to it.
    Paused,
}

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The first thing that people look at.
    pub mark: Mark,
    /// A phase, or counts such as `1/2 ready`.
    pub state: String,
    /// What else is worth knowing: where it is, its version.
    pub facts: Vec<String>,
    /// Why it is not ready, as one word. Empty when it is.
    pub reason: String,
    /// The first line of the message that goes with it.
    pub message: String,
    /// Since when it stands so.
    pub since: Option<Timestamp>,
}

/// What a kind knows of its own object; what is common to all comes on top.
struct Judged<'a> {
    conditions: &'a [Condition],
    /// The condition that says why it is not ready.
    headline: Option<&'a Condition>,
    ready: bool,
    failed: bool,
    state: String,
    facts: Vec<String>,
}

/// Parts of the reasons that tell of a failure. Others tell of progress or of waiting: a Node that
/// has just joined is not Ready, and the next machine waits for its turn.
const FAILURES: [&str; 23] = [
    "Blocked",
    "Changed",
    "Duplicate",
    "Error",
    "Exceeded",
    "Failed",
    "Failure",
    "Invalid",
    "Lost",
    "Malformed",
    "Missing",
    "NotFound",
    "NotRoot",
    "Occupied",
    "Orphaned",
    "Refused",
    "Required",
    "ShellUnavailable",
    "Unhealthy",
    "Unreachable",
    "Unreadable",
    "Unsupported",
    "Wrong",
];

/// How a Cluster stands.
pub fn cluster(cluster: &Cluster) -> Standing {
    let status = cluster.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, "Ready");
    stand(
        cluster,
        Judged {
            conditions: &status.conditions,
            headline: ready,
            ready: ready.is_some_and(|c| c.status == "True"),
            failed: status.error_reason.is_some(),
            state: status.phase.unwrap_or_default(),
            facts: [status.endpoint, status.version]
                .into_iter()
                .flatten()
                .collect(),
        },
    )
}

/// How a MachineDeployment stands.
pub fn deployment(deployment: &MachineDeployment) -> Standing {
    let status = deployment.status.clone().unwrap_or_default();
    let replicas = deployment.spec.replicas;
    let complete = [
        status.replicas,
        status.updated_replicas,
        status.ready_replicas,
    ];
    stand(
        deployment,
        Judged {
            conditions: &status.conditions,
            headline: find(&status.conditions, "Progressing"),
            ready: complete == [replicas; 3]
                && status.observed_generation == deployment.metadata.generation,
            failed: status.phase.as_deref() == Some("Failed"),
            state: counts(status.ready_replicas, replicas),
            facts: kubelet(&deployment.spec.template.spec),
        },
    )
}

/// How a MachineSet stands.
pub fn set(set: &MachineSet) -> Standing {
    let status = set.status.clone().unwrap_or_default();
    let conditions = &status.conditions;
    let replicas = set.spec.replicas;
    let scaling = ["ScalingUp", "ScalingDown"].map(|name| find(conditions, name));
    let scaling = scaling.into_iter().flatten().find(|c| c.status == "True");
    stand(
        set,
        Judged {
            conditions,
            headline: scaling.or(find(conditions, "MachinesReady")),
            ready: [status.replicas, status.ready_replicas] == [replicas; 2]
                && status.observed_generation == set.metadata.generation,
            failed: status.error_reason.is_some(),
            state: counts(status.ready_replicas, replicas),
            facts: kubelet(&set.spec.template.spec),
        },
    )
}

/// How a Machine stands; `host` is what it runs on, if anything.
pub fn machine(machine: &Machine, host: Option<String>) -> Standing {
    let status = machine.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, "Ready");
    let place = host.or(status.host).map(|host| format!("on {host}"));
    let version = status.versions.map(|versions| versions.kubelet);
    let mut standing = stand(
        machine,
        Judged {
            conditions: &status.conditions,
            headline: ready,
            ready: ready.is_some_and(|c| c.status == "True"),
            failed: status.error_reason.is_some(),
            state: status.phase.unwrap_or_default(),
            facts: [place, version].into_iter().flatten().collect(),
        },
    );
    // Ready stays False from step to step: the step, and not the whole way, is what takes so long.
    if standing.mark != Mark::Ready {
        standing.since = status.last_updated.map(|time| time.0).or(standing.since);
    }
    standing
}

/// How a Host stands.
pub fn host(host: &Host) -> Standing {
    let status = host.status.clone().unwrap_or_default();
    let state = status.state.unwrap_or_else(|| "Registering".into());
    stand(
        host,
        Judged {
            conditions: &status.conditions,
            headline: find(&status.conditions, "Available"),
            ready: ["Available", "Claimed"].contains(&state.as_str()),
            failed: ["Quarantined", "Unreachable"].contains(&state.as_str()),
            state,
            facts: Vec::new(),
        },
    )
}

/// How a ClusterProfile stands.
pub fn profile(profile: &ClusterProfile) -> Standing {
    let status = profile.status.clone().unwrap_or_default();
    let parts = ["ControlPlaneHealthy", "Joined"].map(|name| find(&status.conditions, name));
    let healthy = parts
        .iter()
        .all(|part| part.is_some_and(|c| c.status == "True"));
    let blocking = parts.into_iter().flatten().find(|c| c.status != "True");
    let state = if healthy { "Healthy" } else { "NotHealthy" };
    stand(
        profile,
        Judged {
            conditions: &status.conditions,
            headline: blocking.or(parts[0]),
            ready: healthy,
            failed: false,
            state: state.into(),
            facts: Vec::new(),
        },
    )
}

fn counts(ready: i32, wanted: i32) -> String {
    format!("{ready}/{wanted} ready")
}

fn kubelet(spec: &crate::api::MachineSpec) -> Vec<String> {
    spec.versions
        .iter()
        .map(|versions| versions.kubelet.clone())
        .collect()
}

fn stand(object: &impl Resource, judged: Judged<'_>) -> Standing {
    let meta = object.meta();
    let created = meta.creation_timestamp.as_ref().map(|time| time.0);
    let deleted = meta.deletion_timestamp.as_ref().map(|time| time.0);
    let paused = find(judged.conditions, "Paused").filter(|c| c.status == "True");
    let is_paused = is_true(judged.conditions, "Paused")
        || meta
            .annotations
            .iter()
            .any(|all| all.contains_key(ANNOTATION_PAUSED));
    let ready = judged.ready && deleted.is_none();
    let why = if is_paused {
        paused
    } else {
        judged.headline.filter(|_| !ready)
    };
    let reason = why.map_or("", |c| c.reason.as_str());
    let unknown = why.is_some_and(|c| c.status == "Unknown");
    let mark = if is_paused {
        Mark::Paused
    } else if ready {
        Mark::Ready
    } else if judged.failed || (!unknown && FAILURES.iter().any(|part| reason.contains(part))) {
        Mark::Trouble
    } else {
        Mark::Working
    };
    let message = match (why, mark) {
        (Some(condition), _) => first_line(&condition.message),
        (None, Mark::Paused) => format!("annotation {ANNOTATION_PAUSED}"),
        (None, Mark::Ready) => String::new(),
        (None, _) => "no controller has said anything of it yet".into(),
    };
    let transition = why.or(judged.headline).map(|c| c.last_transition_time.0);
    Standing {
        mark,
        state: match deleted {
            Some(_) => "Deleting".into(),
            None if judged.state.is_empty() => "New".into(),
            None => judged.state,
        },
        facts: judged.facts,
        reason: reason.to_owned(),
        message,
        since: transition.or(deleted).or(created),
    }
}

fn first_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}
