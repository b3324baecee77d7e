//! The way to the API of a cluster: direct, or through the hosts of its control plane where these are behind jump hosts.

use std::sync::Arc;

use kube::{Resource, ResourceExt};

use super::Clusters;
use crate::api::readable::unreadable;
use crate::api::{Cluster, Host};
use crate::controllers::machine::claimed_host;
use crate::remote::Route;

/// The route. A host whose keys cannot be used leads nowhere; without any it is direct.
pub(super) async fn of(controller: &Clusters, cluster: &Cluster) -> Route {
    let hosts = hosts(controller, cluster);
    let hosts: Vec<_> = hosts.iter().map(AsRef::as_ref).collect();
    controller.hosts.route(&hosts).await
}

/// What it depends on. The manager connects anew when that changes.
pub(super) fn depends_on(controller: &Clusters, cluster: &Cluster) -> String {
    let hosts = hosts(controller, cluster).into_iter();
    let parts = hosts.map(|host| {
        let uid = host.meta().uid.clone().unwrap_or_default();
        format!(
            "{uid} {}",
            serde_json::to_string(&host.spec.ssh).unwrap_or_default()
        )
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The Hosts of its control plane that are behind jump hosts, by name.
fn hosts(controller: &Clusters, cluster: &Cluster) -> Vec<Arc<Host>> {
    let namespace = cluster.namespace().unwrap_or_default();
    let stores = controller.base.stores();
    let machines = controller.control_planes.machines(cluster).into_iter();
    let hosts = machines.filter_map(|machine| claimed_host(stores, &namespace, &machine.uid()?));
    let is_behind =
        |host: &Arc<Host>| unreadable(host.as_ref()).is_none() && !host.spec.ssh.jump.is_empty();
    let mut hosts: Vec<_> = hosts.filter(is_behind).collect();
    hosts.sort_by_key(|host| host.name_any());
    hosts
}
