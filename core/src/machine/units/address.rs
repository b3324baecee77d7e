//! The part of a control plane in holding the Cluster's virtual IP, from what was observed.

use std::collections::BTreeSet;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Lookup, Observed};
use crate::api::ClusterProviderSpec;
use crate::api::cluster_provider_spec::EndpointHolder;
use crate::control_plane::{Member, Members};
use crate::node::{self, Identities, PlannedUnit, VirtualIpInput};

/// The part of the Machine in holding the Cluster's virtual IP. `None` if it has none, if it is
/// alone (init did that), or if the others are not known: one that is forgotten takes the address
/// as well. Its own address is the one that its etcd advertises: what its host reports first may be
/// the virtual IP.
pub fn address(observed: &Observed) -> Option<PlannedUnit> {
    let cluster = observed.cluster.as_ref()?;
    let Lookup::Known(members) = &cluster.etcd else {
        return None;
    };
    let own = observed.member(members)?.hosts().next()?;
    let all = all_addresses(observed, cluster, members);
    address_of(&observed.identities, cluster, own, all)
}

/// The addresses of all that may take part: etcd's members, and Machines for which kubeadm was
/// started.
fn all_addresses(
    observed: &Observed,
    cluster: &ObservedCluster,
    members: &Members,
) -> BTreeSet<String> {
    let listed = members.list.iter().flat_map(Member::hosts);
    let others = cluster.other_control_planes.iter();
    let others = others.filter_map(|other| other.address.as_deref());
    let own = observed.own_address.as_deref();
    let endpoint = cluster.endpoint.as_ref().map(|endpoint| &*endpoint.host);
    let all = listed.chain(others).chain(own);
    all.filter(|address| Some(*address) != endpoint)
        .map(str::to_owned)
        .collect()
}

/// Whether all others that etcd lists know of this Machine, so that only one of them holds the
/// virtual IP.
pub fn is_known_to_others(observed: &Observed, members: &Members) -> bool {
    let (Some(cluster), Some(own)) = (&observed.cluster, observed.member(members)) else {
        return false;
    };
    let all = all_addresses(observed, cluster, members);
    let others = members.list.iter().filter(|member| member.id != own.id);
    others.flat_map(Member::hosts).all(|address| {
        let mut machines = cluster.other_control_planes.iter();
        let machine = machines.find(|other| other.address.as_deref() == Some(address));
        let wanted = address_of(&observed.identities, cluster, address, all.clone());
        machine
            .zip(wanted)
            .is_some_and(|(machine, wanted)| machine.applied.as_deref() == Some(&*wanted.identity))
    })
}

fn address_of(
    identities: &Identities,
    cluster: &ObservedCluster,
    own: &str,
    mut all: BTreeSet<String>,
) -> Option<PlannedUnit> {
    let spec = cluster.spec.as_ref().ok()?;
    all.remove(own);
    if all.is_empty() {
        return None;
    }
    let peers: Vec<String> = all.into_iter().collect();
    let port = spec.control_plane_endpoint.as_ref()?.port;
    let spec = node::address(&virtual_ip(spec, own, &peers, port)?);
    identities.plan(spec).ok()
}

/// How the machine takes part in holding the Cluster's address; `None` if Tatara does not hold it.
pub(super) fn virtual_ip<'a>(
    spec: &'a ClusterProviderSpec,
    own_address: &'a str,
    peers: &'a [String],
    api_port: u16,
) -> Option<VirtualIpInput<'a>> {
    let endpoint = spec.control_plane_endpoint.as_ref();
    let holder = endpoint.filter(|endpoint| endpoint.held_by == EndpointHolder::VirtualIp)?;
    Some(VirtualIpInput {
        address: &holder.host,
        own_address,
        peers,
        api_port,
        interface: holder.virtual_ip.interface.as_deref(),
        router_id: holder.virtual_ip.router_id,
    })
}
