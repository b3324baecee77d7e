//! Differences between two snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::api::types::{Capacity, Image, Machine};

/// State of libvirt at one poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Number of the poll.
    pub number: u64,
    /// Machines, by id.
    pub machines: BTreeMap<Uuid, Arc<Machine>>,
    /// Images, by pool and checksum.
    pub images: BTreeMap<(String, String), Image>,
    /// Capacity.
    pub capacity: Capacity,
}

/// A difference between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A machine was added or changed.
    Machine(Arc<Machine>),
    /// A machine was deleted.
    MachineGone(Uuid),
    /// An image was added or changed.
    Image(Box<Image>),
    /// An image was deleted.
    ImageGone {
        /// Name of the pool.
        pool: String,
        /// SHA-256.
        sha256: String,
    },
    /// The capacity changed.
    Capacity(Box<Capacity>),
}

/// Changes between two snapshots; all objects if there is no earlier one.
pub fn diff(before: Option<&Snapshot>, now: &Snapshot) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, machine) in &now.machines {
        if before.and_then(|before| before.machines.get(id)) != Some(machine) {
            changes.push(Change::Machine(machine.clone()));
        }
    }
    for (key, image) in &now.images {
        if before.and_then(|before| before.images.get(key)) != Some(image) {
            changes.push(Change::Image(Box::new(image.clone())));
        }
    }
    if let Some(before) = before {
        let gone = before
            .machines
            .keys()
            .filter(|id| !now.machines.contains_key(id));
        changes.extend(gone.map(|id| Change::MachineGone(*id)));
        let gone = before
            .images
            .keys()
            .filter(|key| !now.images.contains_key(key));
        changes.extend(gone.map(|(pool, sha256)| Change::ImageGone {
            pool: pool.clone(),
            sha256: sha256.clone(),
        }));
    }
    if before.is_none_or(|before| before.capacity != now.capacity) {
        changes.push(Change::Capacity(Box::new(now.capacity.clone())));
    }
    changes
}

/// The capacity to publish: the old one while the free space of each pool differs by less than
/// 1/256 of its size. Running machines write constantly, so every poll would produce an event
/// otherwise.
pub(super) fn settled(old: Option<&Capacity>, new: Capacity) -> Capacity {
    let Some(old) = old else { return new };
    let mut same = new.clone();
    for (pool, before) in same.pools.iter_mut().zip(&old.pools) {
        let moved = pool.available_bytes.abs_diff(before.available_bytes);
        if moved < pool.capacity_bytes / 256 {
            pool.available_bytes = before.available_bytes;
        }
    }
    if same == *old { same } else { new }
}

#[cfg(test)]
mod tests;
