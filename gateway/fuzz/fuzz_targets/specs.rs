//! Whatever request is accepted makes a domain that is read back as it was asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tatara_gateway::api::parse;
use tatara_gateway::api::types::{MachineInterface, MachineRequest};
use tatara_gateway::libvirt::domain_xml::{ConsoleLog, Disk, DiskFormat, Domain, read, write};
use tatara_gateway::machines::{mac, spec_hash, validate};
use tatara_gateway::seed;
use uuid::Uuid;

fuzz_target!(|data: &[u8]| {
    let Ok(request) = parse::<MachineRequest>(data) else {
        return;
    };
    if let Some(seed) = &request.seed {
        seed::volume(seed).expect("a seed of any words");
    }
    let spec = &request.spec;
    if validate(spec).is_err() {
        return;
    }
    let id = Uuid::from_u128(7);
    let cards = spec
        .interfaces
        .iter()
        .enumerate()
        .map(|(i, card)| MachineInterface {
            mac: mac(id, i),
            network: card.network.clone(),
            bridge: card.bridge.clone(),
        });
    let hash = spec_hash(spec);
    let disk = Disk {
        path: format!("/{}", spec.root_disk.pool),
        block: false,
        format: DiskFormat::Qcow2,
        target: "vda".to_owned(),
        serial: spec.name.clone(),
        readonly: false,
        boot: true,
    };
    let xml = write(&Domain {
        id,
        spec,
        hash: &hash,
        domain_type: "kvm",
        architecture: spec.architecture.as_deref().unwrap_or("x86_64"),
        disks: &[disk],
        interfaces: &cards.collect::<Vec<_>>(),
        console: Some(ConsoleLog(format!("/{}", spec.name))),
    });
    assert!(!xml.contains('\0'), "libvirt's binding takes no NUL");
    let view = read(&xml).expect("what was written");
    let ours = view.ours.expect("ours");
    assert_eq!(ours.spec.as_ref(), Some(spec));
    assert_eq!((ours.hash, ours.creating), (hash, true));
    assert_eq!(view.name, spec.name);
    assert_eq!(view.interfaces.len(), spec.interfaces.len());
    for (seen, wanted) in view.interfaces.iter().zip(&spec.interfaces) {
        assert_eq!(
            (&seen.network, &seen.bridge),
            (&wanted.network, &wanted.bridge)
        );
    }
});
