//! Interned texts: a state has a number in the place of each, and the number is the same in every run and thread.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A text, by a hash of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(u32);

static TEXTS: LazyLock<RwLock<HashMap<u32, Arc<str>>>> = LazyLock::new(RwLock::default);

impl Text {
    /// Its number, by which it is found again.
    pub fn of(text: &str) -> Self {
        // FNV-1a
        let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let known = TEXTS.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&hash).cloned();
        drop(known);
        let kept = found.unwrap_or_else(|| {
            let mut all = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(hash).or_insert_with(|| text.into()).clone()
        });
        assert_eq!(&*kept, text, "two texts have one hash");
        Self(hash)
    }

    /// The text.
    pub fn get(self) -> Arc<str> {
        let all = TEXTS.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&self.0).cloned().unwrap_or_default()
    }
}
