//! What goes wrong on a host: power cuts and cut connections inside kubeadm, a failing kubeadm, hosts that
//! are not fit.

use tatara_core::node::{
    Event, Finding, Job, JobKind, Role, Step, Unit, UnitState, start_and_follow, take_host,
};

use crate::host::cluster::Cluster;
use crate::host::fleet::{Attached, EPOCH, Fleet, marker, now};

pub fn failure(events: &[Event]) -> &tatara_core::node::Failure {
    match events.last() {
        Some(Event::Ended(status)) => match &status.state {
            UnitState::Failed(failure) => failure,
            other => panic!("did not fail: {other:?}"),
        },
        other => panic!("no end: {other:?}"),
    }
}

pub fn codes(findings: &[Finding]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

pub fn until_step(attached: &mut Attached, step: &str) {
    while !matches!(attached.next(), Some(Event::Progress(progress)) if progress.step == step) {}
}

#[test]
#[ignore = "needs hosts"]
fn init_and_join_survive_power_cuts_cut_connections_and_a_port_that_is_taken() {
    let fleet = Fleet::new("ndfault", "10.63.0");
    fleet.start("cp", 11, &[]);
    fleet.start("w", 12, &[]);
    let cluster = Cluster::new(&fleet, None);
    let (cp, w) = (marker("cp-1"), marker("w-1"));
    fleet.take("cp", &cp);
    cluster.succeed("cp", &cp, &cluster.prepare(Role::ControlPlane, "cp"));

    port_taken(&cluster);
    // the connection is cut, and the power: while etcd and the API server start
    let init = cluster.init("cp-1");
    let mut attached = fleet.attach("cp", &start_and_follow(&cp, &init, EPOCH, now()).unwrap());
    until_step(&mut attached, "init");
    attached.kill();
    fleet.shell(
        "cp",
        "timeout 200 bash -c 'until test -e /var/lib/etcd/member; do sleep 0.05; done'",
    );
    fleet.power_cycle("cp");
    interrupted(&fleet, "cp", "cp-1", JobKind::Init, "init");
    // a second attempt undoes the first; its connection is cut, and attached again
    let mut attached = fleet.attach("cp", &start_and_follow(&cp, &init, EPOCH, now()).unwrap());
    until_step(&mut attached, "init");
    attached.kill();
    cluster.succeed("cp", &cp, &init);
    let log = cluster.logs("cp", &cp);
    assert!(log.contains("an earlier attempt is undone"), "{log}");
    assert_eq!(
        log.matches("Applied essential addon: kube-proxy").count(),
        1,
        "{log}"
    );
    cluster.network();
    cluster.ready("cp");

    fleet.take("w", &w);
    cluster.succeed("w", &w, &cluster.prepare(Role::Worker, "w"));
    // kubeadm waits for systemd until the power is cut, while the kubelet runs: the join cannot end before
    let held = "mkdir -p /run/systemd/system/kubelet.service.d
        printf '[Service]\\nExecStartPost=/bin/sleep infinity\\n' >/run/systemd/system/kubelet.service.d/held.conf
        systemctl daemon-reload";
    fleet.shell("w", held);
    let join = cluster.join("w", "w-1");
    let mut attached = fleet.attach("w", &start_and_follow(&w, &join, EPOCH, now()).unwrap());
    until_step(&mut attached, "join");
    attached.kill();
    cluster.kubectl(
        "registered",
        "kubectl wait --for=create node/w --timeout=100s",
    );
    fleet.power_cycle("w");
    interrupted(&fleet, "w", "w-1", JobKind::Join, "join");
    let again = fleet.run_unit("w", &w, &cluster.join("w", "w-1"));
    if !matches!(again.last(), Some(Event::Ended(status)) if status.state == UnitState::Succeeded) {
        // The Node had registered: kubeadm waits until Kubernetes has noticed that it is not there.
        let failed = failure(&again);
        assert!(
            failed.output.contains("already exists in the cluster"),
            "{}",
            failed.output
        );
        let gone = "kubectl wait --for=condition=Ready=Unknown node/w --timeout=180s";
        cluster.kubectl("gone", gone);
        cluster.succeed("w", &w, &cluster.join("w", "w-1"));
    }
    cluster.ready("w");

    // a node that is complete survives a power cut as it is
    fleet.power_cycle("cp");
    cluster.succeed("cp", &cp, &init);
    fleet.shell("cp", "timeout 200 bash -c 'until kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes >/dev/null 2>&1; do sleep 0.2; done'");
    cluster.ready("w");
}

/// The port is taken after the preflight: kubeadm says so, and the next attempt succeeds.
fn port_taken(cluster: &Cluster<'_>) {
    let fleet = cluster.fleet;
    let cp = marker("cp-1");
    let listen = "systemd-run --quiet --unit=squatter --collect socat TCP-LISTEN:10259,fork,reuseaddr EXEC:true
        timeout 20 bash -c \"until ss -Hltn 'sport = :10259' | grep -q .; do sleep 0.05; done\"";
    fleet.shell("cp", listen);
    let events = fleet.run_unit("cp", &cp, &cluster.init("cp-1"));
    let failed = failure(&events);
    assert_eq!(failed.at.step, "init");
    assert!(
        failed.output.contains("Port 10259 is in use"),
        "{}",
        failed.output
    );
    assert!(!fleet.observe("cp").owner.of(&cp).unwrap().initialized);
    fleet.shell("cp", "systemctl stop squatter");
}

fn interrupted(fleet: &Fleet, host: &str, uid: &str, unit: JobKind, step: &str) {
    let observed = fleet.observe(host);
    let status = observed.job(&Job::new(unit, uid)).unwrap();
    let UnitState::Interrupted(at) = &status.state else {
        panic!("{status:?}");
    };
    assert_eq!(at.step, step);
    let owner = observed.owner.of(&marker(uid)).unwrap();
    assert!(!owner.initialized && !owner.joined);
}

#[test]
#[ignore = "needs hosts"]
fn an_unprivileged_login_with_sudo_is_as_good_as_root() {
    let fleet = Fleet::new("ndsudo", "10.87.0");
    fleet.start("a", 11, &[("VARIANT", "bare")]);
    let ours = marker("m-1");
    let unit = Unit {
        kind: JobKind::Prepare,
        steps: vec![Step {
            name: "who",
            title: "Who",
            script: "id -un; tty || true".into(),
        }],
        secrets: Vec::new(),
    };
    for script in [
        take_host(&ours).unwrap(),
        start_and_follow(&ours, &unit, EPOCH, now()).unwrap(),
        tatara_core::node::observe(None).unwrap(),
    ] {
        let output = fleet.feed_as(
            "debian",
            "a",
            &["sudo", "-n", "bash", "-s"],
            script.as_str(),
        );
        assert!(output.status.success());
        assert_eq!(crate::host::fleet::lossy(&output.stderr), "");
    }
    let log = fleet.run("a", &tatara_core::node::log("m-1", None).unwrap());
    assert_eq!(
        crate::host::fleet::lossy(&log),
        "==> prepare: who (exit code 0)\nroot\nnot a tty\n"
    );
}
