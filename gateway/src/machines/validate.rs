//! Validation of a spec that needs no libvirt.

use std::collections::BTreeSet;

use crate::api::types::{InterfaceSpec, MachineSpec};
use crate::field::{Result, at_most, bad, between, name, reference, sha256, word};

const MIB: u64 = 1 << 20;
const LARGEST_DISK: u64 = 64 << 40;
const LARGEST_MEMORY: u64 = 16 << 40;

/// Validates a spec independently of the hypervisor. Only a validated spec is passed to libvirt.
///
/// # Errors
/// [`BadField`](crate::field::BadField) for the first invalid field.
pub fn validate(spec: &MachineSpec) -> Result {
    name("spec.name", &spec.name, 63)?;
    labels(spec)?;
    between("spec.cpus", spec.cpus.into(), 1, 512)?;
    between("spec.memoryBytes", spec.memory_bytes, MIB, LARGEST_MEMORY)?;
    if let Some(architecture) = &spec.architecture {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        word("spec.architecture", architecture, 32, "[a-z0-9_]", fits)?;
    }
    if let Some(model) = &spec.cpu_model {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        word("spec.cpuModel", model, 64, "[A-Za-z0-9_.-]", fits)?;
    }
    between(
        "spec.rootDisk.sizeBytes",
        spec.root_disk.size_bytes,
        MIB,
        LARGEST_DISK,
    )?;
    reference("spec.rootDisk.pool", &spec.root_disk.pool)?;
    if let Some(image) = &spec.root_disk.image {
        sha256("spec.rootDisk.image", image)?;
    }
    disks(spec)?;
    at_most("spec.interfaces", spec.interfaces.len(), 16)?;
    spec.interfaces
        .iter()
        .enumerate()
        .try_for_each(|(i, card)| interface(i, card))
}

fn labels(spec: &MachineSpec) -> Result {
    at_most("spec.labels", spec.labels.len(), 32)?;
    for (key, value) in &spec.labels {
        if key.is_empty() || key.len() > 1024 || value.len() > 1024 {
            let problem =
                "has a key or value that is too long; at most 1024 bytes each are allowed";
            return Err(bad("spec.labels", problem));
        }
    }
    Ok(())
}

fn disks(spec: &MachineSpec) -> Result {
    at_most("spec.disks", spec.disks.len(), 16)?;
    let mut names = BTreeSet::from(["root", "seed"]);
    for (i, disk) in spec.disks.iter().enumerate() {
        name(&format!("spec.disks[{i}].name"), &disk.name, 20)?;
        between(
            &format!("spec.disks[{i}].sizeBytes"),
            disk.size_bytes,
            MIB,
            LARGEST_DISK,
        )?;
        reference(&format!("spec.disks[{i}].pool"), &disk.pool)?;
        if !names.insert(&disk.name) {
            let problem = format!(
                "{:?} is reserved or used twice; each disk needs a unique name",
                disk.name
            );
            return Err(bad(format!("spec.disks[{i}].name"), problem));
        }
    }
    Ok(())
}

fn interface(i: usize, card: &InterfaceSpec) -> Result {
    match (&card.network, &card.bridge) {
        (Some(network), None) => reference(&format!("spec.interfaces[{i}].network"), network),
        (None, Some(bridge)) => reference(&format!("spec.interfaces[{i}].bridge"), bridge),
        _ => Err(bad(
            format!("spec.interfaces[{i}]"),
            "must name exactly one of `network` and `bridge`",
        )),
    }
}
