//! The snapshot of a workload cluster's Nodes, indexed by name and by provider ID. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use crate::remote::limits::{ALL_VIEWS, NODES, VIEWS};
use crate::remote::{Kept, Total};
use tatara_core::NodeView;

static TOTAL: LazyLock<Arc<Total>> = LazyLock::new(|| Total::new(VIEWS, ALL_VIEWS));

/// Nodes by name, and names by provider ID.
#[derive(Debug)]
pub(super) struct NodeIndex {
    by_name: BTreeMap<String, Entry>,
    by_provider_id: HashMap<String, BTreeSet<String>>,
    /// The number of the list that came last, or is under way.
    list: u64,
    is_complete: bool,
    kept: Kept,
}

#[derive(Debug)]
struct Entry {
    view: Arc<NodeView>,
    /// The number of the list that it was in, or came after.
    list: u64,
    /// Whether it changed with a list that is not complete yet.
    is_changed: bool,
}

impl NodeIndex {
    /// An empty one, of a cluster in this namespace.
    pub(super) fn of(namespace: &str) -> Self {
        Self::with(Kept::among(&TOTAL, namespace))
    }

    fn with(kept: Kept) -> Self {
        Self {
            by_name: BTreeMap::new(),
            by_provider_id: HashMap::new(),
            list: 0,
            is_complete: false,
            kept,
        }
    }

    /// Stores a Node, and returns whether a controller waits for such a change.
    pub(super) fn apply(&mut self, view: &Arc<NodeView>) -> bool {
        self.store(view, false)
    }

    fn store(&mut self, view: &Arc<NodeView>, is_of_list: bool) -> bool {
        let before = self.by_name.get(&view.name);
        let is_told = before.is_none_or(|before| view.differs_meaningfully(&before.view));
        let was_changed = before.is_some_and(|before| before.is_changed);
        let entry = Entry {
            view: Arc::clone(view),
            list: self.list,
            is_changed: is_of_list && (is_told || was_changed),
        };
        if let Some(before) = self.by_name.insert(view.name.clone(), entry) {
            self.unlink(&before.view);
        }
        self.kept.add(weight(view));
        if let Some(id) = &view.provider_id {
            let names = self.by_provider_id.entry(id.clone()).or_default();
            names.insert(view.name.clone());
        }
        is_told
    }

    /// Removes a Node, and returns it.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<NodeView>> {
        let Entry { view, .. } = self.by_name.remove(name)?;
        self.unlink(&view);
        Some(view)
    }

    /// A list begins. It takes the place of the last one Node by Node, so that two are never kept.
    pub(super) fn begin(&mut self) {
        self.list += 1;
    }

    /// Stores a Node of the list that is under way.
    pub(super) fn listed(&mut self, view: NodeView) {
        self.store(&Arc::new(view), true);
    }

    /// The list is complete: removes the Nodes that are not in it. Returns those, and the ones that
    /// changed meaningfully.
    pub(super) fn complete(&mut self) -> Vec<Arc<NodeView>> {
        self.is_complete = true;
        let is_gone = |(_, entry): &(&String, &Entry)| entry.list != self.list;
        let gone = self.by_name.iter().filter(is_gone);
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        let mut changed: Vec<_> = gone.iter().filter_map(|name| self.remove(name)).collect();
        for entry in self.by_name.values_mut() {
            if std::mem::take(&mut entry.is_changed) {
                changed.push(Arc::clone(&entry.view));
            }
        }
        changed
    }

    /// Forgets all Nodes. Until the next list is complete, nobody knows which there are.
    pub(super) fn clear(&mut self) {
        let (list, kept) = (self.list, self.kept.anew());
        *self = Self {
            list,
            ..Self::with(kept)
        };
    }

    /// Whether there are more Nodes than a workload cluster may have.
    pub(super) fn is_too_large(&self) -> bool {
        self.by_name.len() > NODES || self.kept.is_too_large()
    }

    /// Whether there was a complete list.
    pub(super) fn is_listed(&self) -> bool {
        self.is_complete
    }

    pub(super) fn by_name(&self, name: &str) -> Option<Arc<NodeView>> {
        let entry = self.by_name.get(name).filter(|_| self.is_complete)?;
        Some(Arc::clone(&entry.view))
    }

    /// The Nodes with this provider ID, by name. Each kubelet says by itself which one it has.
    pub(super) fn by_provider_id(&self, id: &str) -> Vec<Arc<NodeView>> {
        let names = self.by_provider_id.get(id).into_iter().flatten();
        names.filter_map(|name| self.by_name(name)).collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<NodeView>> {
        let entries = self.by_name.values().filter(|_| self.is_complete);
        entries.map(|entry| Arc::clone(&entry.view)).collect()
    }

    fn unlink(&mut self, view: &NodeView) {
        self.kept.remove(weight(view));
        let Some(id) = &view.provider_id else { return };
        if let Some(names) = self.by_provider_id.get_mut(id) {
            names.remove(&view.name);
            if names.is_empty() {
                self.by_provider_id.remove(id);
            }
        }
    }
}

/// About how many bytes a Node takes here: the maps have its name and provider ID once more.
fn weight(view: &NodeView) -> usize {
    view.weight() + 2 * view.name.len() + view.provider_id.as_ref().map_or(0, String::len)
}

#[cfg(test)]
#[path = "node_index_tests.rs"]
mod tests;
