use std::collections::BTreeMap;

use uuid::Uuid;

use super::*;
use crate::api::types::{Firmware, MachineInterface, MachineSpec, RootDisk};

fn spec() -> MachineSpec {
    MachineSpec {
        name: "pool-a-0".to_owned(),
        labels: BTreeMap::from([(
            "a".to_owned(),
            "<&'\">]]>\u{0}\u{ffff}ü\u{1f600}".to_owned(),
        )]),
        cpus: 2,
        memory_bytes: (1 << 30) + 1,
        firmware: Firmware::Bios,
        architecture: None,
        root_disk: RootDisk {
            size_bytes: 1 << 30,
            image: None,
            pool: "default".to_owned(),
        },
        disks: Vec::new(),
        interfaces: Vec::new(),
        cpu_model: None,
    }
}

fn disks() -> Vec<Disk> {
    let disk = |name: &str, target: &str, format, readonly| Disk {
        path: format!("/pool/<{name}> & co"),
        block: false,
        format,
        target: target.to_owned(),
        serial: name.to_owned(),
        readonly,
        boot: target == "vda",
    };
    vec![
        disk("root", "vda", DiskFormat::Qcow2, false),
        disk("seed", "vdb", DiskFormat::Raw, true),
    ]
}

fn written(spec: &MachineSpec, domain_type: &str) -> String {
    let card = |mac: &str, network: Option<&str>, bridge: Option<&str>| MachineInterface {
        mac: mac.to_owned(),
        network: network.map(str::to_owned),
        bridge: bridge.map(str::to_owned),
    };
    write(&Domain {
        id: Uuid::from_u128(7),
        spec,
        hash: "abc",
        domain_type,
        architecture: "x86_64",
        disks: &disks(),
        interfaces: &[
            card("52:54:00:00:00:01", Some("a&b"), None),
            card("52:54:00:00:00:02", None, Some("br0")),
        ],
        console: Some(ConsoleLog(
            "/log/<x>/tatara-00000000-0000-0000-0000-000000000007.log".to_owned(),
        )),
    })
}

#[test]
fn what_is_written_is_read_back_whatever_the_words_are() {
    let spec = spec();
    let view = read(&written(&spec, "kvm")).expect("a domain");
    assert_eq!(view.uuid, Uuid::from_u128(7));
    assert_eq!(view.name, "pool-a-0");
    assert_eq!((view.cpus, view.memory_bytes), (2, 1025 << 20));
    assert_eq!(
        view.console.as_deref(),
        Some("/log/<x>/tatara-00000000-0000-0000-0000-000000000007.log")
    );
    let [root, seed] = view.disks.try_into().expect("two disks");
    assert_eq!(root, ("/pool/<root> & co".to_owned(), "vda".to_owned()));
    assert_eq!(seed.1, "vdb");
    assert_eq!(view.interfaces[0].network.as_deref(), Some("a&b"));
    assert_eq!(view.interfaces[1].bridge.as_deref(), Some("br0"));
    let ours = view.ours.expect("ours");
    assert_eq!(
        ours,
        Metadata {
            hash: "abc".to_owned(),
            spec: Some(spec),
            creating: true
        }
    );
}

#[test]
fn metadata_is_ascii_alone() {
    let xml = written(&spec(), "kvm");
    assert!(
        xml.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
        "{xml}"
    );
}

#[test]
fn kvm_gets_the_hosts_processor_and_emulation_all_that_it_can_do() {
    assert!(written(&spec(), "kvm").contains(r#"<cpu mode="host-passthrough""#));
    assert!(written(&spec(), "qemu").contains(r#"<cpu mode="maximum"/>"#));
    let model = MachineSpec {
        cpu_model: Some("Haswell".to_owned()),
        ..spec()
    };
    assert!(written(&model, "kvm").contains(">Haswell</model>"));
}

#[test]
fn uefi_is_without_secure_boot() {
    let uefi = MachineSpec {
        firmware: Firmware::Uefi,
        ..spec()
    };
    let xml = written(&uefi, "kvm");
    assert!(xml.contains(r#"<os firmware="efi">"#), "{xml}");
    assert!(
        xml.contains(r#"<feature enabled="no" name="secure-boot"/>"#),
        "{xml}"
    );
    assert!(!written(&spec(), "kvm").contains("efi"));
}

#[test]
fn every_disk_is_virtio_and_the_seed_is_read_only() {
    let xml = written(&spec(), "qemu");
    assert_eq!(xml.matches(r#"bus="virtio""#).count(), 2);
    assert_eq!(xml.matches("<readonly/>").count(), 1);
    assert_eq!(xml.matches("<boot order=\"1\"/>").count(), 1);
}

#[test]
fn a_machine_with_a_blank_disk_falls_back_to_the_network_and_one_with_an_image_does_not() {
    assert_eq!(
        written(&spec(), "qemu")
            .matches("<boot order=\"2\"/>")
            .count(),
        1
    );
    let mut spec = spec();
    spec.root_disk.image = Some("0".repeat(64));
    assert!(!written(&spec, "qemu").contains("order=\"2\""));
}

#[test]
fn a_domain_without_our_metadata_is_not_ours_and_one_of_a_newer_gateway_is() {
    let foreign = "<domain><name>x</name><uuid>00000000-0000-0000-0000-000000000001</uuid>\
        <metadata><machine hash='x'/></metadata></domain>";
    assert_eq!(read(foreign).expect("a domain").ours, None);
    let newer = "<domain><uuid>00000000-0000-0000-0000-000000000001</uuid><metadata>\
        <t:machine xmlns:t='https://tatara.dev/libvirt/1' hash='x'><t:spec>{\"later\":1}</t:spec>\
        </t:machine></metadata></domain>";
    let ours = read(newer).expect("a domain").ours.expect("ours");
    assert_eq!(
        ours,
        Metadata {
            hash: "x".to_owned(),
            spec: None,
            creating: false
        }
    );
}

#[test]
fn nonsense_is_an_error_and_no_panic() {
    for text in [
        "",
        "<",
        "<domain/>",
        "<domain><uuid>x</uuid></domain>",
        "\u{0}",
    ] {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_console_is_a_file_with_the_name_of_ours() {
    let id = Uuid::from_u128(7);
    let read = |kind: &str, path: &str| {
        let serial = format!("<serial type='{kind}'><source path='{path}'/></serial>");
        let devices = format!("<devices>{serial}</devices>");
        let xml = format!("<domain><uuid>{id}</uuid>{devices}</domain>");
        read(&xml).expect("a domain").console
    };
    let ours = format!("/log/{}", console_name(id));
    assert_eq!(read("file", &ours), Some(ours.clone()));
    assert_eq!(read("pty", &ours), None);
    let another = format!("/log/{}", console_name(Uuid::from_u128(8)));
    for path in ["/etc/shadow", "/dev/ttyS0", another.as_str()] {
        assert_eq!(read("file", path), None, "{path}");
    }
}
