//! A disk that is full while a host is prepared.

use tatara_core::api::machine_provider_spec::{NodeSettings, Software, SoftwareSource};
use tatara_core::node::{JobKind, Role, Step, Unit};

use crate::host::cluster::Cluster;
use crate::host::faults::failure;
use crate::host::fleet::{Fleet, marker};

#[test]
#[ignore = "needs hosts"]
fn a_full_disk_is_named_and_the_installation_goes_on_when_there_is_room() {
    let fleet = Fleet::new("nddisk", "10.89.0");
    let printed = fleet.hack("hack/mirror", &["up"]);
    let mirror = printed.trim().strip_prefix("MIRROR=").unwrap().to_owned();
    fleet.start("s", 11, &[("VARIANT", "bare"), ("DISK_MB", "900")]);
    fleet.hack("hack/mirror", &["use", "s"]);
    let ours = marker("s-1");
    fleet.take("s", &ours);
    let mut cluster = Cluster::new(&fleet, None);
    for source in [SoftwareSource::Mirror, SoftwareSource::Packages] {
        cluster.settings = NodeSettings {
            software: Software {
                source,
                mirror: Some(mirror.clone()),
                image_archives: Vec::new(),
            },
            ..NodeSettings::default()
        };
        // room for what is downloaded first, and not for all of it
        let keep = if source == SoftwareSource::Mirror {
            80
        } else {
            120
        };
        fleet.shell("s", &format!("df -BM /; free=$(df --output=avail -BM / | tail -n 1 | tr -dc 0-9); fallocate -l $((free - {keep}))M /root/filler"));
        let prepare = cluster.prepare(Role::Worker, "s");
        let events = fleet.run_unit("s", &ours, &prepare);
        let failed = failure(&events);
        println!("{source:?}: {failed:?}");
        assert_eq!(failed.at.step, "kube");
        let said = failed.message().to_lowercase();
        assert!(
            said.contains("mb free") || said.contains("is full ("),
            "{said}"
        );
        fleet.shell("s", "rm /root/filler");
        if source == SoftwareSource::Packages {
            cluster.succeed("s", &ours, &prepare);
        } else {
            // no half program is left in the way
            fleet.shell(
                "s",
                "! ls /usr/bin/.kube* 2>/dev/null; ! command -v kubelet",
            );
        }
    }
    to_the_last_byte(&fleet);
}

/// A step that leaves no room at all still says how it ended.
fn to_the_last_byte(fleet: &Fleet) {
    let ours = marker("s-1");
    let unit = Unit {
        kind: JobKind::Join,
        steps: vec![Step {
            name: "fill",
            title: "Fill",
            script: "cat /dev/zero >/root/filler; exit 1".into(),
        }],
        secrets: Vec::new(),
    };
    let events = fleet.run_unit("s", &ours, &unit);
    let failed = failure(&events);
    assert_eq!((failed.at.step.as_str(), failed.exit_code), ("fill", 1));
    let said = &failed.message();
    assert!(
        said.contains(" is full (") || said.contains("No space left on device"),
        "{said}"
    );
    fleet.shell("s", "rm /root/filler");
}
