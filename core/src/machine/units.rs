//! The units of steps of a Machine, from what was observed. A plan compares the identity of
//! [`prepare`] with what ran.

mod address;

use secrecy::SecretString;

use super::cluster::ObservedCluster;
use super::observed::{Infrastructure, Observed, Placement};
use super::plan::update::phases;
use crate::api::machine_provider_spec::NodeSettings;
use crate::api::{ClusterProviderSpec, MachineProviderSpec};
use crate::kubeadm::{
    self, CRI_SOCKET, ClusterInput, Discovery, KubernetesVersion, LocalApi, NodeInput,
};
use crate::node::{
    self, Bootstrap, ControlPlaneFile, JobKind, PlannedUnit, Prepare, Role, Unit, UnitError,
    UnitSpec,
};
use crate::settings::{self, KUBELET};

use address::virtual_ip;
pub use address::{address, is_known_to_others};

/// The parts of an observation that units are made from.
struct Parts<'a> {
    cluster: &'a ObservedCluster,
    spec: &'a ClusterProviderSpec,
    settings: &'a NodeSettings,
    held: &'a Infrastructure,
}

fn parts(observed: &Observed) -> Result<Parts<'_>, String> {
    let cluster = observed
        .cluster
        .as_ref()
        .ok_or("the Cluster does not exist")?;
    let spec = cluster.spec.as_ref().map_err(Clone::clone)?;
    let settings = observed
        .spec
        .as_ref()
        .ok()
        .and_then(MachineProviderSpec::node);
    let settings = settings.ok_or("the Machine is not prepared over SSH")?;
    let Placement::Held(held) = &observed.placement else {
        return Err("the Machine holds no host".into());
    };
    Ok(Parts {
        cluster,
        spec,
        settings,
        held,
    })
}

/// Everything up to kubeadm.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn prepare(observed: &Observed) -> Result<PlannedUnit, String> {
    let kubeadm = kubeadm(observed)?;
    let spec = with_input(observed, |input| {
        node::prepare(&Prepare {
            control_plane_version: &kubeadm,
            ..input.clone()
        })
    });
    planned(observed, spec?)
}

/// The version of kubeadm with which a host is prepared: that of the control plane; of a worker,
/// where kubeadm has recorded another minor version for the cluster, the recorded one.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn kubeadm(observed: &Observed) -> Result<KubernetesVersion, String> {
    let cluster = parts(observed)?.cluster;
    let (_, version) = versions(observed, cluster)?;
    // kubeadm's record follows a control plane that joins
    let recorded = cluster.recorded.as_ref();
    let recorded = recorded.filter(|_| !observed.machine.is_control_plane());
    let other = recorded.filter(|recorded| recorded.minor() != version.minor());
    Ok(other.cloned().unwrap_or(version))
}

/// The archives of container images that an update needs, if there are any.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn archives(observed: &Observed) -> Result<Option<PlannedUnit>, String> {
    let spec = with_input(observed, node::archives)?;
    spec.map(|spec| planned(observed, spec)).transpose()
}

/// `kubeadm upgrade`; of a node that only follows settings, the phases for these.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn upgrade(observed: &Observed) -> Result<PlannedUnit, String> {
    upgrade_with(observed, &phases(observed).unwrap_or_default())
}

/// `kubeadm upgrade` with all its phases.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn whole_upgrade(observed: &Observed) -> Result<PlannedUnit, String> {
    upgrade_with(observed, &[])
}

fn upgrade_with(observed: &Observed, phases: &[&'static str]) -> Result<PlannedUnit, String> {
    let configuration = upgrade_configuration(observed)?;
    let settings = settings_digest(observed, observed.acts_as_control_plane());
    let recorded = parts(observed)?.cluster.settings.recorded.get(KUBELET);
    let kubelet = recorded.and_then(|part| part.as_object()).cloned();
    let kubelet = kubelet.unwrap_or_default();
    let spec = with_input(observed, |input| {
        let settings = (&*settings, phases);
        Ok(node::upgrade(input, settings, &kubelet, configuration))
    });
    planned(observed, spec?)
}

/// kubeadm's addons in the version of the control plane.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn addons(observed: &Observed) -> Result<PlannedUnit, String> {
    let configuration = upgrade_configuration(observed)?;
    let addons = kubeadm::addons(parts(observed)?.spec);
    let spec = with_input(observed, |input| {
        Ok(node::addons(input, &addons, configuration))
    });
    planned(observed, spec?)
}

