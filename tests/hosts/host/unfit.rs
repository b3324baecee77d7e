//! Preflight on a host with which everything is wrong.

use std::path::Path;

use tatara_core::node::{Role, Take, start_and_follow};

use crate::host::cluster::Cluster;
use crate::host::faults::{codes, failure};
use crate::host::fleet::{EPOCH, Fleet, marker, now};

/// Makes everything wrong that a preflight looks at. What a host made of namespaces has from its
/// machine (memory, swap, processor) is put in its place as the kernel would say it.
const BREAK: &str = r#"
ip link add cni0 type bridge
ip link add lan0 type veth peer name lan1; ip link set lan0 up; ip link set lan1 up
ip addr add 10.244.7.1/24 dev lan0; ip addr add 10.97.0.1/15 dev lan1
sed -i 's/^VERSION_ID=.*/VERSION_ID="11"/' /etc/os-release
mkdir -p /etc/kubernetes/manifests; echo >/etc/kubernetes/manifests/x.yaml
printf '#!/bin/bash\n[[ $1 == -m ]] && echo riscv64 || exec /usr/bin/uname "$@"\n' >/usr/local/bin/uname; chmod 755 /usr/local/bin/uname
sed 's/^MemTotal:.*/MemTotal:         1048576 kB/' /proc/meminfo >/run/meminfo; mount --bind /run/meminfo /proc/meminfo
printf 'Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1048572 0 -2\n' >/run/swaps; mount --bind /run/swaps /proc/swaps
printf '#!/bin/bash\necho 1\n' >/usr/local/bin/nproc; chmod 755 /usr/local/bin/nproc
systemd-run --quiet --unit=squatter --collect socat TCP-LISTEN:6443,fork,reuseaddr EXEC:true
timeout 20 bash -c "until ss -Hltn 'sport = :6443' | grep -q .; do sleep 0.05; done"
cp /etc/containerd/config.toml /root/config.toml; sed -i '1i disabled_plugins = ["io.containerd.grpc.v1.cri"]' /etc/containerd/config.toml
"#;

const REPAIR: &str = "
ip link delete cni0; ip link delete lan0; rm -r /etc/kubernetes; printf 'ID=ubuntu\\nVERSION_ID=\"24.04\"\\n' >/etc/os-release
rm /usr/local/bin/{uname,nproc}; umount /proc/meminfo /proc/swaps
systemctl stop squatter; mv /root/config.toml /etc/containerd/config.toml
";

