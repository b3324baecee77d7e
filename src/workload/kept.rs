//! The memory that the Nodes of all workload clusters take. No I/O.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use crate::remote::limits::{ALL_VIEWS, VIEWS};

/// What all clusters keep.
#[derive(Debug, Default)]
struct Total {
    bytes: AtomicUsize,
    holders: AtomicUsize,
}

static TOTAL: LazyLock<Arc<Total>> = LazyLock::new(Arc::default);

/// About how many bytes one snapshot or list takes, which counts among those of all clusters until it is dropped.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: usize,
    total: Arc<Total>,
}

impl Default for Kept {
    fn default() -> Self {
        Self::of(&TOTAL)
    }
}

impl Kept {
    fn of(total: &Arc<Total>) -> Self {
        total.holders.fetch_add(1, Relaxed);
        Self {
            bytes: 0,
            total: Arc::clone(total),
        }
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.total.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn remove(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.total.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Whether it is more than a cluster may have: ever, or beside the others. While all of them have too much, those with
    /// less than an equal part of it go on.
    pub(super) fn is_too_large(&self) -> bool {
        let all = self.total.bytes.load(Relaxed);
        let part = ALL_VIEWS / self.total.holders.load(Relaxed).max(1);
        self.bytes > VIEWS || (all > ALL_VIEWS && self.bytes > part)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.total.bytes.fetch_sub(self.bytes, Relaxed);
        self.total.holders.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_less_than_an_equal_part_goes_on_while_all_have_too_much() {
        let total = Arc::default();
        let kept = |bytes| {
            let mut kept = Kept::of(&total);
            kept.add(bytes);
            kept
        };
        let large: Vec<_> = (0..4).map(|_| kept(VIEWS)).collect();
        assert!(large.iter().all(|one| !one.is_too_large()), "they fit");
        let mut small = kept(1 << 20);
        assert!(!small.is_too_large());
        assert!(large.iter().all(Kept::is_too_large));
        small.add(VIEWS);
        assert!(small.is_too_large());
        small.remove(VIEWS);
        drop(large);
        assert!(!small.is_too_large());
        drop(small);
        assert_eq!(total.bytes.load(Relaxed), 0);
        assert_eq!(total.holders.load(Relaxed), 0);
    }
}
