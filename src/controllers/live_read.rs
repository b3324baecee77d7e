//! When the children of an object were last read live: what an earlier process wrote need not be in
//! the watch's cache yet.

use crate::store::{InStores, Kind};

/// A live read of an object and its children.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The generation that the object had.
    pub generation: Option<i64>,
    /// How often the watch had listed the children ([`Kind::lists`]).
    pub lists: u64,
}

impl Look {
    /// A read that begins now.
    pub fn begin<K: InStores>(generation: Option<i64>, children: &Kind<K>) -> Self {
        let lists = children.lists();
        Self { generation, lists }
    }

    /// Whether it still holds for `now`: the watch has not listed the children anew, and the object
    /// is not older than it was, which would be a specification that is obsolete.
    pub fn holds(self, now: Self) -> bool {
        self.generation <= now.generation && self.lists == now.lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_holds_until_the_watch_lists_anew_or_shows_an_older_object() {
        let look = |generation, lists| Look {
            generation: Some(generation),
            lists,
        };
        let before = look(2, 7);
        for (now, holds) in [
            (look(2, 7), true),
            (look(3, 7), true),
            (look(1, 7), false),
            (look(2, 8), false),
        ] {
            assert_eq!(before.holds(now), holds, "{now:?}");
        }
    }
}
