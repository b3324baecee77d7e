//! A store that a test fills.

use std::sync::PoisonError;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::{Indexed, Kind};

impl<K> Kind<K>
where
    K: Indexed + Resource<DynamicType = ()> + Clone + 'static,
{
    /// Holds this object from now on, as if the API server had sent it.
    pub(crate) fn hold(&self, object: K) {
        let name = (object.namespace().unwrap_or_default(), object.name_any());
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.insert(&name, object.keys());
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = writer.as_mut().expect("nobody watches");
        writer.apply_watcher_event(&Event::Apply(object));
    }
}
