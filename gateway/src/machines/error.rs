//! Errors of machine requests.

use uuid::Uuid;

use crate::field::{BadField, bad};
use crate::libvirt::{self, pools::Pool};

/// Result of an operation on machines.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of machine requests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No machine has this id.
    #[error("machine {id} does not exist")]
    Unknown {
        /// The id.
        id: Uuid,
    },
    /// The machine exists with another spec.
    #[error(
        "machine {id} exists with another spec (hash {existing}); a machine cannot be changed: delete it first, or use \
         another id"
    )]
    SpecDiffers {
        /// The id.
        id: Uuid,
        /// Hash of the existing spec.
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
    /// The root disk's image is not ready.
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
    /// A field is invalid.
    #[error(transparent)]
    BadSpec(#[from] BadField),
    /// The hypervisor lacks free CPUs or memory.
    #[error(
        "{field} {wanted} exceeds the free capacity of {free}; delete machines, or use another hypervisor"
    )]
    InsufficientCapacity {
        /// Path of the field.
        field: &'static str,
        /// Requested amount.
        wanted: u64,
        /// Free amount.
        free: u64,
    },
    /// A pool lacks free space.
    #[error("a storage pool of the machine is full: {words}; free space, or use another pool")]
    PoolFull {
        /// libvirt's error message.
        words: String,
    },
    /// A pool is not active, so its volumes cannot be deleted.
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
    /// The action requires a running machine.
    #[error("machine {id} is off; start it first")]
    Off {
        /// The id.
        id: Uuid,
    },
    /// An earlier change of the machine is still in progress.
    #[error("an earlier change of machine {id} is still in progress; retry later")]
    Busy {
        /// The id.
        id: Uuid,
    },
    /// The guest has not released the seed.
    #[error("the guest of machine {id} has not released the seed; retry after it has booted")]
    SeedBusy {
        /// The id.
        id: Uuid,
    },
    /// libvirt's driver does not support it.
    #[error("libvirt's driver does not support {what}")]
    NotSupported {
        /// The missing feature.
        what: &'static str,
    },
    /// The console log cannot be created or read.
    #[error("failed to create or read the console log of machine {id}")]
    Console {
        /// The id.
        id: Uuid,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The seed cannot be created.
    #[error("failed to create the seed")]
    Seed(#[from] crate::seed::Error),
    /// libvirt failed.
    #[error(transparent)]
    Libvirt(#[from] libvirt::Error),
}

impl Error {
    /// The error of an invalid field.
    pub(super) fn bad(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::BadSpec(bad(field, problem))
    }

    /// Maps an error of a pool; a full pool gets its own variant, because only an operator can
    /// resolve it. `needed`: bytes that were to be written or allocated.
    pub(super) fn of_pool(error: libvirt::Error, pool: &Pool, needed: u64) -> Self {
        let words = error.words();
        if !error.is_unavailable() && is_full(&words, pool.available(), needed) {
            Self::PoolFull { words }
        } else {
            error.into()
        }
    }
}

/// libvirtd localizes its messages, so the free space is compared too.
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