fn upgrade_configuration(observed: &Observed) -> Result<String, String> {
    let Parts { cluster, spec, .. } = parts(observed)?;
    let (_, version) = versions(observed, cluster)?;
    let configuration = kubeadm::upgrade(spec, &version, observed.is_initializer());
    configuration.map_err(|error| error.to_string())
}

/// The kubelet in another version, or with other settings. It has the name of settings only where
/// kubeadm has written them on its host: else it would count as started with them, and not be once
/// they are written.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn kubelet(observed: &Observed) -> Result<PlannedUnit, String> {
    let settings = if starts_with_settings(observed) {
        settings_digest(observed, false)
    } else {
        String::new()
    };
    let spec = with_input(observed, |input| Ok(node::kubelet(input, &settings)));
    planned(observed, spec?)
}

/// Whether `kubeadm upgrade` has written on its host what kubeadm's ConfigMaps have; also while the
/// host is not asked.
fn starts_with_settings(observed: &Observed) -> bool {
    let Some(seen) = observed.seen() else {
        return true;
    };
    let status = seen.job(&observed.marker.job(JobKind::Upgrade));
    let done = status.filter(|status| status.has_succeeded());
    let done = done.map(|status| &status.identity);
    let units = [upgrade(observed), whole_upgrade(observed)];
    let mut units = units.iter().flatten();
    units.any(|unit| done == Some(&unit.identity))
}

fn planned(observed: &Observed, spec: UnitSpec) -> Result<PlannedUnit, String> {
    let planned = observed.identities.plan(spec);
    planned.map_err(|error| error.to_string())
}

/// What stands for the settings that the unit applies: those of kubeadm's ConfigMaps.
fn settings_digest(observed: &Observed, with_static_pods: bool) -> String {
    let settings = observed.cluster.as_ref().map(|cluster| &cluster.settings);
    let settings = settings.filter(|settings| !settings.recorded.is_empty());
    settings.map_or_else(String::new, |settings| {
        let digest = settings::digest(&settings.recorded, with_static_pods);
        format!("{digest}-{}", settings.number)
    })
}

fn with_input<T>(
    observed: &Observed,
    make: impl FnOnce(&Prepare<'_>) -> Result<T, UnitError>,
) -> Result<T, String> {
    let Parts {
        cluster,
        spec,
        settings,
        held,
    } = parts(observed)?;
    let (kubelet, control_plane) = versions(observed, cluster)?;
    let network = &cluster.network;
    let mut no_proxy: Vec<String> = network
        .pods
        .cidr_blocks
        .iter()
        .chain(&network.services.cidr_blocks)
        .cloned()
        .collect();
    no_proxy.push(network.service_domain.clone());
    let endpoint = spec.control_plane_endpoint.as_ref();
    no_proxy.extend(endpoint.map(|endpoint| endpoint.host.clone()));
    let input = Prepare {
        role: if observed.machine.is_control_plane() {
            Role::ControlPlane
        } else {
            Role::Worker
        },
        node_name: node_name(observed, held),
        kubelet_version: &kubelet,
        control_plane_version: &control_plane,
        settings,
        kubelet_configuration: &spec.kubelet_configuration,
        image_repository: spec
            .kubeadm
            .cluster_configuration
            .get("imageRepository")
            .and_then(|value| value.as_str()),
        pod_cidrs: &network.pods.cidr_blocks,
        service_cidrs: &network.services.cidr_blocks,
        ipv6: no_proxy.iter().any(|range| range.contains(':')),
        no_proxy: &no_proxy,
        api_port: endpoint.map_or(6443, |endpoint| endpoint.port),
    };
    make(&input).map_err(|error| error.to_string())
}

/// `kubeadm init`, with the files of the Cluster's certificate authorities.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn init(observed: &Observed, pki: Vec<ControlPlaneFile>) -> Result<Unit, String> {
    let Parts {
        cluster,
        spec,
        settings,
        held,
    } = parts(observed)?;
    let address = held.address.clone().ok_or("the host has no address")?;
    let (_, version) = versions(observed, cluster)?;
    let endpoint = cluster
        .endpoint
        .clone()
        .ok_or("the Cluster has no endpoint yet")?;
    let api = LocalApi {
        advertise_address: address.clone(),
        bind_port: endpoint.port,
    };
    let mut input = ClusterInput::of(&cluster.name, &cluster.network, version, endpoint.clone());
    input.cert_sans.push(address.clone());
    let document = kubeadm::init(&input, &node_input(observed, held), &api, spec)
        .map_err(|error| error.to_string())?;
    node::init(Bootstrap {
        kubeadm: SecretString::from(document),
        pki,
        virtual_ip: virtual_ip(spec, &address, &[], endpoint.port),
        pod_cidrs: &cluster.network.pods.cidr_blocks,
        post_kubeadm_commands: &settings.post_kubeadm_commands,
    })
    .render()
    .map_err(|error| error.to_string())
}

