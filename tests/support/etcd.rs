//! The etcd of a control plane, as a host of one sees it.

use super::versions::edit_manifest;
use super::world::World;

/// etcdctl on the host of a control plane.
pub const ETCDCTL: &str = "ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt \
    --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key";

/// Its members as that one lists them: their names, and whether they vote.
pub fn members(world: &World, host: &str) -> Vec<(String, bool)> {
    let list = world.shell(host, &format!("{ETCDCTL} member list"));
    let member = |line: &str| {
        let fields: Vec<&str> = line.split(", ").collect();
        let votes = fields.get(1) == Some(&"started") && fields.last() == Some(&"false");
        ((*fields.get(2).unwrap_or(&"")).to_owned(), votes)
    };
    list.lines().map(member).collect()
}

/// For three etcds on two cores, which else lose their leader while others are busy.
const TIMEOUTS: &str = r#"        clusterConfiguration:
          etcd: {local: {extraArgs: [{name: heartbeat-interval, value: "250"}, {name: election-timeout, value: "2500"}]}}
"#;

/// The Cluster that is about to be applied has etcds with longer timeouts.
pub fn with_longer_timeouts(world: &World) {
    edit_manifest(world, "20-cluster.yaml", |text| {
        text.replace("      kubeadm:\n", &format!("      kubeadm:\n{TIMEOUTS}"))
    });
}
