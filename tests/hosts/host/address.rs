//! The cluster's virtual IP, held by keepalived: the check of the API server only ever lowers the priority.

use tatara_core::node::{Job, JobKind, Role, UnitState};

use crate::host::cluster::Cluster;
use crate::host::faults::failure;
use crate::host::fleet::{Fleet, marker};

/// Whether the host has the address.
const HELD: &str = "ip -o addr show dev eth0 | grep -o '10.84.0.100/32'";
const CHECK: &str = "/etc/keepalived/tatara-check-api";

/// Waits until keepalived itself says that its priority is this.
fn until_priority(fleet: &Fleet, priority: u8) {
    fleet.shell(
        "cp",
        &format!(
            "timeout 60 bash -c 'until rm -f /tmp/keepalived.data; pkill -USR1 -o -x keepalived; sleep 0.3
              grep -qE \"^ *Effective priority = {priority}$\" /tmp/keepalived.data; do :; done' || {{ cat /tmp/keepalived.data; journalctl -u keepalived -o cat; exit 1; }}"
        ),
    );
}

/// The init unit as far as the address, stopped before kubeadm: the check fails, and the only machine holds the address.
pub fn is_held_before_there_is_an_api(cluster: &Cluster<'_>, uid: &str) {
    let fleet = cluster.fleet;
    let ours = marker(uid);
    fleet.take("cp", &ours);
    cluster.succeed("cp", &ours, &cluster.prepare(Role::ControlPlane, "cp"));
    let mut unit = cluster.init(uid);
    let kubeadm = unit.steps.iter_mut().find(|step| step.name == "init");
    kubeadm.unwrap().script = "exit 5".into();
    let events = fleet.run_unit("cp", &ours, &unit);
    assert_eq!(failure(&events).exit_code, 5);
    assert_eq!(
        fleet.shell(
            "cp",
            "grep -c 'virtual_router_id 77$' /etc/keepalived/keepalived.conf"
        ),
        "1\n"
    );
    fleet.shell("cp", &format!("! {CHECK}"));
    until_priority(fleet, 50);
    // a machine alone takes it a few seconds after keepalived's start
    fleet.shell(
        "cp",
        &format!("timeout 30 bash -c \"until {HELD}; do sleep 0.1; done\""),
    );
    let said = fleet.shell("cp", "journalctl -u keepalived -o cat");
    assert!(!said.contains("FAULT"), "{said}");
    let observed = fleet.observe("cp");
    let status = observed.job(&Job::new(JobKind::Init, uid)).unwrap();
    assert!(matches!(status.state, UnitState::Failed(_)));
}

/// A control plane whose API server ends, and comes back.
pub fn is_held_with_less_priority_while_the_api_is_away(fleet: &Fleet) {
    fleet.shell("cp", CHECK);
    until_priority(fleet, 100);
    let manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml";
    fleet.shell("cp", &format!("mv {manifest} /root/"));
    until_priority(fleet, 50);
    fleet.shell("cp", &format!("! {CHECK}"));
    assert_eq!(fleet.shell("cp", HELD), "10.84.0.100/32\n");
    fleet.shell("cp", &format!("mv /root/kube-apiserver.yaml {manifest}"));
    until_priority(fleet, 100);
    assert_eq!(fleet.shell("cp", HELD), "10.84.0.100/32\n");
    fleet.shell("cp", "timeout 100 bash -c 'until kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes >/dev/null 2>&1; do sleep 0.2; done'");
}

pub fn is_let_go(fleet: &Fleet) {
    assert_eq!(fleet.shell("cp", &format!("{HELD} || true")), "");
    assert_eq!(
        fleet.shell("cp", "systemctl is-active keepalived || true"),
        "inactive\n"
    );
}
