//! The Node of a Machine, and one that has its name.

use std::sync::Arc;

use kube::ResourceExt;

use super::super::Machines;
use super::{cluster_endpoint, turns};
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{ConditionType, is_false};
use crate::api::names::{self, ANNOTATION_INITIALIZED};
use crate::api::{Cluster, ClusterProviderSpec, Machine};
use crate::controllers::workloads::Workloads;
use crate::core::NodeView;
use crate::core::machine::units::node_name;
use crate::core::machine::{Lookup, Namesake, Observed, Placement};
use crate::providers::ssh::marked;
use crate::store::Stores;
use crate::workload::Connectivity;

/// The Node of a Machine, or why it cannot be read.
pub(super) fn find(
    (stores, workloads): (&Stores, &Workloads),
    cluster: Option<&Cluster>,
    machine: &Machine,
) -> Lookup<Option<Arc<NodeView>>> {
    let Some(cluster) = cluster else {
        return Lookup::Known(None);
    };
    let status = machine.status.as_ref();
    let was_seen = status.is_some_and(|status| status.node_ref.is_some());
    let Some(workload) = workloads.get(cluster) else {
        let problem = workloads.known.get(&cluster.uid().unwrap_or_default());
        let problem = problem.kubeconfig.problem.map(|why| format!(": {why}"));
        let not_connected = format!(
            "not connected to the API of Cluster {} yet{}",
            cluster.name_any(),
            problem.unwrap_or_default()
        );
        let initialized = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
        let is_young = workloads.are_connecting();
        return match (was_seen, initialized) {
            (true, _) if is_young => Lookup::NotYet(not_connected),
            (true, _) | (false, true) => Lookup::Unknown(not_connected),
            (false, false) => Lookup::Known(None),
        };
    };
    // not spec.providerID: a user may write it, and it may be another Machine's
    let ids = names::provider_ids(&machine.uid().unwrap_or_default());
    let found = ids.iter().find_map(|id| workload.node_by_provider_id(id));
    match (found, workload.connectivity()) {
        (Some(node), Connectivity::Connected { .. }) => Lookup::Known(Some(node)),
        (None, Connectivity::Connected { .. }) => Lookup::Known(None),
        (_, Connectivity::Connecting) if was_seen => Lookup::NotYet(format!(
            "the API of Cluster {} has not answered yet",
            cluster.name_any()
        )),
        (_, state) => {
            let turn = turns(workloads, cluster).0;
            let upgrade = turn.filter(|turn| turn.action == TurnAction::Upgrade);
            Lookup::Unknown(match upgrade {
                Some(turn) => restarting(cluster, &turn, &state),
                None => silent(stores, cluster, &state),
            })
        }
    }
}

/// The same, while kubeadm upgrade replaces an API server.
fn restarting(cluster: &Cluster, turn: &Turn, state: &Connectivity) -> String {
    let (name, machine) = (cluster.name_any(), &turn.name);
    let namespace = cluster.namespace().unwrap_or_default();
    format!(
        "the API of Cluster {name} does not answer{}, while control-plane Machine {machine} is updated: an only API server is away for a minute or two. If that lasts: tatara describe machine {machine} -n {namespace}",
        why(state)
    )
}

/// The message that the API of a Cluster does not answer.
fn silent(stores: &Stores, cluster: &Cluster, state: &Connectivity) -> String {
    let namespace = cluster.namespace().unwrap_or_default();
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let first = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let endpoint = cluster_endpoint(stores, &namespace, spec.as_ref().ok(), first);
    let at = endpoint.map_or_else(|| "its address".into(), |at| format!("https://{at}"));
    let name = cluster.name_any();
    let status = cluster.status.as_ref();
    // it stays True until several probes have failed
    let is_told = status
        .is_some_and(|status| is_false(&status.conditions, ConditionType::ControlPlaneHealthy));
    let more = if is_told {
        format!("; see condition ControlPlaneHealthy of Cluster {name}")
    } else {
        String::new()
    };
    format!(
        "the API of Cluster {name} does not answer{}. Check route and firewall between the manager and {at}, and that kube-apiserver runs{more}. If a certificate has expired: docs/operating.md#certificates",
        why(state)
    )
}

/// A Node that the host's last Machine left behind, for example when that Machine was lost with the management
/// cluster's etcd data: a kubelet of the same name would take it over, including its provider ID.
pub(super) fn namesake(
    controller: &Machines,
    cluster: Option<&Cluster>,
    observed: &Observed,
) -> Option<Namesake> {
    let (Placement::Held(held), Lookup::Known(None)) = (&observed.placement, &observed.node) else {
        return None;
    };
    let node = controller
        .workloads
        .get(cluster?)?
        .node(node_name(observed, held))?;
    let owner = node.provider_id.as_deref().and_then(names::machine_uid);
    let is_left_over =
        owner.is_some_and(|uid| controller.base.stores().machines.by_uid(uid).is_none());
    let namespace = &observed.marker.namespace;
    let marked = owner.and_then(|uid| marked(&controller.base.stores().hosts, namespace, uid));
    Some(Namesake {
        node,
        is_left_over,
        marked,
    })
}

fn why(state: &Connectivity) -> String {
    match state {
        Connectivity::Disconnected { why, since } => format!(" since {since:.0}: {why}"),
        _ => " yet".into(),
    }
}
