//! What a configuration has put elsewhere, and what is mounted where a reset removes: nothing of the cluster stays, and
//! nothing that is only mounted there is lost.

use serde_json::json;
use tatara_core::node::{Role, start_and_follow};

use crate::host::cluster::Cluster;
use crate::host::faults::{codes, failure, until_step};
use crate::host::fleet::{EPOCH, Fleet, marker, now};
use crate::host::life::nothing_of_kubernetes;

/// As a cluster has it that was made before the kubelet's folder could be named only by its administrator.
const KUBELET: &str = "echo 'KUBELET_EXTRA_ARGS=--root-dir=/srv/kubelet' >/etc/default/kubelet";

/// A volume that somebody still uses, on the same file system and on another one.
const VOLUMES: &str = "set -e
    mkdir -p /srv/data /srv/kubelet/pods/x/volumes/{same,other}
    echo precious >/srv/data/file
    mount --bind /srv/data /srv/kubelet/pods/x/volumes/same
    mount -t tmpfs tmpfs /srv/kubelet/pods/x/volumes/other
    echo precious >/srv/kubelet/pods/x/volumes/other/file
    systemd-run --quiet --unit=holder --collect --working-directory=/srv/kubelet/pods/x/volumes/same sleep infinity
    timeout 20 bash -c 'until readlink /proc/$(systemctl show --property=MainPID --value holder)/cwd | grep -q same; do sleep 0.05; done'";

#[test]
#[ignore = "needs hosts"]
fn a_reset_finds_what_is_elsewhere_and_stops_at_a_mount_that_stays() {
    let fleet = Fleet::new("ndmoved", "10.80.0");
    fleet.start("cp", 11, &[]);
    fleet.shell("cp", KUBELET);
    let mut cluster = Cluster::new(&fleet, None);
    let etcd = json!({"local": {"dataDir": "/srv/etcd"}});
    let configuration = &mut cluster.user.kubeadm.cluster_configuration;
    configuration.insert("etcd".into(), etcd);
    let cp = marker("cp-1");
    fleet.take("cp", &cp);
    cluster.succeed("cp", &cp, &cluster.prepare(Role::ControlPlane, "cp"));

    // an init that was cut is undone there as well: kubeadm makes no etcd among the data of another
    let init = cluster.init("cp-1");
    let mut attached = fleet.attach("cp", &start_and_follow(&cp, &init, EPOCH, now()).unwrap());
    until_step(&mut attached, "init");
    attached.kill();
    let begun = "timeout 200 bash -c 'until test -e /srv/etcd/member; do sleep 0.05; done'";
    fleet.shell("cp", begun);
    fleet.power_cycle("cp");
    cluster.succeed("cp", &cp, &init);
    fleet.shell("cp", "ls -d /srv/etcd/member /srv/kubelet/pods");

    fleet.shell("cp", VOLUMES);
    let events = fleet.run_unit("cp", &cp, &cluster.reset());
    let failed = failure(&events);
    assert_eq!(failed.at.step, "node");
    assert_eq!(codes(&failed.findings), ["mounted"]);
    let said = failed.findings[0].to_string();
    assert!(
        said.contains("/srv/kubelet/pods/x/volumes/same") && said.contains("sleep ("),
        "{said}"
    );
    assert_eq!(fleet.shell("cp", "cat /srv/data/file"), "precious\n");
    assert!(fleet.observe("cp").owner.of(&cp).is_some());

    // the manifest that named etcd's folder is gone by now
    fleet.shell(
        "cp",
        "systemctl stop holder; ! ls /etc/kubernetes/manifests/*",
    );
    cluster.succeed("cp", &cp, &cluster.reset());
    nothing_of_kubernetes(&fleet, "cp");
    assert_eq!(
        fleet.shell(
            "cp",
            "ls /srv; cat /srv/data/*; grep /srv /proc/mounts || true"
        ),
        "data\nprecious\n"
    );
}
