//! The way to the API of a cluster: direct, or through the hosts of its control plane where these
//! are behind jump hosts.

use std::sync::Arc;

use kube::ResourceExt;

use super::Clusters;
use crate::controllers::cluster_cache::JumpRoute;
use crate::controllers::machine::claimed_host;
use crate::remote::{Reach, Route, Targets};
use tatara_core::api::names::ANNOTATION_INITIALIZED;
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, Host};

/// The route of a new connection, and what is remembered of it. A host whose keys cannot be used
/// leads nowhere; without any it is direct.
pub(super) async fn choose(controller: &Clusters, cluster: &Cluster) -> (Route, Option<JumpRoute>) {
    let hosts = behind(&control_plane(controller, cluster));
    let targets = controller.hosts.targets(&hosts).await;
    if targets.is_empty() {
        return (Route::Direct(reach(controller, cluster)), None);
    }
    let targets = Arc::new(Targets::new(targets));
    let jump = JumpRoute {
        depends_on: depends_on(controller, &hosts),
        targets: Arc::clone(&targets),
    };
    let pool = controller.hosts.pool().clone();
    (Route::Through { pool, targets }, Some(jump))
}

/// Where a direct connection may lead: the kubeconfig, or the endpoint, is what a user wrote.
fn reach(controller: &Clusters, cluster: &Cluster) -> Reach {
    let uid = cluster.uid().unwrap_or_default();
    let is_external = controller.workloads.known.get(&uid).kubeconfig.external;
    within(&controller.reach, is_external)
}

/// What is allowed of it: a cluster that we made may be the one that manages it.
fn within(given: &Reach, is_external: bool) -> Reach {
    if is_external {
        given.clone()
    } else {
        given.clone().with_management()
    }
}

/// Lets a connection go on by what the hosts are now. Returns whether it has to be replaced
/// instead.
pub(super) async fn refresh(
    controller: &Clusters,
    cluster: &Cluster,
    jump: Option<&JumpRoute>,
) -> bool {
    let all = control_plane(controller, cluster);
    let hosts = behind(&all);
    let Some(jump) = jump else {
        // a direct one; there is no other before the keys of such a host can be used
        return !hosts.is_empty() && !controller.hosts.targets(&hosts).await.is_empty();
    };
    if hosts.is_empty() {
        // of hosts that are not seen at the moment the former are better than nothing
        return !all.is_empty();
    }
    let now = depends_on(controller, &hosts);
    if now == jump.depends_on {
        return false;
    }
    let targets = controller.hosts.targets(&hosts).await;
    if !targets.is_empty() {
        jump.targets.replace(targets);
        let uid = cluster.uid().unwrap_or_default();
        controller.workloads.known.update(&uid, |known| {
            if let Some(jump) = &mut known.jump {
                jump.depends_on = now;
            }
        });
    }
    false
}

/// The Hosts, as they are reached, and their keys.
fn depends_on(controller: &Clusters, hosts: &[Arc<Host>]) -> String {
    let credentials = &controller.base.stores().credentials;
    let mut parts = Vec::new();
    for host in hosts {
        let ssh = serde_json::to_string(&host.spec.ssh).unwrap_or_default();
        parts.push(format!("{} {ssh}", host.uid().unwrap_or_default()));
        let namespace = host.namespace().unwrap_or_default();
        for name in host.spec.credentials() {
            let secret = credentials.get(&namespace, name);
            parts.extend(secret.and_then(|secret| secret.resource_version()));
        }
    }
    parts.join("\n")
}

/// The Hosts of its control plane, by name; that of the Machine which made it also when that is not
/// declared as one any more.
pub(super) fn control_plane(controller: &Clusters, cluster: &Cluster) -> Vec<Arc<Host>> {
    let namespace = cluster.namespace().unwrap_or_default();
    let stores = controller.base.stores();
    let machines = controller.control_planes.machines(cluster);
    let uids = machines.iter().filter_map(|machine| machine.uid());
    let first = cluster.annotations().get(ANNOTATION_INITIALIZED).cloned();
    let hosts = uids
        .chain(first)
        .filter_map(|uid| claimed_host(stores, &namespace, &uid));
    let mut hosts: Vec<_> = hosts
        .filter(|host| unreadable(host.as_ref()).is_none())
        .collect();
    hosts.sort_by_key(|host| host.name_any());
    hosts.dedup_by_key(|host| host.name_any());
    hosts
}

/// Those behind jump hosts.
fn behind(hosts: &[Arc<Host>]) -> Vec<Arc<Host>> {
    let is_behind = |host: &&Arc<Host>| !host.spec.ssh.jump.is_empty();
    hosts.iter().filter(is_behind).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_cluster_that_we_made_may_be_the_one_that_manages_it_and_none_is_local() {
        let given = Reach::given(false).but("192.0.2.1", 6443);
        for (is_external, host, is_allowed) in [
            (true, "192.0.2.1", false),
            (false, "192.0.2.1", true),
            (true, "192.0.2.2", true),
            (true, "127.0.0.1", false),
            (false, "127.0.0.1", false),
        ] {
            let found = within(&given, is_external).resolve(host, 6443).await;
            assert_eq!(found.is_ok(), is_allowed, "{host}, external: {is_external}");
        }
    }
}