#[test]
#[ignore = "needs hosts"]
fn a_host_that_is_not_fit_says_everything_that_is_wrong_with_it_at_once() {
    let fleet = Fleet::new("ndunfit", "10.64.0");
    fleet.start("cp", 11, &[("NO_IMAGES", "1")]);
    let mut cluster = Cluster::new(&fleet, None);
    let ours = marker("m-1");
    assert_eq!(fleet.take("cp", &ours), Take::Taken);
    fleet.shell("cp", BREAK);
    let version = std::mem::replace(&mut cluster.input.version, "v1.31.0".parse().unwrap());
    let tolerated = cluster
        .user
        .kubelet_configuration
        .remove("failCgroupV1")
        .unwrap();
    let unit = cluster.prepare(Role::ControlPlane, "Not_A_Name");
    let late = now() - k8s_openapi::jiff::SignedDuration::from_hours(1);
    let script = start_and_follow(&ours, &unit, EPOCH, late).unwrap();
    let events = fleet.attach("cp", &script).rest();
    let failed = failure(&events);
    assert_eq!(failed.at.step, "preflight");
    let expected = [
        ("os", "debian 11", "install Debian 12"),
        ("architecture", "riscv64", "x86_64"),
        (
            "memory",
            "1024 MB of memory, and a control-plane machine needs 1700 MB",
            "use a larger host",
        ),
        (
            "cpus",
            "1 processors, and a control-plane machine needs 2",
            "use a larger host",
        ),
        ("swap", "/dev/sda2", "swapoff -a"),
        (
            "clock",
            "the clock differs from the manager's by 36",
            "chrony",
        ),
        ("hostname", "Not_A_Name", "spec.metadata.name"),
        (
            "occupied",
            "/etc/kubernetes/manifests/x.yaml",
            "kubeadm reset",
        ),
        (
            "network",
            "10.244.0.0/16 of spec.clusterNetwork.pods.cidrBlocks overlaps 10.244.7.1/24 of this host's interface lan0",
            "choose another network in spec.clusterNetwork.pods.cidrBlocks",
        ),
        (
            "network",
            "10.96.0.0/16 of spec.clusterNetwork.services.cidrBlocks overlaps 10.96.0.0/15 of this host's interface lan1",
            "choose another network in spec.clusterNetwork.services.cidrBlocks",
        ),
        ("leftover", "cni0", "ip link delete cni0"),
        ("port", "port 6443 is in use by socat (pid ", "ss -ltnp"),
        ("containerd", "CRI plugin is disabled", "disabled_plugins"),
        ("kubelet", &format!("the kubelet is {version}"), "v1.31.0"),
        ("kubeadm", &format!("kubeadm is {version}"), "v1.31"),
    ];
    assert_eq!(codes(&failed.findings), expected.map(|(code, ..)| code));
    for (finding, (_, value, remedy)) in failed.findings.iter().zip(expected) {
        assert!(finding.value.contains(value), "{finding}");
        assert!(finding.remedy.contains(remedy), "{finding}");
    }
    assert!(failed.output.contains("15 finding(s)"), "{}", failed.output);

    // a configuration that containerd itself does not take
    fleet.shell(
        "cp",
        "sed -i '1s/io.containerd.grpc.v1.cri/cri/' /etc/containerd/config.toml",
    );
    let events = fleet.run_unit("cp", &ours, &unit);
    let found = &failure(&events).findings;
    let found = found
        .iter()
        .find(|finding| finding.code == "containerd")
        .unwrap();
    assert!(
        found.value.contains("cannot read its configuration"),
        "{found}"
    );
    assert!(found.value.contains("disabled"), "{found}");

    repaired(&fleet, &mut cluster, version, tolerated);

    // the host of somebody else's cluster is not even taken
    fleet.shell("cp", "rm /var/lib/tatara/owner.json; mkdir -p /etc/kubernetes/manifests; echo >/etc/kubernetes/manifests/x.yaml");
    assert!(
        matches!(fleet.take("cp", &ours), Take::Occupied(found) if codes(&found) == ["occupied"])
    );
}

/// With all that mended (and called Ubuntu), what is left is the kubelet and the host not meaning the same by cgroups.
fn repaired(
    fleet: &Fleet,
    cluster: &mut Cluster<'_>,
    version: tatara_core::kubeadm::KubernetesVersion,
    tolerated: serde_json::Value,
) {
    let ours = marker("m-1");
    fleet.shell("cp", REPAIR);
    cluster.input.version = version;
    let driver = "cgroupDriver".to_owned();
    let fits = cluster
        .user
        .kubelet_configuration
        .insert(driver.clone(), "other".into());
    let events = fleet.run_unit("cp", &ours, &cluster.prepare(Role::ControlPlane, "cp"));
    let failed = failure(&events);
    let is_v1 = !Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let expected: &[&str] = if is_v1 {
        &["cgroup", "containerd"]
    } else {
        &["containerd"]
    };
    assert_eq!(codes(&failed.findings), expected);
    assert!(
        failed.findings[expected.len() - 1]
            .remedy
            .contains("set SystemdCgroup in")
    );
    if is_v1 {
        assert!(
            failed.findings[0]
                .remedy
                .contains("failCgroupV1: false in kubeletConfiguration")
        );
    }
    let settings = &mut cluster.user.kubelet_configuration;
    settings.insert(driver, fits.unwrap());
    settings.insert("failCgroupV1".into(), tolerated);
    cluster.succeed("cp", &ours, &cluster.prepare(Role::ControlPlane, "cp"));
}
