//! A store that tests fill.

use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher::Event;

use super::learn::name_of;
use super::{IndexKeys, Kind};

impl<K> Kind<K>
where
    K: IndexKeys + Resource<DynamicType = ()> + Clone + 'static,
{
    /// Adds this object, as if the API server had sent it.
    pub(crate) fn hold(&self, object: K) {
        let name = name_of(&object);
        let (keys, held) = (object.keys(), Arc::new(object.clone()));
        let mut writing = self.writing();
        writing.writer.apply_watcher_event(&Event::Apply(object));
        self.index_mut().insert(name, keys, held);
    }
}
