//! Which Secrets there are, by the watch of their metadata: one that is about to be made need not be asked for first.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Namespaces and names of all Secrets that the manager may see.
#[derive(Default)]
pub struct Names(Mutex<All>);

#[derive(Default)]
struct All {
    there: HashSet<(String, String)>,
    /// The watch has told of all.
    is_complete: bool,
}

impl Names {
    /// Whether there is none of this name. The watch may be behind: whoever relies on it makes the Secret by a create, which
    /// fails if there is one.
    pub fn is_missing(&self, namespace: &str, name: &str) -> bool {
        let all = self.lock();
        all.is_complete && !all.there.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// There is one: the watch tells so, or a create was refused.
    pub fn is_there(&self, namespace: &str, name: &str) {
        let mut all = self.lock();
        all.there.insert((namespace.to_owned(), name.to_owned()));
    }

    /// The watch tells that it is gone.
    pub fn is_gone(&self, namespace: &str, name: &str) {
        let mut all = self.lock();
        all.there.remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// The watch has told of all that there are.
    pub fn complete(&self) {
        self.lock().is_complete = true;
    }

    /// The watch begins anew.
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
