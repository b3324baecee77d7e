//! The units of steps of a Machine, from what was observed. [`prepare`] is pure: a plan compares its
//! identity with what ran. The others hold keys or tokens, and are made when they are run.

use std::sync::PoisonError;

use k8s_openapi::jiff::SignedDuration;
use secrecy::SecretString;

use super::observed::{Held, Observed, ObservedCluster, Placement};
use crate::api::cluster_provider_spec::EndpointHolder;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::machine_provider_spec::NodeSettings;
use crate::api::{ClusterProviderSpec, MachineProviderSpec};
use crate::controllers::cluster::cluster_input;
use crate::engine::Chain;
use crate::engine::ReconcileError;
use crate::kubeadm::{self, CRI_SOCKET, Discovery, KubernetesVersion, LocalApi, NodeInput};
use crate::manager::Context;
use crate::node::{self, Bootstrap, Prepare, Role, Unit, UnitName, VirtualIpInput};
use crate::pki::{Authorities, BootstrapToken, authorities};
use crate::workload::tokens;

/// How long a token is good for: a join takes seconds, and one that failed gets a new token.
const TOKEN_LIFE: SignedDuration = SignedDuration::from_mins(15);

/// The parts of an observation that units are made from.
struct Parts<'a> {
    cluster: &'a ObservedCluster,
    spec: &'a ClusterProviderSpec,
    settings: &'a NodeSettings,
    held: &'a Held,
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
pub fn prepare(observed: &Observed) -> Result<Unit, String> {
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
    node::prepare(&input).map_err(|error| error.to_string())
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
pub fn node_name<'a>(observed: &'a Observed, held: &'a Held) -> &'a str {
    observed
        .machine
        .spec
        .metadata
        .name
        .as_deref()
        .unwrap_or(&held.name)
}

/// The unit of this name, or what stands in its way.
pub async fn build(
    context: &Context,
    observed: &Observed,
    name: UnitName,
) -> Result<Result<Unit, Finding>, ReconcileError> {
    let no = |reason, message| Finding::no(ConditionType::BootstrapReady, reason, message);
    if name == UnitName::Prepare {
        return Ok(prepare(observed).map_err(|problem| no(Reason::InvalidConfiguration, problem)));
    }
    let cluster = observed.cluster.as_ref();
    let known = cluster.and_then(|cluster| context.known.get(&cluster.uid).authorities);
    let Some(known) = known else {
        let message = "the certificate authorities of the Cluster are not known; if this stays, its condition CertificatesReady says what to do".into();
        return Ok(Err(no(Reason::WaitingForCertificates, message)));
    };
    let made = match name {
        UnitName::Join => {
            let Some(token) = token(context, observed).await? else {
                let message = "the cluster's API is not connected yet".into();
                return Ok(Err(no(Reason::WaitingForControlPlane, message)));
            };
            join(observed, &known, &token)
        }
        UnitName::Init => init(context, observed, &known),
        UnitName::Prepare | UnitName::Reset => {
            Err("a Machine never resets its host; the Host does".into())
        }
    };
    Ok(made.map_err(|problem| no(Reason::InvalidConfiguration, problem)))
}

fn node_input(observed: &Observed, held: &Held) -> NodeInput {
    NodeInput {
        name: node_name(observed, held).to_owned(),
        provider_id: observed.provider_id().unwrap_or_default(),
        taints: observed.machine.spec.taints.clone(),
        labels: observed.machine.spec.metadata.labels.clone(),
        cri_socket: CRI_SOCKET.into(),
    }
}

fn init(context: &Context, observed: &Observed, known: &Authorities) -> Result<Unit, String> {
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
    let stored = context
        .stores
        .clusters
        .get(&observed.marker.namespace, &cluster.name)
        .ok_or("the Cluster does not exist")?;
    let mut input = cluster_input(&stored, version, endpoint.clone());
    input.cert_sans.push(address.clone());
    let document = kubeadm::init(&input, &node_input(observed, held), &api, spec)
        .map_err(|error| error.to_string())?;
    let holder = spec
        .control_plane_endpoint
        .as_ref()
        .filter(|endpoint| endpoint.held_by == EndpointHolder::VirtualIp);
    node::init(Bootstrap {
        kubeadm: SecretString::from(document),
        pki: authorities::control_plane_files(known),
        virtual_ip: holder.map(|holder| VirtualIpInput {
            address: &holder.host,
            own_address: &address,
            peers: &[],
            api_port: endpoint.port,
            interface: holder.virtual_ip.interface.as_deref(),
            router_id: holder.virtual_ip.router_id,
        }),
        pod_cidrs: &cluster.network.pods.cidr_blocks,
        post_kubeadm_commands: &settings.post_kubeadm_commands,
    })
    .map_err(|error| error.to_string())
}

/// A new token for this Machine in its cluster, good for a quarter of an hour; none while its API is not
/// connected.
async fn token(
    context: &Context,
    observed: &Observed,
) -> Result<Option<BootstrapToken>, ReconcileError> {
    let cluster = context
        .stores
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    let Some(member) = cluster.and_then(|cluster| context.member(&cluster)) else {
        return Ok(None);
    };
    let token = BootstrapToken::generate()
        .map_err(|error| ReconcileError::other("make a bootstrap token", Chain(&error)))?;
    let machine = format!("{}/{}", observed.marker.namespace, observed.marker.machine);
    let secret = token.secret(&machine, crate::clock::now() + TOKEN_LIFE);
    tokens::apply(member.client(), &secret)
        .await
        .map_err(|error| ReconcileError::other("write a bootstrap token", error.sentence()))?;
    let mut names = context
        .tokens
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    names.insert(
        observed.uid().to_owned(),
        crate::pki::bootstrap_token::secret_name(token.id()),
    );
    Ok(Some(token))
}

fn join(observed: &Observed, known: &Authorities, token: &BootstrapToken) -> Result<Unit, String> {
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
        token: token.text(),
        ca_cert_hashes: known.cluster.public_key_hashes(),
    };
    let document = kubeadm::join(&node_input(observed, held), &discovery, spec)
        .map_err(|error| error.to_string())?;
    node::join(Bootstrap {
        kubeadm: document,
        pki: Vec::new(),
        virtual_ip: None,
        pod_cidrs: &cluster.network.pods.cidr_blocks,
        post_kubeadm_commands: &settings.post_kubeadm_commands,
    })
    .map_err(|error| error.to_string())
}

/// Removes the token that a Machine joined with.
pub async fn remove_token(context: &Context, observed: &Observed) {
    let name = context
        .tokens
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(observed.uid());
    let cluster = context
        .stores
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    let (Some(name), Some(member)) = (name, cluster.and_then(|cluster| context.member(&cluster)))
    else {
        return;
    };
    if let Err(error) = tokens::delete(member.client(), &name).await {
        // It ends by itself in a quarter of an hour.
        tracing::warn!(error = %error.sentence(), "failed to remove a used bootstrap token");
    }
}
