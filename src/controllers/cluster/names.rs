//! Names of existing Secrets, from a metadata watch: before creating a Secret no read is needed.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Namespaces and names of all Secrets that the manager may see.
#[derive(Default)]
pub struct Names(Mutex<All>);

#[derive(Default)]
struct All {
    there: HashSet<(String, String)>,
    /// The watch has listed all Secrets.
    is_complete: bool,
}

impl Names {
    /// Whether no Secret has this name. The watch may lag: a caller must use a create request,
    /// which fails if the Secret exists.
    pub fn is_missing(&self, namespace: &str, name: &str) -> bool {
        let all = self.lock();
        all.is_complete && !all.there.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// Records that the Secret exists: the watch shows it, or a create request was refused.
    pub fn is_there(&self, namespace: &str, name: &str) {
        let mut all = self.lock();
        all.there.insert((namespace.to_owned(), name.to_owned()));
    }

    /// Records that the watch showed its deletion.
    pub fn is_gone(&self, namespace: &str, name: &str) {
        let mut all = self.lock();
        all.there.remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// Records that the watch has listed all Secrets.
    pub fn complete(&self) {
        self.lock().is_complete = true;
    }

    /// Clears all names, because the watch restarts.
    pub fn lost(&self) {
        *self.lock() = All::default();
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_missing_only_once_the_watch_has_told_of_all() {
        let names = Names::default();
        names.is_there("n", "a");
        assert!(!names.is_missing("n", "b"), "not told yet");
        names.complete();
        assert!(names.is_missing("n", "b") && names.is_missing("m", "a"));
        assert!(!names.is_missing("n", "a"));
        names.is_gone("n", "a");
        assert!(names.is_missing("n", "a"));
        names.lost();
        assert!(!names.is_missing("n", "a"), "the watch begins anew");
    }
}
