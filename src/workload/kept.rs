//! The memory that the Nodes of all workload clusters take. No I/O.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::remote::limits::{ALL_VIEWS, VIEWS};

/// What all clusters keep.
#[derive(Debug, Default)]
struct Total {
    bytes: usize,
    /// Those whose clusters keep anything.
    namespaces: HashMap<String, Part>,
}

/// What the clusters of one namespace keep.
#[derive(Debug, Default)]
struct Part {
    bytes: usize,
    /// Those that keep anything.
    clusters: usize,
}

static TOTAL: LazyLock<Arc<Mutex<Total>>> = LazyLock::new(Arc::default);

/// About how many bytes the Nodes of one cluster take, which count among those of its namespace until it is dropped.
#[derive(Debug)]
pub(super) struct Kept {
    namespace: String,
    bytes: usize,
    total: Arc<Mutex<Total>>,
}

impl Kept {
    /// Nothing yet, of a cluster in this namespace.
    pub(super) fn of(namespace: &str) -> Self {
        Self::among(&TOTAL, namespace)
    }

    fn among(total: &Arc<Mutex<Total>>, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            bytes: 0,
            total: Arc::clone(total),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.set(self.bytes + bytes);
    }

    pub(super) fn remove(&mut self, bytes: usize) {
        self.set(self.bytes.saturating_sub(bytes));
    }

    fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let mut total = lock(&self.total);
        total.bytes = total.bytes - before + bytes;
        let part = total.namespaces.entry(self.namespace.clone()).or_default();
        part.bytes = part.bytes - before + bytes;
        part.clusters = part.clusters + usize::from(bytes > 0) - usize::from(before > 0);
        if part.clusters == 0 {
            total.namespaces.remove(&self.namespace);
        }
    }

    /// Whether it is more than a cluster may have: ever, or beside the others. While all of them have too much, the namespaces
    /// with less than an equal part of it go on, and in the others the clusters with less than an equal part of that.
    pub(super) fn is_too_large(&self) -> bool {
        let total = lock(&self.total);
        let of_namespace = ALL_VIEWS / total.namespaces.len().max(1);
        let takes_more = total.namespaces.get(&self.namespace).is_some_and(|part| {
            part.bytes > of_namespace && self.bytes > of_namespace / part.clusters.max(1)
        });
        self.bytes > VIEWS || (total.bytes > ALL_VIEWS && takes_more)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn lock(total: &Mutex<Total>) -> MutexGuard<'_, Total> {
    total.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Node of kubeadm.
    const NODE: usize = 2_390;

    fn kept(total: &Arc<Mutex<Total>>, namespace: &str, bytes: usize) -> Kept {
        let mut kept = Kept::among(total, namespace);
        kept.add(bytes);
        kept
    }

    #[test]
    fn who_has_less_than_an_equal_part_goes_on_while_all_have_too_much() {
        let total = Arc::default();
        let large: Vec<_> = (0..4).map(|_| kept(&total, "a", VIEWS)).collect();
        assert!(large.iter().all(|one| !one.is_too_large()), "they fit");
        let mut small = kept(&total, "a", 1 << 20);
        assert!(!small.is_too_large());
        assert!(large.iter().all(Kept::is_too_large));
        small.add(VIEWS);
        assert!(small.is_too_large());
        small.remove(VIEWS);
        drop(large);
        assert!(!small.is_too_large());
        drop(small);
        assert_eq!(lock(&total).bytes, 0);
        assert!(lock(&total).namespaces.is_empty());
    }

    #[test]
    fn each_of_twenty_clusters_has_1400_nodes_at_any_time() {
        let total = Arc::default();
        let of_one: Vec<_> = (0..20).map(|_| kept(&total, "a", 1_400 * NODE)).collect();
        assert!(
            of_one.iter().all(|one| !one.is_too_large()),
            "in one namespace"
        );
        drop(of_one);
        let honest = |n| kept(&total, &format!("n{n}"), 1_400 * NODE);
        let honest: Vec<_> = (0..20).map(honest).collect();
        let mut greedy: Vec<_> = (0..30).map(|_| kept(&total, "n0", VIEWS)).collect();
        let is_greedy: Vec<_> = honest.iter().map(Kept::is_too_large).collect();
        assert!(
            is_greedy[1..].iter().all(|stops| !stops),
            "in a namespace of its own"
        );
        assert!(greedy.iter().all(Kept::is_too_large));
        // however small each of many is, only those of its own namespace pay for it
        greedy.clear();
        let many: Vec<_> = (0..100).map(|_| kept(&total, "n0", 1 << 20)).collect();
        assert!(many.iter().all(Kept::is_too_large));
        assert!(honest[1..].iter().all(|one| !one.is_too_large()));
    }
}