/// `kubeadm join`, with a bootstrap token and the hashes of the CA's public keys by which the node
/// knows the cluster. A control plane gets the files of the Cluster's certificate authorities
/// (`pki`), as at init.
///
/// # Errors
/// What is missing or cannot be used, for people.
pub fn join(
    observed: &Observed,
    token: SecretString,
    ca_cert_hashes: Vec<String>,
    pki: Vec<ControlPlaneFile>,
) -> Result<Unit, String> {
    let Parts {
        cluster,
        spec,
        settings,
        held,
    } = parts(observed)?;
    let discovery = Discovery {
        endpoint: cluster
            .endpoint
            .clone()
            .ok_or("the Cluster has no endpoint yet")?,
        token,
        ca_cert_hashes,
    };
    let is_control_plane = observed.acts_as_control_plane();
    let address = held.address.clone().ok_or("the host has no address")?;
    let api = is_control_plane.then(|| LocalApi {
        advertise_address: address.clone(),
        bind_port: discovery.endpoint.port,
    });
    let node = node_input(observed, held);
    let document = kubeadm::join(&node, &discovery, api.as_ref(), spec);
    let document = document.map_err(|error| error.to_string())?;
    // its part in a virtual IP begins when the others know of it
    node::join(Bootstrap {
        kubeadm: document,
        pki,
        virtual_ip: None,
        pod_cidrs: &cluster.network.pods.cidr_blocks,
        post_kubeadm_commands: &settings.post_kubeadm_commands,
    })
    .render()
    .map_err(|error| error.to_string())
}

fn versions(
    observed: &Observed,
    cluster: &ObservedCluster,
) -> Result<(KubernetesVersion, KubernetesVersion), String> {
    let wanted = observed
        .machine
        .versions()
        .ok_or("spec.versions is missing")?;
    let kubelet = KubernetesVersion::parse("spec.versions.kubelet", &wanted.kubelet)
        .map_err(|e| e.to_string())?;
    let own = wanted
        .control_plane
        .as_deref()
        .filter(|version| !version.is_empty());
    let control_plane = match own.or(cluster.version.as_deref()) {
        Some(version) => KubernetesVersion::parse("spec.versions.controlPlane", version)
            .map_err(|e| e.to_string())?,
        None => kubelet.clone(),
    };
    Ok((kubelet, control_plane))
}

/// The Node's name: `spec.metadata.name`, else the host's.
pub fn node_name<'a>(observed: &'a Observed, held: &'a Infrastructure) -> &'a str {
    observed
        .machine
        .spec
        .metadata
        .name
        .as_deref()
        .unwrap_or(&held.name)
}

fn node_input(observed: &Observed, held: &Infrastructure) -> NodeInput {
    NodeInput {
        name: node_name(observed, held).to_owned(),
        provider_id: observed.provider_id().unwrap_or_default(),
        taints: observed.machine.spec.taints.clone(),
        labels: observed.machine.spec.metadata.labels.clone(),
        cri_socket: CRI_SOCKET.into(),
    }
}
