//! The memory that one kind of thing takes, such as the Nodes of all workload clusters. No I/O.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all servers of a kind keep.
#[derive(Debug)]
pub struct Total {
    /// Bytes that one may have.
    each: usize,
    /// Bytes that all may have together.
    all: usize,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    bytes: usize,
    /// Those whose servers keep anything.
    namespaces: HashMap<String, Part>,
}

/// What the servers of one namespace keep.
#[derive(Debug, Default)]
struct Part {
    bytes: usize,
    /// Those that keep anything.
    servers: usize,
}

impl Total {
    /// With these limits of bytes, of one and of all.
    pub fn new(each: usize, all: usize) -> Arc<Self> {
        Arc::new(Self {
            each,
            all,
            sums: Mutex::default(),
        })
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes one server's take, which count among those of its namespace until it is
/// dropped.
#[derive(Debug)]
pub struct Kept {
    namespace: String,
    bytes: usize,
    total: Arc<Total>,
}

impl Kept {
    /// Nothing yet, of a server in this namespace.
    pub fn among(total: &Arc<Total>, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            bytes: 0,
            total: Arc::clone(total),
        }
    }

    /// The same, with nothing.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::among(&self.total, &self.namespace)
    }

    /// So many more.
    pub fn add(&mut self, bytes: usize) {
        self.set(self.bytes + bytes);
    }

    /// So many less.
    pub fn remove(&mut self, bytes: usize) {
        self.set(self.bytes.saturating_sub(bytes));
    }

    /// So many.
    pub fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let mut sums = self.total.sums();
        sums.bytes = sums.bytes - before + bytes;
        let part = sums.namespaces.entry(self.namespace.clone()).or_default();
        part.bytes = part.bytes - before + bytes;
        part.servers = part.servers + usize::from(bytes > 0) - usize::from(before > 0);
        if part.servers == 0 {
            sums.namespaces.remove(&self.namespace);
        }
    }

    /// Whether it is more than a server may have: ever, or beside the others. While all of them
    /// have too much, the namespaces with less than an equal part of it go on, and in the others
    /// the servers with less than an equal part of that.
    pub fn is_too_large(&self) -> bool {
        let Total { each, all, .. } = *self.total;
        let sums = self.total.sums();
        let of_namespace = all / sums.namespaces.len().max(1);
        let takes_more = sums.namespaces.get(&self.namespace).is_some_and(|part| {
            part.bytes > of_namespace && self.bytes > of_namespace / part.servers.max(1)
        });
        self.bytes > each || (sums.bytes > all && takes_more)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::limits::{ALL_VIEWS, VIEWS};

    /// A Node of kubeadm.
    const NODE: usize = 2_390;

    fn kept(total: &Arc<Total>, namespace: &str, bytes: usize) -> Kept {
        let mut kept = Kept::among(total, namespace);
        kept.add(bytes);
        kept
    }

    #[test]
    fn who_has_less_than_an_equal_part_goes_on_while_all_have_too_much() {
        let total = Total::new(VIEWS, ALL_VIEWS);
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
        assert_eq!(total.sums().bytes, 0);
        assert!(total.sums().namespaces.is_empty());
    }

    #[test]
    fn each_of_twenty_clusters_has_1400_nodes_at_any_time() {
        let total = Total::new(VIEWS, ALL_VIEWS);
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
