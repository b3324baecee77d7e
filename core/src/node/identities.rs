//! The identities of units, known without their scripts: a script is the same wherever its template
//! and the values are.

#![allow(
    clippy::disallowed_types,
    reason = "what is worked out again and again is remembered here: with it or without it a decision is the same"
)]

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use minijinja::Value;
use minijinja::value::ValueKind;
use sha2::{Digest, Sha256};

use super::job::JobKind;
use super::render::RenderError;
use super::spec::UnitSpec;
use super::unit::{self, Unit};

/// So many of those that were asked for last are kept, and at most twice as many: 2.5 MB. A Machine
/// on its way to its Node has one of its own, and a control plane behind a virtual IP as well. One
/// that is not kept is rendered again.
const KEPT: usize = 8192;

/// A unit as a plan compares it with what a host shows.
#[derive(Clone, Debug)]
pub struct PlannedUnit {
    /// What it is for.
    pub kind: JobKind,
    /// As [`Unit::identity`].
    pub identity: String,
    spec: UnitSpec,
}

impl PlannedUnit {
    /// The unit itself, to be started.
    ///
    /// # Errors
    /// [`RenderError`]: a value contains a NUL character; then it would not have been planned.
    pub fn render(&self) -> Result<Unit, RenderError> {
        self.spec.render()
    }
}

/// The identities of units that were rendered, by a digest of what they were rendered from: there
/// may be passwords in the files, commands and proxies of a spec, and these are kept no longer than
/// a pass. With it or without it a plan is the same; only the time that it takes differs.
#[derive(Default)]
pub struct Identities(Mutex<Generations>);

/// The SHA-256 digest of the names, templates and values of a unit's steps.
type Key = [u8; 32];

#[derive(Default)]
struct Generations {
    young: HashMap<Key, String>,
    /// Goes when the young are many; who is asked for is young again.
    old: HashMap<Key, String>,
}

impl Identities {
    /// A unit with its identity: its scripts are rendered where that is not remembered.
    ///
    /// # Errors
    /// [`RenderError`]: a value contains a NUL character.
    pub fn plan(&self, spec: UnitSpec) -> Result<PlannedUnit, RenderError> {
        let key = key(&spec);
        let known = key.and_then(|key| self.lock().get(&key));
        let identity = known.map_or_else(|| self.learn(key, &spec), Ok)?;
        Ok(PlannedUnit {
            kind: spec.kind,
            identity,
            spec,
        })
    }

    fn learn(&self, key: Option<Key>, spec: &UnitSpec) -> Result<String, RenderError> {
        let identity = unit::identity(&spec.steps()?);
        if let Some(key) = key {
            self.lock().put(key, identity.clone());
        }
        Ok(identity)
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities").finish_non_exhaustive()
    }
}

impl Generations {
    fn get(&mut self, key: &Key) -> Option<String> {
        if let Some(identity) = self.young.get(key) {
            return Some(identity.clone());
        }
        let identity = self.old.remove(key)?;
        self.put(*key, identity.clone());
        Some(identity)
    }

    fn put(&mut self, key: Key, identity: String) {
        if self.young.len() >= KEPT {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, identity);
    }
}

/// `None`: a value of a kind that no step of ours has.
fn key(spec: &UnitSpec) -> Option<Key> {
    let mut hash = Sha256::new();
    for step in &spec.steps {
        text(&mut hash, b'n', step.name);
        text(&mut hash, b't', step.template);
        value(&mut hash, &step.values)?;
    }
    Some(hash.finalize().into())
}

/// Each value says where it ends and of what kind it is: no two lists of values are the same to the
/// hash.
fn value(hash: &mut Sha256, of: &Value) -> Option<()> {
    match of.kind() {
        ValueKind::None => hash.update(b"0"),
        ValueKind::Bool => hash.update(if of.is_true() { b"+" } else { b"-" }),
        ValueKind::Number => text(hash, b'1', &of.to_string()),
        ValueKind::String => text(hash, b'"', of.as_str()?),
        ValueKind::Seq => {
            hash.update(b"[");
            for item in of.try_iter().ok()? {
                value(hash, &item)?;
            }
            hash.update(b"]");
        }
        ValueKind::Map => {
            hash.update(b"{");
            for field in of.try_iter().ok()? {
                value(hash, &field)?;
                value(hash, &of.get_item(&field).ok()?)?;
            }
            hash.update(b"}");
        }
        _ => return None,
    }
    Some(())
}

fn text(hash: &mut Sha256, kind: u8, text: &str) {
    hash.update([kind]);
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}

#[cfg(test)]
#[path = "identities_tests.rs"]
mod tests;
