//! What a gateway reported: its virtual machines, its images, its capacity; and whether its events
//! are followed.

use crate::api::conditions::Reason;
use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use crate::wire::{Capacity, Image, Machine};

/// An event of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A virtual machine came, or is different.
    Machine(Box<Machine>),
    /// A virtual machine was deleted.
    MachineGone(String),
    /// An image came, or is different.
    Image(Image),
    /// An image was deleted: its SHA-256 and its pool.
    ImageGone(String, String),
    /// What the hypervisor has.
    Capacity(Capacity),
    /// The initial list is complete; changes follow.
    Synced,
    /// Something that cannot be read; the text says why.
    Unreadable(String),
}

/// Whether the events of a gateway are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// No first answer yet: what is not shown may be there.
    Connecting,
    /// The initial list is complete, and events follow.
    Connected,
    /// It does not answer; the view shows its last report.
    Disconnected {
        /// Since when.
        since: Timestamp,
        /// The reason, in CamelCase.
        reason: Reason,
        /// Human-readable.
        why: String,
    },
}

/// Most virtual machines, and most images, that are kept of one gateway.
const MOST: usize = 2048;
/// About how many bytes of them are kept of one gateway. A virtual machine takes 1,000.
pub const LARGEST: usize = 4 << 20;
/// Characters of a message that a gateway wrote.
const TOLD: usize = 1024;

/// What a gateway reported. Cheap to clone.
#[derive(Clone, Debug)]
pub struct View {
    /// Whether its events are followed.
    pub connectivity: Connectivity,
    machines: Arc<HashMap<String, Arc<Machine>>>,
    images: Arc<HashMap<(String, String), Image>>,
    /// About how many bytes virtual machines and images take.
    bytes: usize,
    /// What it has; nothing before the first answer.
    pub capacity: Option<Capacity>,
    /// Why a part of its report cannot be read: a virtual machine that the view does not have may
    /// exist.
    pub unreadable: Option<String>,
}

/// What a change affects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concerns {
    /// The Machine of this UID.
    Machine(String),
    /// All that wait for an image.
    Images,
    /// The Hypervisor itself, and all that wait for room.
    Capacity,
    /// Nothing changed.
    Nobody,
}

impl Default for View {
    fn default() -> Self {
        Self {
            connectivity: Connectivity::Connecting,
            machines: Arc::default(),
            images: Arc::default(),
            bytes: 0,
            capacity: None,
            unreadable: None,
        }
    }
}

impl View {
    /// A view without any report.
    #[cfg(test)]
    pub fn with(connectivity: Connectivity) -> Self {
        Self {
            connectivity,
            ..Self::default()
        }
    }

    /// The virtual machine with this id.
    pub fn machine(&self, id: &str) -> Option<Arc<Machine>> {
        self.machines.get(id).cloned()
    }

    /// All virtual machines that are ours by form.
    pub fn machines(&self) -> impl Iterator<Item = &Arc<Machine>> {
        self.machines.values()
    }

    /// An image in a pool.
    pub fn image(&self, sha256: &str, pool: &str) -> Option<&Image> {
        self.images.get(&(sha256.to_owned(), pool.to_owned()))
    }

    /// Applies an event, and returns what it affects.
    pub fn take(&mut self, event: Event) -> Concerns {
        match event {
            Event::Machine(machine) => self.take_machine(machine),
            Event::MachineGone(id) => match Arc::make_mut(&mut self.machines).remove(&id) {
                Some(machine) => {
                    self.bytes -= weight_of(&machine);
                    Concerns::Machine(id)
                }
                None => Concerns::Nobody,
            },
            Event::Image(image) => self.take_image(image),
            Event::ImageGone(sha256, pool) => {
                let gone = Arc::make_mut(&mut self.images).remove(&(sha256, pool));
                self.bytes -= gone.as_ref().map_or(0, weight_of_image);
                Concerns::Images
            }
            Event::Capacity(capacity) => {
                if self.capacity.as_ref() == Some(&capacity) {
                    return Concerns::Nobody;
                }
                if weight_of_capacity(&capacity) > LARGEST / 16 {
                    return self.cannot_read("a capacity of too many names");
                }
                self.capacity = Some(capacity);
                Concerns::Capacity
            }
            Event::Unreadable(why) => self.cannot_read(&why),
            Event::Synced => Concerns::Nobody,
        }
    }

