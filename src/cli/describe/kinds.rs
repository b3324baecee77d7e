//! The summary of an object of each kind, from its conditions and counts.

use super::standing::{KindStanding, Mark, Standing, is_trouble, stand};
use tatara_core::api::conditions::{ConditionType, Status, find};
use tatara_core::api::{
    Cluster, ClusterProfile, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// Summary of a Cluster.
pub fn cluster(cluster: &Cluster) -> Standing {
    let status = cluster.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, ConditionType::Ready);
    stand(
        cluster,
        KindStanding {
            conditions: &status.conditions,
            headline: ready,
            ready: ready.is_some_and(|c| c.status == Status::True),
            failed: status.error_reason.is_some(),
            state: status.phase.unwrap_or_default(),
            facts: [status.endpoint, status.version]
                .into_iter()
                .flatten()
                .collect(),
        },
    )
}

/// Summary of a MachineDeployment.
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
        KindStanding {
            conditions: &status.conditions,
            headline: find(&status.conditions, ConditionType::Progressing),
            ready: complete == [replicas; 3]
                && status.observed_generation == deployment.metadata.generation,
            failed: status.phase.as_deref() == Some("Failed"),
            state: counts(status.ready_replicas, replicas),
            facts: kubelet(&deployment.spec.template.spec),
        },
    )
}

/// Summary of a MachineSet.
pub fn set(set: &MachineSet) -> Standing {
    let status = set.status.clone().unwrap_or_default();
    let conditions = &status.conditions;
    let replicas = set.spec.replicas;
    let scaling =
        [ConditionType::ScalingUp, ConditionType::ScalingDown].map(|name| find(conditions, name));
    let scaling = scaling
        .into_iter()
        .flatten()
        .find(|c| c.status == Status::True);
    stand(
        set,
        KindStanding {
            conditions,
            headline: scaling.or(find(conditions, ConditionType::MachinesReady)),
            ready: [status.replicas, status.ready_replicas] == [replicas; 2]
                && status.observed_generation == set.metadata.generation,
            failed: status.error_reason.is_some(),
            state: counts(status.ready_replicas, replicas),
            facts: kubelet(&set.spec.template.spec),
        },
    )
}

/// Summary of a Machine; `host` is the Host or virtual machine that it runs on, if any.
pub fn machine(machine: &Machine, host: Option<String>) -> Standing {
    let status = machine.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, ConditionType::Ready);
    // the Node of one that is being updated is Ready most of the time
    let updating = find(&status.conditions, ConditionType::Updating);
    // what keeps its pods, by name, and not only that they are evicted
    let draining = find(&status.conditions, ConditionType::Draining);
    let blocked = draining.filter(|c| c.status == Status::True && is_trouble(&c.reason));
    let is_ready = ready.is_some_and(|c| c.status == Status::True);
    let place = host.or(status.host).map(|host| format!("on {host}"));
    let version = status.versions.map(|versions| versions.kubelet);
    let mut standing = stand(
        machine,
        KindStanding {
            conditions: &status.conditions,
            headline: blocked.or(updating).or(ready),
            ready: is_ready && updating.is_none(),
            failed: status.error_reason.is_some(),
            state: status.phase.unwrap_or_default(),
            facts: [place, version].into_iter().flatten().collect(),
        },
    );
    // Ready stays False from step to step: the time is that of the current step.
    if standing.mark != Mark::Ready {
        standing.since = status.last_updated.map(|time| time.0).or(standing.since);
    }
    standing
}

/// Summary of a Host.
pub fn host(host: &Host) -> Standing {
    let status = host.status.clone().unwrap_or_default();
    let state = status.state.unwrap_or_else(|| "Registering".into());
    // a claimed host may be unreachable, which Ready shows
    let ready = find(&status.conditions, ConditionType::Ready);
    let is_ready = ready.map_or_else(
        || ["Available", "Claimed"].contains(&state.as_str()),
        |ready| ready.status == Status::True,
    );
    let trouble = ready.filter(|_| !is_ready);
    stand(
        host,
        KindStanding {
            conditions: &status.conditions,
            headline: trouble.or_else(|| find(&status.conditions, ConditionType::Available)),
            ready: is_ready,
            failed: ["Quarantined", "Unreachable"].contains(&state.as_str()),
            // one that a Machine has is ready all the same
            facts: (host.spec.maintenance && state != "Maintenance")
                .then(|| "maintenance".to_owned())
                .into_iter()
                .collect(),
            state,
        },
    )
}

/// Summary of a Hypervisor.
pub fn hypervisor(hypervisor: &Hypervisor) -> Standing {
    let status = hypervisor.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, ConditionType::Ready);
    stand(
        hypervisor,
        KindStanding {
            conditions: &status.conditions,
            headline: ready,
            ready: ready.is_some_and(|c| c.status == Status::True),
            failed: status.state.as_deref() == Some("Unreachable"),
            state: status.state.unwrap_or_default(),
            facts: status.acceleration.into_iter().collect(),
        },
    )
}

/// Summary of a MachineClass, which has no status; `users` objects refer to it.
pub fn class(class: &MachineClass, users: usize) -> Standing {
    let kind = class.value().get("kind").and_then(|kind| kind.as_str());
    stand(
        class,
        KindStanding {
            conditions: &[],
            headline: None,
            ready: true,
            failed: false,
            state: match users {
                0 => "not in use".into(),
                users => format!("used by {users}"),
            },
            facts: kind.map(str::to_owned).into_iter().collect(),
        },
    )
}

/// Summary of a ClusterProfile.
pub fn profile(profile: &ClusterProfile) -> Standing {
    let status = profile.status.clone().unwrap_or_default();
    let parts = [ConditionType::ControlPlaneHealthy, ConditionType::Joined]
        .map(|name| find(&status.conditions, name));
    let healthy = parts
        .iter()
        .all(|part| part.is_some_and(|c| c.status == Status::True));
    let blocking = parts
        .into_iter()
        .flatten()
        .find(|c| c.status != Status::True);
    let state = if healthy { "Healthy" } else { "NotHealthy" };
    stand(
        profile,
        KindStanding {
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

fn kubelet(spec: &tatara_core::api::MachineSpec) -> Vec<String> {
    spec.versions
        .iter()
        .map(|versions| versions.kubelet.clone())
        .collect()
}
