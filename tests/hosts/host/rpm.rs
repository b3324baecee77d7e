//! The RPM family: the steps on a host whose package manager is a simulated `dnf`. It takes dnf's
//! arguments and gives real software, so what is tested is what the steps ask of it and make of it.

use tatara_core::api::machine_provider_spec::{NodeSettings, Software, SoftwareSource};
use tatara_core::node::Role;

use crate::host::cluster::Cluster;
use crate::host::fleet::{Fleet, marker};

/// The simulated package manager: notes its arguments; knows kubelet, kubeadm and kubectl once a
/// repository is configured, and takes everything else from the host's real packages.
const DNF: &str = r#"#!/bin/bash
echo "$*" >>/root/dnf.log
shopt -s nullglob
repositories=(/etc/yum.repos.d/*kubernetes*.repo)
for word; do
  case $word in
    list) for name; do :; done; ((${#repositories[@]} > 0)) && [[ $name == kube*-@VERSION@ ]]; exit ;;
    kubelet-* | kubeadm-* | kubectl-*)
      name=${word%%-*}
      curl -fsS -o /usr/bin/$name @MIRROR@/release/v${word#*-}/bin/linux/amd64/$name && chmod 755 /usr/bin/$name
      [[ $name != kubelet ]] || printf '[Service]\nExecStart=/usr/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n' >/usr/lib/systemd/system/kubelet.service
      systemctl daemon-reload
      ;;
    iproute) debian+=(iproute2) ;;
    conntrack-tools) debian+=(conntrack) ;;
    iptables-nft) debian+=(iptables) ;;
    containerd.io) debian+=(containerd runc) ;;
    containerd) exit 1 ;;
    -* | install) ;;
    *) debian+=("$word") ;;
  esac
done
((${#debian[@]} == 0)) || DEBIAN_FRONTEND=noninteractive /root/apt-get -qq -y install --no-install-recommends "${debian[@]}" >/dev/null
"#;

#[test]
#[ignore = "needs hosts"]
fn a_host_of_the_rpm_family_is_prepared_through_a_simulated_dnf() {
    let fleet = Fleet::new("ndrpm", "10.90.0");
    let printed = fleet.hack("hack/mirror", &["up"]);
    let mirror = printed.trim().strip_prefix("MIRROR=").unwrap().to_owned();
    fleet.start("r", 11, &[("VARIANT", "bare")]);
    fleet.hack("hack/mirror", &["use", "r"]);
    let mut cluster = Cluster::new(&fleet, None);
    let version = cluster.input.version.to_string();
    let plain = version.trim_start_matches('v');
    let dnf = DNF.replace("@MIRROR@", &mirror).replace("@VERSION@", plain);
    fleet.shell(
        "r",
        &format!(
            "apt-get -qq update; mv /usr/bin/apt-get /root/apt-get; cat >/usr/bin/dnf <<'DNF'\n{dnf}DNF
            chmod 755 /usr/bin/dnf
            printf 'ID=rocky\\nVERSION_ID=9.4\\n' >/root/os-release; rm /etc/os-release; mv /root/os-release /etc/os-release"
        ),
    );
    cluster.settings = NodeSettings {
        software: Software {
            source: SoftwareSource::Packages,
            mirror: None,
            image_archives: Vec::new(),
        },
        ..NodeSettings::default()
    };
    let ours = marker("r-1");
    fleet.take("r", &ours);
    let prepare = cluster.prepare(Role::Worker, "r");
    cluster.succeed("r", &ours, &prepare);
    assert_eq!(fleet.observe("r").facts.os, "rocky 9.4");
    let minor = version.rsplit_once('.').unwrap().0;
    let asked = fleet.shell(
        "r",
        "grep -v ' list ' /root/dnf.log; cat /etc/yum.repos.d/*",
    );
    let kube = format!(
        "-q -y install --disableexcludes=all kubelet-{plain} kubeadm-{plain} kubectl-{plain}\n"
    );
    assert!(asked.contains(&kube), "{asked}");
    assert!(asked.contains("conntrack-tools"), "{asked}");
    assert!(
        asked.contains("-q -y install containerd\n-q -y install containerd.io\n"),
        "{asked}"
    );
    let repository =
        format!("baseurl=https://pkgs.k8s.io/core:/stable:/{minor}/rpm/\nenabled=1\ngpgcheck=1\n");
    assert!(asked.contains(&repository), "{asked}");
    // an upgrade of the system leaves the versions alone
    assert!(asked.contains("exclude=kubelet kubeadm kubectl"), "{asked}");
    let containerd = fleet.shell(
        "r",
        "systemctl is-active containerd; head -n 1 /etc/containerd/config.toml",
    );
    assert_eq!(
        containerd,
        "active\n# Written by Tatara: this containerd was installed by it.\n"
    );

    // again: nothing is installed twice
    fleet.shell("r", "rm /root/dnf.log");
    let mut again = prepare;
    again.steps[0].script.push_str("# again\n");
    cluster.succeed("r", &ours, &again);
    assert_eq!(fleet.shell("r", "cat /root/dnf.log 2>/dev/null; true"), "");
}