    fn take_machine(&mut self, machine: Box<Machine>) -> Concerns {
        let known = self.machines.get(&machine.id);
        if known.is_some_and(|known| **known == *machine) {
            return Concerns::Nobody;
        }
        let before = known.map(|known| weight_of(known));
        if self.machines.len() >= MOST && before.is_none() {
            return self.cannot_read(&format!("more than {MOST} virtual machines"));
        }
        let id = machine.id.clone();
        let others = self.bytes - before.unwrap_or_default();
        let (machine, after) = match weight_of(&machine) {
            after if others + after <= LARGEST => (*machine, after),
            // what was known of it is not so any more
            _ if before.is_some() => {
                let unreadable = Machine::unreadable(&id);
                let after = weight_of(&unreadable);
                (unreadable, after)
            }
            _ => return self.cannot_read(&too_much()),
        };
        self.bytes = others + after;
        Arc::make_mut(&mut self.machines).insert(id.clone(), Arc::new(machine));
        Concerns::Machine(id)
    }

    fn take_image(&mut self, mut image: Image) -> Concerns {
        if let Some(error) = &mut image.error {
            error.detail = told(&error.detail);
        }
        let key = (image.sha256.clone(), image.pool.clone());
        let known = self.images.get(&key);
        if known == Some(&image) {
            return Concerns::Nobody;
        }
        let before = known.map(weight_of_image);
        if self.images.len() >= MOST && before.is_none() {
            return self.cannot_read(&format!("more than {MOST} images"));
        }
        let after = self.bytes - before.unwrap_or_default() + weight_of_image(&image);
        if after > LARGEST {
            return self.cannot_read(&too_much());
        }
        self.bytes = after;
        Arc::make_mut(&mut self.images).insert(key, image);
        Concerns::Images
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        self.bytes
    }

    /// The first is said: the next may be another each time.
    fn cannot_read(&mut self, why: &str) -> Concerns {
        if self.unreadable.is_some() {
            return Concerns::Nobody;
        }
        self.unreadable = Some(told(why));
        Concerns::Capacity
    }
}

fn told(text: &str) -> String {
    text.chars().take(TOLD).collect()
}

fn too_much() -> String {
    format!(
        "more than {} MiB of virtual machines and images",
        LARGEST >> 20
    )
}

/// What an entry of a list or map takes beside its text.
const PIECE: usize = 64;

fn weight_of(machine: &Machine) -> usize {
    let Machine {
        id,
        spec,
        state_reason,
        interfaces,
        addresses,
        ..
    } = machine;
    let labels = spec.labels.iter();
    let labels = labels.map(|(key, value)| PIECE + key.len() + value.len());
    let cards = interfaces.iter().map(|card| PIECE + card.mac.len());
    let addresses = addresses.iter();
    let addresses = addresses.map(|at| PIECE + at.address.len() + at.mac.len());
    size_of::<Machine>()
        + 2 * id.len()
        + spec.name.len()
        + state_reason.as_ref().map_or(0, String::len)
        + labels.chain(cards).chain(addresses).sum::<usize>()
}

fn weight_of_image(image: &Image) -> usize {
    let error = image.error.as_ref();
    let texts = [&image.sha256, &image.pool];
    size_of::<Image>()
        + texts.iter().map(|text| 2 * text.len()).sum::<usize>()
        + error.map_or(0, |error| error.code.len() + error.detail.len())
}

fn weight_of_capacity(capacity: &Capacity) -> usize {
    let pools = capacity.pools.iter().flatten().map(|pool| &pool.name);
    let names = capacity.networks.iter().chain(&capacity.bridges).flatten();
    let names = pools.chain(names).map(|name| PIECE + name.len());
    capacity.acceleration.len() + names.sum::<usize>()
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
