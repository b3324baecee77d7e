//! The life of nodes: prepare, init, join, Ready, reset, and join again; with what others have on the host.

use tatara_core::node::{Event, JobKind, Ownership, Role, UnitState};

use super::{address, by_hand, late, secrets, strangers};
use crate::host::cluster::Cluster;
use crate::host::fleet::{Fleet, lossy, marker};
use crate::support::canaries::CommandLines;

#[test]
#[ignore = "needs hosts"]
fn a_host_becomes_a_node_is_reset_and_becomes_a_node_again() {
    let fleet = Fleet::new("ndlife", "10.84.0");
    fleet.start("cp", 11, &[]);
    fleet.start("w", 12, &[]);
    let mut cluster = Cluster::new(&fleet, Some(100));
    cluster.router_id = Some(77);
    let commands = CommandLines::watch();
    address::is_held_before_there_is_an_api(&cluster, "cp-1");
    let control_plane = cluster.up("cp-1");
    cluster.ready("cp");
    address::is_held_with_less_priority_while_the_api_is_away(&fleet);
    cluster.ready("cp");
    let observed = fleet.observe("cp");
    assert!(observed.kubelet_active);
    assert!(observed.owner.of(&control_plane).unwrap().initialized);
    assert!(
        fleet
            .shell("cp", "ip -o addr show dev eth0")
            .contains(" 10.84.0.100/32 ")
    );

    let mut secrets = secrets::of(&cluster, &["cp"]);
    secrets.word("token", &joins(&cluster, "w-1", late::no_reset));
    foreign_things(&fleet);
    resets(&cluster, "w-1");
    foreign_things_survive(&fleet);
    secrets.word(
        "token",
        &joins(&cluster, "w-2", late::a_reset_waits_and_undoes_nothing),
    );

    // init does not run twice, whatever the manager believes
    let uid = fleet.shell("cp", "cat /etc/kubernetes/pki/ca.crt");
    let mut again = cluster.init("cp-1");
    again.steps[0].script.push_str("# other\n");
    cluster.succeed("cp", &control_plane, &again);
    assert_eq!(fleet.shell("cp", "cat /etc/kubernetes/pki/ca.crt"), uid);
    cluster.ready("cp");

    strangers::are_left_alone(&cluster, &control_plane);
    secrets.extend(secrets::of(&cluster, &["cp", "w"]));
    for host in ["cp", "w"] {
        secrets::are_at_home(&fleet, host, &secrets);
    }
    cluster.succeed("w", &marker("w-2"), &cluster.reset());
    cluster.succeed("cp", &control_plane, &cluster.reset());
    for host in ["cp", "w"] {
        secrets::are_gone(&fleet, host, &secrets);
    }
    for line in commands.end() {
        assert!(secrets.found_in(&line).is_empty(), "{}", lossy(&line));
    }
    clean(&fleet, "cp");
    address::is_let_go(&fleet);
    by_hand::undone_a_node_is_as_clean_as_after_a_reset(&cluster);
}

/// Gives the secret part of the token that it joined with.
fn joins(cluster: &Cluster<'_>, uid: &str, join_with: late::Join) -> String {
    let worker = marker(uid);
    cluster.fleet.take("w", &worker);
    // a containerd that was there stays as it was
    let containerd = "sha256sum /etc/containerd/config.toml; systemctl show containerd --property=MainPID; ls /var/lib/tatara/installed 2>/dev/null; true";
    let before = cluster.fleet.shell("w", containerd);
    cluster.succeed("w", &worker, &cluster.prepare(Role::Worker, "w"));
    assert_eq!(cluster.fleet.shell("w", containerd), before);
    let join = cluster.join("w", uid);
    join_with(cluster, &worker, &join);
    cluster.ready("w");
    let id = "kubectl get node w -o 'jsonpath={.spec.providerID}'";
    assert_eq!(cluster.kubectl("id", id), format!("tatara://ssh/{uid}"));
    // a pod gets an address and runs
    let pod = format!(
        "kubectl run {uid} --image=registry.k8s.io/pause:3.10.2 --image-pull-policy=Never --overrides='{{\"spec\":{{\"nodeName\":\"w\"}}}}' >/dev/null
        kubectl wait --for=condition=Ready pod/{uid} --timeout=120s >/dev/null
        kubectl get pod {uid} -o 'jsonpath={{.status.podIP}}'"
    );
    let address = cluster.kubectl("pod", &pod);
    assert!(address.starts_with("10.244."), "{address}");
    let token = secrets::token_of(&join);
    token.split_once('.').unwrap().1.to_owned()
}

fn resets(cluster: &Cluster<'_>, uid: &str) {
    let worker = marker(uid);
    strangers::keep_it_dirty(cluster, &worker);
    cluster.succeed("w", &worker, &cluster.reset());
    cluster.kubectl(
        "gone",
        "kubectl delete node w; kubectl delete pods --all --force --grace-period=0 2>/dev/null",
    );
    let events = cluster.fleet.run_unit("w", &worker, &cluster.reset());
    assert_eq!(events, [Event::Refused(Ownership::Nobody)]);
    clean(cluster.fleet, "w");
}

