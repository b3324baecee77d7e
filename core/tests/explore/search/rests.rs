//! Which states come to rest without a fault: from each, fair rounds are played until a state is met that is known to.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{PARTS, digest};
use crate::world::rest::{calm, round, troubles};
use crate::world::state::State;

/// So many rounds a history takes at most: five Machines, one after another, each with two jobs.
const ROUNDS: usize = 200;

pub struct Rests {
    known: Vec<Mutex<HashSet<u64>>>,
}

impl Rests {
    pub fn new() -> Self {
        Self {
            known: (0..PARTS).map(|_| Mutex::default()).collect(),
        }
    }

    fn part(&self, digest: u64) -> &Mutex<HashSet<u64>> {
        &self.known[usize::try_from(digest % 64).unwrap_or_default()]
    }

    fn is_known(&self, digest: u64) -> bool {
        let part = self.part(digest).lock();
        part.unwrap_or_else(PoisonError::into_inner)
            .contains(&digest)
    }

    /// Plays fair rounds.
    ///
    /// # Errors
    /// What is broken by them, or is not as it is wanted once they change nothing any more.
    pub fn comes_to_rest(&self, state: &State) -> Result<(), String> {
        let mut now = calm(state);
        let mut path = Vec::new();
        loop {
            let at = digest(&now);
            if self.is_known(at) {
                break;
            }
            if path.contains(&at) || path.len() > ROUNDS {
                return Err(format!("does not come to rest: {:?}", troubles(&now)));
            }
            path.push(at);
            let next = round(&now).map_err(|what| format!("{what}, on the way to rest"))?;
            if let Some(what) = crate::world::safety::broken(&next) {
                return Err(format!("{what}, on the way to rest"));
            }
            if next == now {
                let troubles = troubles(&now);
                if let Some(what) = troubles.first() {
                    return Err(format!("rests, but {what}"));
                }
                break;
            }
            now = next;
        }
        for digest in path {
            let part = self.part(digest).lock();
            part.unwrap_or_else(PoisonError::into_inner).insert(digest);
        }
        Ok(())
    }
}
