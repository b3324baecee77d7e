//! Objects in memory that represent ones that cannot be decoded: with all fields that could be decoded, and a mark that
//! only this process sees.

use kube::Resource;

/// On an object in memory, and never in the API: why it cannot be read.
pub const UNREADABLE: &str = "tatara.dev/unreadable";
/// The same, if not even its owner, Cluster and claim could be decoded.
pub const UNKNOWN: &str = "tatara.dev/unknown";

/// Why an object cannot be decoded, if it cannot: the field, and what is wrong with it. No controller acts on such an
/// object.
pub fn unreadable<K: Resource>(object: &K) -> Option<&str> {
    let marks = object.meta().annotations.as_ref()?;
    marks.get(UNREADABLE).map(String::as_str)
}

/// Whether not even the owner, the Cluster and the claim of an object could be decoded: it is not known what it holds.
pub fn is_unknown<K: Resource>(object: &K) -> bool {
    let marks = object.meta().annotations.as_ref();
    marks.is_some_and(|marks| marks.contains_key(UNKNOWN))
}
