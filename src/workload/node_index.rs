//! The snapshot of a workload cluster's Nodes, indexed by name and by provider ID. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::kept::Kept;
use crate::core::NodeView;
use crate::remote::limits::NODES;

/// Nodes by name, and names by provider ID.
#[derive(Debug, Default)]
pub(super) struct NodeIndex {
    by_name: BTreeMap<String, Arc<NodeView>>,
    by_provider_id: HashMap<String, BTreeSet<String>>,
    listed: bool,
    kept: Kept,
}

impl NodeIndex {
    /// Stores a Node, and returns whether a controller waits for such a change.
    pub(super) fn apply(&mut self, view: &Arc<NodeView>) -> bool {
        let before = self.by_name.insert(view.name.clone(), Arc::clone(view));
        if let Some(before) = &before {
            self.unlink(before);
        }
        self.kept.add(view.weight());
        if let Some(id) = &view.provider_id {
            let names = self.by_provider_id.entry(id.clone()).or_default();
            names.insert(view.name.clone());
        }
        before.is_none_or(|before| view.differs_meaningfully(&before))
    }

    /// Removes a Node, and returns it.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<NodeView>> {
        let view = self.by_name.remove(name)?;
        self.unlink(&view);
        Some(view)
    }

    /// Replaces all Nodes by `listed`. Returns the Nodes that changed meaningfully or were removed.
    pub(super) fn replace(&mut self, listed: Vec<NodeView>) -> Vec<Arc<NodeView>> {
        self.listed = true;
        let names: BTreeSet<&str> = listed.iter().map(|view| view.name.as_str()).collect();
        let is_gone = |name: &&String| !names.contains(name.as_str());
        let gone: Vec<String> = self.by_name.keys().filter(is_gone).cloned().collect();
        let mut changed: Vec<_> = gone.iter().filter_map(|name| self.remove(name)).collect();
        for view in listed.into_iter().map(Arc::new) {
            if self.apply(&view) {
                changed.push(view);
            }
        }
        changed
    }

    /// Whether there are more Nodes than a workload cluster may have.
    pub(super) fn is_too_large(&self) -> bool {
        is_too_large(self.by_name.len(), &self.kept)
    }

    /// Whether there was a complete list.
    pub(super) fn is_listed(&self) -> bool {
        self.listed
    }

    pub(super) fn by_name(&self, name: &str) -> Option<Arc<NodeView>> {
        self.by_name.get(name).cloned()
    }

    /// The Nodes with this provider ID, by name. Each kubelet says by itself which one it has.
    pub(super) fn by_provider_id(&self, id: &str) -> Vec<Arc<NodeView>> {
        let names = self.by_provider_id.get(id).into_iter().flatten();
        let nodes = names.filter_map(|name| self.by_name.get(name));
        nodes.cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<NodeView>> {
        self.by_name.values().cloned().collect()
    }

    fn unlink(&mut self, view: &NodeView) {
        self.kept.remove(view.weight());
        let Some(id) = &view.provider_id else { return };
        if let Some(names) = self.by_provider_id.get_mut(id) {
            names.remove(&view.name);
            if names.is_empty() {
                self.by_provider_id.remove(id);
            }
        }
    }
}

/// Whether so many Nodes, of so many bytes, are too much.
pub(super) fn is_too_large(nodes: usize, kept: &Kept) -> bool {
    nodes > NODES || kept.is_too_large()
}

#[cfg(test)]
#[path = "node_index_tests.rs"]
mod tests;
