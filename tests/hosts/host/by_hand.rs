//! The commands of docs/operating.md that undo a node by hand.

use tatara_core::node::{Ownership, Take};

use crate::host::address;
use crate::host::cluster::Cluster;
use crate::host::fleet::{marker, root};
use crate::host::life::nothing_of_kubernetes;

/// The script that the document shows under "Undo".
fn shown() -> String {
    let page = std::fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let (_, undo) = page.split_once("**Undo.**").unwrap();
    let (_, script) = undo.split_once("```bash\n").unwrap();
    script.split("```").next().unwrap().to_owned()
}

/// A control plane with the address and a network; nothing of the host's own goes.
pub fn undone_a_node_is_as_clean_as_after_a_reset(cluster: &Cluster<'_>) {
    let fleet = cluster.fleet;
    cluster.up("cp-2");
    cluster.ready("cp");
    fleet.shell("cp", "echo site >/etc/cni/net.d/87-podman-bridge.conflist; iptables -I INPUT -s 192.0.2.0/24 -j DROP");
    fleet.shell("cp", &shown());
    nothing_of_kubernetes(fleet, "cp");
    address::is_let_go(fleet);
    let left = fleet.shell(
        "cp",
        "cat /etc/cni/net.d/*; iptables -S INPUT | grep -c 192.0.2; ls -d /var/lib/tatara /run/tatara /etc/sysctl.d/90-tatara.conf /etc/modules-load.d/90-tatara.conf /etc/keepalived/{keepalived.conf,tatara-check-api} 2>/dev/null || true",
    );
    assert_eq!(left, "site\n1\n");
    let observed = fleet.observe("cp");
    assert_eq!(observed.owner, Ownership::Nobody);
    assert_eq!(observed.occupied, []);
    assert!(!observed.kubelet_active);
    assert_eq!(fleet.take("cp", &marker("cp-3")), Take::Taken);
}
