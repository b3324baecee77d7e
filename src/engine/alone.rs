//! Serialises our writes to one object: two controllers that write the same object at the same time
//! would cause conflicts (409).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// Objects that are being written, by UID.
#[derive(Default)]
pub struct Alone(Arc<Mutex<HashMap<String, Lock>>>);

/// The write lock of an object within this process; dropping it releases the lock.
pub struct Writing {
    all: Arc<Mutex<HashMap<String, Lock>>>,
    uid: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Alone {
    /// Waits until no other write to the object with this UID is under way.
    pub(super) async fn write(&self, uid: String) -> Writing {
        let lock = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(uid.clone()).or_default().clone()
        };
        let mut writing = Writing {
            all: self.0.clone(),
            uid,
            guard: None,
        };
        writing.guard = Some(lock.lock_owned().await);
        writing
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.guard.take();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // referenced by the map and by waiting writers
        if all
            .get(&self.uid)
            .is_some_and(|lock| Arc::strong_count(lock) == 1)
        {
            all.remove(&self.uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn writes_to_one_object_wait_for_each_other_and_leave_nothing_behind() {
        let alone = Alone::default();
        let first = alone.write("a".into()).await;
        let other = alone.write("b".into()).await;
        let waiting = tokio::time::timeout(Duration::from_millis(20), alone.write("a".into()));
        assert!(waiting.await.is_err());
        drop(first);
        let second = alone.write("a".into()).await;
        drop((second, other));
        assert!(alone.0.lock().expect("a lock").is_empty());
    }
}
