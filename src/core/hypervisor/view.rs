//! What a gateway reported: its virtual machines, its images, its capacity; and whether its events are followed.

use crate::api::conditions::Reason;
use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use crate::core::wire::{Capacity, Image, Machine};

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

/// What a gateway reported. Cheap to clone.
#[derive(Clone, Debug)]
pub struct View {
    /// Whether its events are followed.
    pub connectivity: Connectivity,
    machines: Arc<HashMap<String, Arc<Machine>>>,
    images: Arc<HashMap<(String, String), Image>>,
    /// What it has; nothing before the first answer.
    pub capacity: Option<Capacity>,
    /// Why a part of its report cannot be read: a virtual machine that the view does not have may exist.
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
            Event::Machine(machine) => {
                if self
                    .machines
                    .get(&machine.id)
                    .is_some_and(|known| **known == *machine)
                {
                    return Concerns::Nobody;
                }
                let id = machine.id.clone();
                if self.machines.len() >= MOST && !self.machines.contains_key(&id) {
                    return self.cannot_read(format!("more than {MOST} virtual machines"));
                }
                Arc::make_mut(&mut self.machines).insert(id.clone(), Arc::new(*machine));
                Concerns::Machine(id)
            }
            Event::MachineGone(id) => match Arc::make_mut(&mut self.machines).remove(&id) {
                Some(_) => Concerns::Machine(id),
                None => Concerns::Nobody,
            },
            Event::Image(image) => {
                let key = (image.sha256.clone(), image.pool.clone());
                if self.images.get(&key) == Some(&image) {
                    return Concerns::Nobody;
                }
                if self.images.len() >= MOST && !self.images.contains_key(&key) {
                    return self.cannot_read(format!("more than {MOST} images"));
                }
                Arc::make_mut(&mut self.images).insert(key, image);
                Concerns::Images
            }
            Event::ImageGone(sha256, pool) => {
                Arc::make_mut(&mut self.images).remove(&(sha256, pool));
                Concerns::Images
            }
            Event::Capacity(capacity) => {
                if self.capacity.as_ref() == Some(&capacity) {
                    return Concerns::Nobody;
                }
                self.capacity = Some(capacity);
                Concerns::Capacity
            }
            Event::Unreadable(why) => self.cannot_read(why),
            Event::Synced => Concerns::Nobody,
        }
    }

    /// The first is said: the next may be another each time.
    fn cannot_read(&mut self, why: String) -> Concerns {
        if self.unreadable.is_some() {
            return Concerns::Nobody;
        }
        self.unreadable = Some(why);
        Concerns::Capacity
    }
}
