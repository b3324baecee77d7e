//! Why the present state of a Cluster lets no Machine of a template be made: the versions that run,
//! or its endpoint.

use std::sync::Arc;
use tatara_core::Why;

use kube::ResourceExt;

use crate::controllers::ownership::ProviderObject;
use crate::store::Stores;
use tatara_core::Key;
use tatara_core::api::conditions::{ConditionType, Reason, Status, find};
use tatara_core::api::machine::MachineVersions;
use tatara_core::api::machine_deployment::StrategyType;
use tatara_core::api::names::{ANNOTATION_INITIALIZED, LABEL_CLUSTER};
use tatara_core::api::{
    Cluster, ClusterProviderSpec, Machine, MachineDeployment, MachineSet, MachineTemplate,
};
use tatara_core::kubeadm::{KubernetesVersion, VersionError, version};
use tatara_core::machine_deployment::{has_control_plane, runs};
use tatara_core::machine_set::Gate;
use tatara_core::remedy;

/// Blocks creation on version skew: a kubelet newer than the API server is not supported, nor a
/// control plane older than another. Nor does one join a control plane without an endpoint of its
/// own.
pub fn of_set(stores: &Stores, set: &MachineSet, namespace: &str) -> Option<Gate> {
    let name = set.labels().get(LABEL_CLUSTER)?;
    gate(stores, name, &set.spec.template, namespace)
}

/// Why a MachineDeployment gives up no Machine for its template yet: its set could create none
/// instead. What is updated in place needs no endpoint that others join.
pub fn of_deployment(
    stores: &Stores,
    deployment: &MachineDeployment,
    namespace: &str,
) -> Option<Gate> {
    let name = name_of_cluster(deployment)?;
    let is_in_place = deployment.spec.strategy.type_ == StrategyType::InPlace;
    let gate = gate(stores, name, &deployment.spec.template, namespace);
    gate.filter(|gate| !is_in_place || gate.reason == Reason::VersionSkew)
}

/// Whether Machines of a template may be made now. By this alone, sets create and deployments begin
/// a roll.
fn gate(stores: &Stores, name: &str, template: &MachineTemplate, namespace: &str) -> Option<Gate> {
    let cluster = stores.clusters.get(namespace, name)?;
    let (reason, message) = if !has_control_plane(template) {
        let wanted = template.spec.versions.as_ref()?.kubelet.parse().ok()?;
        let lowest = runs::lowest(&cluster)?;
        let skew = version::check_kubelet(&wanted, &lowest).err();
        let message = skew.map(|skew| skew.to_string()).or_else(|| {
            let waits = wanted > lowest && is_moving(stores, &cluster, &lowest);
            (waits && !is_draining(stores, &cluster)).then(|| format!(
                "spec.template.spec.versions.kubelet is {wanted}, and the oldest control plane of Cluster {name} runs {lowest}; no Machine is created before all control planes run {wanted}. If that does not proceed: {}",
                remedy::describe_cluster(namespace, name)
            ))
        })?;
        (Reason::VersionSkew, message)
    } else if lacks_endpoint(&cluster) {
        let message = format!(
            "Cluster {name} has no spec.providerSpec.value.controlPlaneEndpoint: its API has the address of its only control-plane machine, so no other one joins. Set the template back; to change versions, set spec.strategy to {{type: InPlace}}"
        );
        (Reason::EndpointMissing, message)
    } else {
        let error = step(stores, &cluster, template)?;
        (Reason::VersionSkew, error.to_string())
    };
    Some(Gate { reason, message })
}

/// Why a template of control planes can never be run as it is, by what runs.
pub fn problem(stores: &Stores, deployment: &MachineDeployment, namespace: &str) -> Option<Why> {
    let template = &deployment.spec.template;
    let cluster = stores
        .clusters
        .get(namespace, name_of_cluster(deployment)?)?;
    if !has_control_plane(template) {
        return None;
    }
    let error = step(stores, &cluster, template)?;
    Some(Why::new(
        Reason::UnsupportedVersion,
        format!("spec.template: {error}"),
    ))
}

/// The Cluster of the Machines that a MachineDeployment makes.
pub fn name_of_cluster(deployment: &MachineDeployment) -> Option<&String> {
    let labels = &deployment.spec.template.metadata.labels;
    let of_template = labels.get(LABEL_CLUSTER);
    of_template.or_else(|| deployment.labels().get(LABEL_CLUSTER))
}

/// The MachineDeployments whose Machines are of this Cluster: the label may stand in their template
/// alone.
pub fn deployments_of(stores: &Stores, namespace: &str, name: &str) -> Vec<Arc<MachineDeployment>> {
    let mut deployments = stores.machine_deployments.within(namespace);
    deployments.retain(|one| name_of_cluster(one).is_some_and(|of| of == name));
    deployments
}

/// Whether a control plane is on its way to a newer patch version than the oldest runs, by its
/// Machine or by a MachineDeployment that replaces them.
fn is_moving(stores: &Stores, cluster: &Cluster, lowest: &KubernetesVersion) -> bool {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let is_newer = |versions: Option<&MachineVersions>| {
        let wanted = versions.and_then(|versions| versions.control_plane.as_ref());
        let wanted = wanted.and_then(|wanted| wanted.parse::<KubernetesVersion>().ok());
        // the next minor may wait for kubelets that are too old: whose Machines must be replaced
        // then
        wanted.is_some_and(|wanted| wanted > *lowest && wanted.minor() == lowest.minor())
    };
    let templates = deployments_of(stores, &namespace, &name);
    let machines = control_planes(stores, namespace, name);
    let mut stay = machines
        .iter()
        .filter(|machine| machine.metadata.deletion_timestamp.is_none());
    let mut templates = templates.iter().filter(|one| one.is_ours(stores));
    templates.any(|one| is_newer(one.spec.template.spec.versions.as_ref()))
        || stay.any(|machine| is_newer(machine.versions()))
}

/// Whether a control plane that is updated is drained: a PodDisruptionBudget may wait for the very
/// worker that is to be made.
fn is_draining(stores: &Stores, cluster: &Cluster) -> bool {
    let machines = control_planes(
        stores,
        cluster.namespace().unwrap_or_default(),
        cluster.name_any(),
    );
    let mut conditions = machines.iter().filter_map(|machine| {
        let status = machine.status.as_ref()?;
        find(&status.conditions, ConditionType::Updating)
    });
    conditions.any(|told| told.status == Status::True && told.reason == Reason::Draining)
}

/// The control-plane Machines of a Cluster that are ours.
fn control_planes(stores: &Stores, namespace: String, name: String) -> Vec<Arc<Machine>> {
    let mut machines = stores.machines.by(&Key::ControlPlane(namespace, name));
    machines.retain(|machine| machine.is_ours(stores));
    machines
}

/// What the control plane of a template may not be, beside those that run.
fn step(stores: &Stores, cluster: &Cluster, template: &MachineTemplate) -> Option<VersionError> {
    let machines = control_planes(stores, cluster.namespace()?, cluster.name_any());
    runs::forbidden(template, cluster, machines.iter().map(AsRef::as_ref))
}

/// Whether a control plane exists that no other one can join.
fn lacks_endpoint(cluster: &Cluster) -> bool {
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    is_made && spec.is_ok_and(|spec| spec.control_plane_endpoint.is_none())
}

#[cfg(test)]
#[path = "skew_tests.rs"]
mod tests;
