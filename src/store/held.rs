//! A store that a test fills.

use kube::Resource;
use kube::runtime::watcher::Event;

use super::learn::name_of;
use super::{Indexed, Kind};

impl<K> Kind<K>
where
    K: Indexed + Resource<DynamicType = ()> + Clone + 'static,
{
    /// Holds this object from now on, as if the API server had sent it.
    pub(crate) fn hold(&self, object: K) {
        let name = name_of(&object);
        self.index_mut().insert(&name, object.keys());
        let mut writing = self.writing();
        writing.writer.apply_watcher_event(&Event::Apply(object));
    }
}
