//! Objects that libvirt cannot describe, or whose description cannot be parsed: they are skipped in
//! lists, so that one of them does not hide the others.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Result;
use super::error::found;

/// Limit of distinct messages per connection, to bound the memory.
const MOST: usize = 1000;

/// Objects that could not be read since the connection was opened, each logged once.
#[derive(Default)]
pub(super) struct Odd(Mutex<BTreeSet<String>>);

impl Odd {
    /// The result of reading one object of a list: `None` if the object was deleted, or cannot be
    /// read, which is logged once.
    ///
    /// # Errors
    /// The error of `read`, when [`Error::is_unavailable`](super::Error::is_unavailable) is true
    /// for it.
    pub fn readable<T>(&self, name: &str, read: Result<T>) -> Result<Option<T>> {
        match found(read) {
            Err(error) if !error.is_unavailable() => {
                let said = format!("{name}: {}", error.words());
                let mut odd = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if odd.len() < MOST && odd.insert(said) {
                    tracing::warn!(
                        name,
                        error = error.words(),
                        "skipped an object that cannot be read"
                    );
                }
                Ok(None)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Error;
    use super::*;

    fn undescribed() -> Result<&'static str> {
        Err(Error::Description {
            what: "a storage pool",
            problem: "unknown pool type".into(),
        })
    }

    /// Reads a list of objects, such as pools, networks, volumes or domains.
    fn look(odd: &Odd, all: Vec<(&str, Result<&'static str>)>) -> Result<Vec<&'static str>> {
        let mut seen = Vec::new();
        for (name, read) in all {
            seen.extend(odd.readable(name, read)?);
        }
        Ok(seen)
    }

    #[test]
    fn what_cannot_be_described_blinds_nobody_and_a_connection_at_fault_is_an_error() {
        let odd = Odd::default();
        let all = || {
            vec![
                ("images", Ok("images")),
                ("gluster", undescribed()),
                ("default", Ok("default")),
            ]
        };
        for _ in 0..3 {
            let seen = look(&odd, all());
            assert_eq!(seen.expect("a look"), ["images", "default"]);
        }
        let said = odd.0.lock().expect("it");
        assert_eq!(said.len(), 1, "said once: {said:?}");
        drop(said);
        let mut lost = all();
        lost.push(("disks", Err(Error::Busy)));
        assert!(look(&odd, lost).is_err(), "never taken for an empty pool");
    }

    #[test]
    fn a_hypervisor_full_of_odd_things_costs_a_bounded_memory() {
        let odd = Odd::default();
        for i in 0..2 * MOST {
            let seen = odd.readable(&format!("pool-{i}"), undescribed());
            assert_eq!(seen.expect("a look"), None);
        }
        assert_eq!(odd.0.lock().expect("it").len(), MOST);
    }
}
