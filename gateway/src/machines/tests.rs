use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::*;
use crate::api::types::{DataDisk, Firmware, InterfaceSpec, MachineSpec, RootDisk};

fn spec() -> MachineSpec {
    MachineSpec {
        name: "pool-a-0".to_owned(),
        labels: BTreeMap::from([("cluster".to_owned(), "a".to_owned())]),
        cpus: 2,
        memory_bytes: 2 << 30,
        firmware: Firmware::Bios,
        architecture: None,
        root_disk: RootDisk {
            size_bytes: 1 << 30,
            image: None,
            pool: "default".to_owned(),
        },
        disks: Vec::new(),
        interfaces: vec![InterfaceSpec {
            network: Some("default".to_owned()),
            bridge: None,
        }],
        cpu_model: None,
    }
}

fn problem(change: impl FnOnce(&mut MachineSpec)) -> String {
    let mut spec = spec();
    change(&mut spec);
    validate(&spec).expect_err("a problem").to_string()
}

#[test]
fn the_hash_of_a_spec_never_changes_while_defaults_are_written_or_left_out() {
    let short = r#"{"name":"a","cpus":1,"memoryBytes":1048576,"rootDisk":{"sizeBytes":1048576}}"#;
    let long = r#"{"rootDisk":{"pool":"default","sizeBytes":1048576},"firmware":"bios","disks":[],
        "memoryBytes":1048576,"labels":{},"interfaces":[],"cpus":1,"name":"a"}"#;
    let short: MachineSpec = serde_json::from_str(short).expect("a spec");
    let long: MachineSpec = serde_json::from_str(long).expect("a spec");
    assert_eq!(spec_hash(&short), spec_hash(&long));
    // the hash is stored in domains: a change breaks every existing machine with `SpecDiffers`
    assert_eq!(
        spec_hash(&short),
        "7a9f239c0212afc492a56b2efc6176f2c9e49c00ea70ba199311a77bb3e42529"
    );
}

#[test]
fn each_part_of_a_spec_is_in_its_hash() {
    let changes: [fn(&mut MachineSpec); 6] = [
        |spec| spec.cpus = 3,
        |spec| spec.name.push('x'),
        |spec| spec.firmware = Firmware::Uefi,
        |spec| spec.root_disk.size_bytes += 1,
        |spec| spec.interfaces.clear(),
        |spec| drop(spec.labels.insert("a".to_owned(), "b".to_owned())),
    ];
    let mut hashes = BTreeSet::from([spec_hash(&spec())]);
    for change in changes {
        let mut spec = spec();
        change(&mut spec);
        assert!(hashes.insert(spec_hash(&spec)), "{spec:?}");
    }
}

#[test]
fn mac_addresses_follow_from_the_id_and_are_local_unicast() {
    let id = Uuid::from_u128(1);
    assert_eq!(mac(id, 0), mac(id, 0));
    assert_ne!(mac(id, 0), mac(id, 1));
    assert_ne!(mac(id, 0), mac(Uuid::from_u128(2), 0));
    assert!(mac(id, 0).starts_with("52:54:"));
    assert_eq!(mac(id, 0).len(), 17);
}

#[test]
fn a_plain_spec_passes() {
    assert_eq!(validate(&spec()), Ok(()));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_field_and_a_remedy() {
    assert!(problem(|spec| spec.name = "Ä".to_owned()).starts_with("spec.name is invalid"));
    assert!(problem(|spec| spec.name = "a".repeat(64)).contains("1 to 63"));
    assert!(problem(|spec| spec.cpus = 0).starts_with("spec.cpus 0"));
    assert!(problem(|spec| spec.memory_bytes = u64::MAX).starts_with("spec.memoryBytes"));
    assert!(problem(|spec| spec.root_disk.size_bytes = 0).starts_with("spec.rootDisk.sizeBytes"));
    let image = Some("A".repeat(64));
    assert!(problem(|spec| spec.root_disk.image = image).contains("64 lower-case"));
    let nul = "a\0b".to_owned();
    assert!(problem(|spec| spec.root_disk.pool = nul).starts_with("spec.rootDisk.pool"));
    let model = Some("<cpu/>".to_owned());
    assert!(problem(|spec| spec.cpu_model = model).starts_with("spec.cpuModel"));
    let both = InterfaceSpec {
        network: Some("a".to_owned()),
        bridge: Some("b".to_owned()),
    };
    assert!(problem(|spec| spec.interfaces = vec![both]).contains("exactly one"));
    let neither = InterfaceSpec::default();
    assert!(problem(|spec| spec.interfaces = vec![neither]).contains("exactly one"));
}

#[test]
fn disks_of_one_name_are_refused_and_so_are_the_names_of_our_own() {
    let disk = |name: &str| DataDisk {
        name: name.to_owned(),
        size_bytes: 1 << 20,
        pool: "default".to_owned(),
    };
    assert!(problem(|spec| spec.disks = vec![disk("a"), disk("a")]).contains("spec.disks[1].name"));
    assert!(problem(|spec| spec.disks = vec![disk("seed")]).contains("is reserved or used twice"));
    assert!(problem(|spec| spec.disks = vec![disk("root")]).contains("is reserved or used twice"));
    assert!(problem(|spec| spec.disks = vec![disk("a"); 17]).contains("at most 16"));
}