fn clean(fleet: &Fleet, host: &str) {
    let observed = fleet.observe(host);
    assert_eq!(observed.owner, Ownership::Nobody);
    assert_eq!(observed.occupied, []);
    assert!(!observed.kubelet_active);
    let units: Vec<_> = observed.units.iter().map(|unit| unit.job.kind).collect();
    assert_eq!(units, [JobKind::Reset]);
    assert_eq!(observed.units[0].state, UnitState::Succeeded);
    nothing_of_kubernetes(fleet, host);
}

pub fn nothing_of_kubernetes(fleet: &Fleet, host: &str) {
    let left = fleet.shell(
        host,
        "ls -d /etc/kubernetes/{*.conf,pki,manifests} /var/lib/kubelet /var/lib/etcd/member /run/flannel /var/log/pods /etc/cni/net.d/10-flannel.conflist /run/tatara/* 2>/dev/null
        ip -o link | grep -E 'cni0|flannel|veth|kube' ; ip route | grep 10.244 | grep -vE '10[.]244[.]2[0-9]{2}[.]'; ls /run/netns 2>/dev/null
        iptables-save 2>/dev/null | grep -E 'KUBE|CNI|FLANNEL|flanneld'; ip6tables-save 2>/dev/null | grep -E 'KUBE|CNI|FLANNEL'
        grep -E 'kubelet|/run/containerd/io.containerd.runtime.v2.task/k8s.io' /proc/mounts; pgrep -l 'kube|etcd|coredns|flanneld'; true",
    );
    assert_eq!(left, "", "{host}");
}

fn foreign_things(fleet: &Fleet) {
    fleet.shell(
        "w",
        "set -e
        nft add table inet site; nft add chain inet site guard '{ type filter hook input priority 5; }'; nft add rule inet site guard tcp dport 9999 drop
        iptables -t nat -N SITE; iptables -t nat -A PREROUTING -j SITE; iptables -t nat -A SITE -p tcp --dport 81 -j ACCEPT
        iptables -I INPUT -s 192.0.2.0/24 -m comment --comment 'site says' -j DROP
        echo '{\"name\": \"podman\"}' >/etc/cni/net.d/87-podman-bridge.conflist
        mkdir -p /var/lib/cni/networks/podman; echo x >/var/lib/cni/networks/podman/10.88.0.2
        mkdir -p /etc/kubernetes /var/lib/etcd/default; echo mine >/etc/kubernetes/site.txt; echo mine >/var/lib/etcd/default/data
        ip link add site0 type veth peer name site1; ip addr add 192.0.2.1/24 dev site0; ip link set site0 up; ip link set site1 up; ip route add 198.51.100.0/24 via 10.84.0.1
        ip addr add 10.244.200.1/24 dev site0; ip route add 10.244.210.0/24 via 10.84.0.11 proto static; ip route add 10.244.220.0/24 via 10.84.0.1
        ip route add 10.244.230.0/25 via 10.84.0.11; ip route add 10.244.99.0/24 via 10.84.0.11
        ctr -n k8s.io images export /root/pause.tar registry.k8s.io/pause:3.10.2
        ctr -n site images import /root/pause.tar >/dev/null
        ctr -n site run -d registry.k8s.io/pause:3.10.2 foreign >/dev/null",
    );
}

fn foreign_things_survive(fleet: &Fleet) {
    let found = fleet.shell(
        "w",
        "nft list table inet site | grep -c 9999; iptables -t nat -S | grep SITE; iptables -S INPUT | grep site
        cat /etc/cni/net.d/87-podman-bridge.conflist /var/lib/cni/networks/podman/10.88.0.2 /etc/kubernetes/site.txt /var/lib/etcd/default/data
        ip -o -4 addr show site0 | grep -c 192.0.2.1; ip route show 198.51.100.0/24 | grep -c via
        ctr -n site tasks ls | grep -c RUNNING; ctr -n k8s.io images ls -q | grep -c pause",
    );
    let expected = "1\n-N SITE\n-A PREROUTING -j SITE\n-A SITE -p tcp -m tcp --dport 81 -j ACCEPT\n-A INPUT -s 192.0.2.0/24 -m comment --comment \"site says\" -j DROP\n{\"name\": \"podman\"}\nx\nmine\nmine\n1\n1\n1\n";
    assert!(found.starts_with(expected), "{found}");
    // a wire of the site within the pods' network, and ways to others; what led to another node's pods (10.244.99.0) is gone
    assert_eq!(
        fleet.shell(
            "w",
            "ip -br link show site0 | grep -c UP; ip route show table main root 10.244.0.0/16"
        ),
        "1
10.244.200.0/24 dev site0 proto kernel scope link src 10.244.200.1 
10.244.210.0/24 via 10.84.0.11 dev eth0 proto static 
10.244.220.0/24 via 10.84.0.1 dev eth0 
10.244.230.0/25 via 10.84.0.11 dev eth0 
"
    );
    // put away, so that the next look for leftovers is about Kubernetes only, and the preflight finds no fault
    fleet.shell(
        "w",
        "rm -r /etc/kubernetes /var/lib/etcd; ip addr delete 10.244.200.1/24 dev site0",
    );
}
