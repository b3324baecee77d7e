//! Objects that stand in memory for ones that cannot be read: with all that could be read of them, and a mark that
//! only this process sees.

use kube::Resource;

/// On an object in memory, and never in the API: why it cannot be read.
pub const UNREADABLE: &str = "tatara.dev/unreadable";
/// The same where not even that could be read by which others know it as theirs.
pub const UNKNOWN: &str = "tatara.dev/unknown";

/// Why an object cannot be read, if it cannot: the field, and what is wrong with it. Nobody acts on such an object.
pub fn unreadable<K: Resource>(object: &K) -> Option<&str> {
    let marks = object.meta().annotations.as_ref()?;
    marks.get(UNREADABLE).map(String::as_str)
}

/// Whether not even that could be read by which others know an object as theirs: its owner, its Cluster, its
/// claim. Nothing is known of what it holds.
pub fn is_unknown<K: Resource>(object: &K) -> bool {
    let marks = object.meta().annotations.as_ref();
    marks.is_some_and(|marks| marks.contains_key(UNKNOWN))
}
