//! Hosts that are somebody else's, and hosts that somebody else keeps dirty.

use tatara_core::node::{Event, Marker, Ownership, Role, Take, UnitState};

use crate::host::cluster::Cluster;
use crate::host::faults::{codes, failure};
use crate::host::fleet::{Fleet, marker};

/// What a cluster is made of on its host; processes by their ids.
fn state(fleet: &Fleet) -> String {
    fleet.shell(
        "cp",
        "find /etc/kubernetes /var/lib/kubelet/config.yaml /etc/containerd /etc/sysctl.d -type f -exec sha256sum {} + | sort
        pgrep -x 'kubelet|kube-apiserver|etcd|containerd' | sort; iptables-save | grep -c KUBE-; ls /var/lib/tatara/machines",
    )
}

fn is_refused(cluster: &Cluster<'_>, marker: &Marker, expected: &Ownership) {
    for unit in [
        cluster.prepare(Role::ControlPlane, "cp"),
        cluster.init(&marker.uid),
        cluster.reset(),
    ] {
        let events = cluster.fleet.run_unit("cp", marker, &unit);
        assert_eq!(events, [Event::Refused(expected.clone())]);
    }
}

/// A live cluster without our marker, with another's, and with one that nobody can read.
pub fn are_left_alone(cluster: &Cluster<'_>, ours: &Marker) {
    let fleet = cluster.fleet;
    let owner = "/var/lib/tatara/owner.json";
    fleet.shell("cp", &format!("mv {owner} /root/owner.json"));
    let before = state(fleet);
    let found = fleet.take("cp", &marker("another"));
    assert!(
        matches!(&found, Take::Occupied(findings) if !findings.is_empty()),
        "{found:?}"
    );
    is_refused(cluster, ours, &Ownership::Nobody);

    // the same Machine, of another management cluster
    fleet.shell(
        "cp",
        &format!(
            "sed 's/\"management\":\"[^\"]*\"/\"management\":\"theirs\"/' /root/owner.json >{owner}"
        ),
    );
    let Take::OwnedBy(theirs) = fleet.take("cp", ours) else {
        panic!("took a host that is another's");
    };
    assert_eq!(theirs.of(ours), None);
    is_refused(cluster, ours, &theirs);

    fleet.shell("cp", &format!("echo '{{\"management\"' >{owner}"));
    is_refused(
        cluster,
        ours,
        &Ownership::Unreadable("{\"management\"".into()),
    );

    assert_eq!(state(fleet), before);
    cluster.ready("cp");
    fleet.shell("cp", &format!("mv /root/owner.json {owner}"));
}

/// A tool of the site keeps writing a file of Kubernetes: the host is not handed out as clean, says
/// what is wrong, and becomes free once that has stopped.
pub fn keep_it_dirty(cluster: &Cluster<'_>, ours: &Marker) {
    let fleet = cluster.fleet;
    fleet.shell(
        "w",
        "systemd-run --quiet --unit=site --collect bash -c 'while :; do mkdir -p /etc/kubernetes; echo site >/etc/kubernetes/kubelet.conf; sleep 0.1; done'",
    );
    let events = fleet.run_unit("w", ours, &cluster.reset());
    let failed = failure(&events);
    assert_eq!(failed.at.step, "check");
    assert_eq!(codes(&failed.findings), ["occupied"]);
    let finding = &failed.findings[0];
    assert!(
        finding.value.contains("/etc/kubernetes/kubelet.conf"),
        "{finding}"
    );
    let observed = fleet.observe("w");
    assert!(
        observed.owner.of(ours).is_some(),
        "the marker went with a dirty host"
    );
    let status = observed
        .job(&ours.job(tatara_core::node::JobKind::Reset))
        .unwrap();
    assert!(matches!(status.state, UnitState::Failed(_)));
    assert!(matches!(fleet.take("w", &marker("next")), Take::OwnedBy(_)));
    fleet.shell("w", "systemctl stop site");
}
