//! The ways in which a cluster ends. After each, every host was reset once and is nobody's, and the
//! ClusterProfile went before a host was let go.

use crate::support::audit::MANAGER;
use crate::support::wait::within;
use crate::support::world::World;

pub const HOSTS: [&str; 3] = ["host-a", "host-b", "host-c"];
const OURS: &str =
    "clusters.cluster.k8s.io,machinedeployments,machinesets,machines,clusterprofiles";

/// Deletes by `delete`, waits for the end, and looks at what became of the hosts. None of `kept` was let go before
/// the profile was deleted.
pub async fn resets_every_host(world: &World, kept: &[&str], delete: impl FnOnce(&World)) {
    let resets = HOSTS.map(|host| world.starts(host, "reset"));
    let mark = world.audit();
    delete(world);
    within("the end of the cluster's objects", 300, async || {
        let left = world.kubectl(&["get", OURS, "--all-namespaces", "--output=name"]);
        left.is_empty().then_some(())
    })
    .await;
    let requests = mark.requests();
    let unpublished = requests.iter().position(|request| {
        request.verb.starts_with("delete") && request.object_ref.resource == "clusterprofiles"
    });
    let let_go = requests.iter().position(|request| {
        let object = &request.object_ref;
        let is_host = object.resource == "hosts" && object.subresource.is_empty();
        let is_kept = is_host && kept.contains(&object.name.as_str());
        request.user.username == MANAGER && request.verb == "patch" && is_kept
    });
    assert!(
        unpublished.is_some() && unpublished < let_go,
        "{requests:#?}"
    );
    within("hosts that nobody owns", 120, async || {
        let owned = |host: &str| {
            let marker = "test ! -e /var/lib/tatara/owner.json || echo owned";
            !world.shell(host, marker).is_empty()
        };
        (!HOSTS.iter().any(|host| owned(host))).then_some(())
    })
    .await;
    for (host, before) in HOSTS.iter().zip(resets) {
        assert_eq!(world.starts(host, "reset"), before + 1, "{host}: resets");
        let left = "systemctl is-active kubelet || true; ls -A /etc/kubernetes /var/lib/etcd 2>/dev/null || true";
        let left = world.shell(host, left);
        assert_eq!(left.trim(), "inactive", "{host}");
    }
}
