//! Why a machine is not what was asked for.

use uuid::Uuid;

use crate::field::{BadField, bad};
use crate::libvirt::{self, pools::Pool};

/// Result of what is done with machines.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a machine is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that id.
    #[error("machine {id} does not exist")]
    Unknown {
        /// The id.
        id: Uuid,
    },
    /// The machine exists, and is another.
    #[error(
        "machine {id} exists with another spec (hash {existing}); a machine cannot be changed: delete it first, or use \
         another id"
    )]
    SpecDiffers {
        /// The id.
        id: Uuid,
        /// Hash of what is there.
        existing: String,
    },
    /// A domain that is not this machine has the name or the UUID.
    #[error("{field} {value:?} belongs to a domain that is not this machine; use another one")]
    NameTaken {
        /// Field of the request.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// The root disk's image is not there.
    #[error(
        "spec.rootDisk.image {image} is not ready in pool {pool:?}; PUT /v1/images/{image} first, and wait for state \
         ready"
    )]
    ImageNotReady {
        /// SHA-256.
        image: String,
        /// Name of the pool.
        pool: String,
    },
    /// A field makes no sense here.
    #[error(transparent)]
    BadSpec(#[from] BadField),
    /// The hypervisor has not enough left.
    #[error(
        "{field} {wanted} exceeds the free capacity of {free}; delete machines, or use another hypervisor"
    )]
    InsufficientCapacity {
        /// Path of the field.
        field: &'static str,
        /// What was asked for.
        wanted: u64,
        /// What is left.
        free: u64,
    },
    /// A pool has no room.
    #[error("a storage pool of the machine is full: {words}; free space, or use another pool")]
    PoolFull {
        /// libvirt's words.
        words: String,
    },
    /// What is in a pool cannot be deleted.
    #[error(
        "storage pool {pool:?} of machine {id} is not active, so its volumes cannot be deleted; start it (`virsh \
         pool-start`) and retry"
    )]
    PoolInactive {
        /// The machine's id.
        id: Uuid,
        /// Name of the pool.
        pool: String,
    },
    /// The action needs a machine that is on.
    #[error("machine {id} is off; start it first")]
    Off {
        /// The id.
        id: Uuid,
    },
    /// An earlier change of the machine does not come to its end.
    #[error("an earlier change of machine {id} is still in progress; retry later")]
    Busy {
        /// The id.
        id: Uuid,
    },
    /// The guest has not let go of the seed.
    #[error("the guest of machine {id} has not released the seed; retry after it has booted")]
    SeedBusy {
        /// The id.
        id: Uuid,
    },
    /// The driver has no such thing.
    #[error("libvirt's driver does not support {what}")]
    NotSupported {
        /// What it lacks.
        what: &'static str,
    },
    /// The console's log cannot be made or read.
    #[error("failed to create or read the console log of machine {id}")]
    Console {
        /// The id.
        id: Uuid,
        /// What the system said.
        source: std::io::Error,
    },
    /// The seed cannot be made.
    #[error("failed to create the seed")]
    Seed(#[from] crate::seed::Error),
    /// libvirt did not do what was asked.
    #[error(transparent)]
    Libvirt(#[from] libvirt::Error),
}

impl Error {
    /// A field that makes no sense here.
    pub(super) fn bad(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::BadSpec(bad(field, problem))
    }

    /// A full pool is named as such: it is the one failure of a pool that waits for people. `needed`: bytes that
    /// were to be written or set aside.
    pub(super) fn of_pool(error: libvirt::Error, pool: &Pool, needed: u64) -> Self {
        let words = error.words();
        if !error.is_unavailable() && is_full(&words, pool.available(), needed) {
            Self::PoolFull { words }
        } else {
            error.into()
        }
    }
}

/// libvirtd may speak the language of its hypervisor: numbers say more than words.
fn is_full(words: &str, available: Option<u64>, needed: u64) -> bool {
    let said = ["No space left", "insufficient free space"];
    said.iter().any(|said| words.contains(said)) || available.is_some_and(|free| free < needed)
}

#[cfg(test)]
mod tests {
    use super::is_full;

    #[test]
    fn a_pool_is_full_by_libvirts_words_or_by_its_numbers() {
        let extents = "Volume group \"vg\" has insufficient free space (1 extents): 2 required.";
        assert!(is_full(extents, Some(1 << 30), 1));
        assert!(is_full("cannot write: No space left on device", None, 1));
        assert!(is_full(
            "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
            Some(4095),
            4096
        ));
        assert!(!is_full(
            "cannot write: Permission denied",
            Some(4096),
            4096
        ));
        assert!(!is_full("cannot write: Permission denied", None, 4096));
    }
}
