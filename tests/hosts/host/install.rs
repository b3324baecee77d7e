//! Hosts as a provider hands them over, which install everything themselves.

use std::process::Command;

use tatara_core::api::machine_provider_spec::{NodeFile, NodeSettings, Software, SoftwareSource};
use tatara_core::node::{Event, Job, JobKind, Role, UnitState, start_and_follow};

use crate::host::cluster::Cluster;
use crate::host::faults::until_step;
use crate::host::fleet::{EPOCH, Fleet, lossy, marker, now, root};
use crate::support::versions::pinned;

/// The archive of the cluster's images, as `imageArchives` names it.
fn archive(mirror: &str) -> String {
    let images = Command::new(root().join("hack/images")).output().unwrap();
    assert!(images.status.success(), "{}", lossy(&images.stderr));
    let path = lossy(&images.stdout).trim().to_owned();
    let sum = Command::new("sha256sum").arg(&path).output().unwrap();
    let sum = lossy(&sum.stdout);
    let sum = sum.split_whitespace().next().unwrap();
    format!("{mirror}/images/{}.tar#sha256={sum}", pinned("KUBERNETES"))
}

fn settings(source: SoftwareSource, mirror: &str) -> NodeSettings {
    NodeSettings {
        software: Software {
            source,
            mirror: Some(mirror.to_owned()),
            image_archives: vec![archive(mirror)],
        },
        registry_mirrors: [("docker.io".to_owned(), vec![format!("{mirror}/docker")])].into(),
        files: vec![NodeFile {
            path: "/etc/site/it's here".into(),
            mode: "0640".into(),
            content: "$(touch /root/expanded)\n".into(),
        }],
        pre_kubeadm_commands: vec![
            "test -x /usr/bin/kubeadm && echo \"it's\" >/root/before".into(),
        ],
        ..NodeSettings::default()
    }
}

#[test]
#[ignore = "needs hosts"]
fn bare_hosts_install_from_packages_and_from_a_mirror_and_become_a_cluster() {
    let fleet = Fleet::new("ndinst", "10.88.0");
    let printed = fleet.hack("hack/mirror", &["up"]);
    let mirror = printed.trim().strip_prefix("MIRROR=").unwrap().to_owned();
    for (host, number) in [("cp", 11), ("w", 12)] {
        fleet.start(host, number, &[("VARIANT", "bare")]);
        fleet.hack("hack/mirror", &["use", host]);
    }
    let mut cluster = Cluster::new(&fleet, Some(100));
    cluster.settings = settings(SoftwareSource::Packages, &mirror);
    power_cut_while_installing(&cluster);
    let cp = cluster.up("cp-1");
    assert_eq!(
        fleet.shell("cp", "apt-mark showhold | sort | paste -sd' '; cat /root/before; stat -c %a \"/etc/site/it's here\"; ls /root/expanded 2>&1 | grep -c 'No such'"),
        "kubeadm kubectl kubelet\nit's\n640\n1\n"
    );
    let hosts = fleet.shell("cp", "cat /etc/containerd/certs.d/docker.io/hosts.toml");
    assert!(
        hosts.contains(&format!("[host.\"{mirror}/docker\"]")),
        "{hosts}"
    );
    cluster.ready("cp");

    cluster.settings = settings(SoftwareSource::Mirror, &mirror);
    let w = marker("w-1");
    fleet.take("w", &w);
    cluster.succeed("w", &w, &cluster.prepare(Role::Worker, "w"));
    // again, as after a change of the spec: nothing is downloaded twice
    cluster.settings.pre_kubeadm_commands.push("true".into());
    cluster.succeed("w", &w, &cluster.prepare(Role::Worker, "w"));
    let log = cluster.logs("w", &w);
    assert!(
        !log.contains("downloading") && !log.contains("installing"),
        "{log}"
    );
    cluster.succeed("w", &w, &cluster.join("w", "w-1"));
    cluster.ready("w");

    wrong_checksum(&mut cluster);
    for (host, marker) in [("w", &w), ("cp", &cp)] {
        cluster.succeed(host, marker, &cluster.reset());
        let left = fleet.shell(host, "ls -d /etc/site/* /etc/containerd/certs.d/docker.io /etc/sysctl.d/90-tatara.conf /etc/keepalived/keepalived.conf 2>/dev/null; true");
        assert_eq!(left, "", "{host}");
    }
}

/// What the power cut left half installed is finished by the next attempt.
fn power_cut_while_installing(cluster: &Cluster<'_>) {
    let (fleet, cp) = (cluster.fleet, marker("cp-1"));
    fleet.take("cp", &cp);
    let prepare = cluster.prepare(Role::ControlPlane, "cp");
    let mut attached = fleet.attach(
        "cp",
        &start_and_follow(&cp, &prepare, EPOCH, now()).unwrap(),
    );
    until_step(&mut attached, "kube");
    fleet.shell(
        "cp",
        "timeout 200 bash -c 'until ls /usr/bin/kube*.dpkg-new >/dev/null 2>&1; do :; done'",
    );
    fleet.power_cycle("cp");
    attached.kill();
    let observed = fleet.observe("cp");
    let status = observed.job(&Job::new(JobKind::Prepare, "cp-1")).unwrap();
    assert!(
        matches!(&status.state, UnitState::Interrupted(at) if at.step == "kube"),
        "{status:?}"
    );
    assert_ne!(fleet.shell("cp", "dpkg --audit"), "");
}

/// An archive whose checksum is another one is not imported, and the failure names both.
fn wrong_checksum(cluster: &mut Cluster<'_>) {
    let archive = cluster.settings.software.image_archives[0].clone();
    let (url, _) = archive.split_once('#').unwrap();
    cluster.settings.software.image_archives = vec![format!("{url}#sha256={}", "0".repeat(64))];
    let events = cluster
        .fleet
        .run_unit("w", &marker("w-1"), &cluster.prepare(Role::Worker, "w"));
    let Some(Event::Ended(status)) = events.last() else {
        panic!("{events:?}");
    };
    let UnitState::Failed(failure) = &status.state else {
        panic!("{status:?}");
    };
    assert_eq!(failure.at.step, "images");
    assert!(
        failure.message().contains("does not have the checksum"),
        "{}",
        failure.message()
    );
}
