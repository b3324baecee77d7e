//! Which worlds run beside each other.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Three etcds on two processors lose their leader beside the clusters of other tests: whoever has them is alone.
static BESIDE: LazyLock<Arc<RwLock<()>>> = LazyLock::new(Arc::default);

/// Whether a world runs beside others.
#[allow(dead_code, reason = "held until its end")]
pub enum Beside {
    Others(OwnedRwLockReadGuard<()>),
    Nobody(OwnedRwLockWriteGuard<()>),
}

impl Beside {
    /// Waits until a world of so many hosts may begin.
    pub async fn with(hosts: usize) -> Self {
        let lock = BESIDE.clone();
        if hosts > 3 {
            Self::Nobody(lock.write_owned().await)
        } else {
            Self::Others(lock.read_owned().await)
        }
    }

    /// It has no three etcds any more: from now on other worlds may begin.
    pub fn with_others(self) -> Self {
        match self {
            Self::Nobody(lock) => Self::Others(lock.downgrade()),
            others @ Self::Others(_) => others,
        }
    }
}
