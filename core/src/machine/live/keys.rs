//! The Secret with the keys of a virtual machine: whose it is, and which Hypervisor it names. That
//! is recorded there a second time: the Secret exists before the virtual machine and is rarely
//! edited. An empty name means that none was created: the Machine left the Hypervisor that it was
//! assigned to.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::api::names::ANNOTATION_HYPERVISOR;

/// Whether these are the keys of the Machine with this UID.
pub fn is_of(keys: &Secret, uid: &str) -> bool {
    keys.owner_references().iter().any(|owner| owner.uid == uid)
}

/// The Hypervisor that the Secret names.
pub fn recorded(keys: &Secret) -> Option<String> {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR).cloned();
    named.filter(|hypervisor| !hypervisor.is_empty())
}

/// Whether a virtual machine may have been created with these keys.
pub fn may_be_used(keys: &Secret) -> bool {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR);
    named.is_none_or(|hypervisor| !hypervisor.is_empty())
}

/// Whether keys are used for a virtual machine on a Hypervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// They are: they name it.
    Named,
    /// They are, once they name it.
    Unnamed,
    /// They name this one, which may have the virtual machine.
    Other(String),
    /// They are another object's.
    Anothers,
}

/// Whether the Machine of this UID uses the keys on this Hypervisor.
pub fn use_of(keys: &Secret, uid: &str, hypervisor: &str) -> Use {
    if !is_of(keys, uid) {
        return Use::Anothers;
    }
    match recorded(keys) {
        Some(other) if other != hypervisor => Use::Other(other),
        Some(_) => Use::Named,
        None => Use::Unnamed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(uid: &str, named: Option<&str>) -> Secret {
        let mut keys = Secret::default();
        keys.metadata.annotations =
            named.map(|named| [(ANNOTATION_HYPERVISOR.to_owned(), named.to_owned())].into());
        let owner = json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine", "name": "m", "uid": uid}]);
        keys.metadata.owner_references = serde_json::from_value(owner).expect("owners");
        keys
    }

    #[test]
    fn keys_of_a_machine_that_has_left_its_hypervisor_say_that_nothing_was_made_with_them() {
        let keys = |named: Option<&str>| {
            let keys = keys("m", named);
            (recorded(&keys), may_be_used(&keys))
        };
        assert_eq!(keys(Some("a")), (Some("a".into()), true));
        assert_eq!(keys(Some("")), (None, false));
        assert_eq!(keys(None), (None, true), "of an older version");
    }

    #[test]
    fn keys_are_used_by_their_machine_alone_and_on_the_hypervisor_that_they_name() {
        for (case, uid, named, expected) in [
            ("named", "m", Some("a"), Use::Named),
            ("it left", "m", Some(""), Use::Unnamed),
            ("older", "m", None, Use::Unnamed),
            ("elsewhere", "m", Some("b"), Use::Other("b".into())),
            ("another's", "n", Some("a"), Use::Anothers),
        ] {
            assert_eq!(use_of(&keys(uid, named), "m", "a"), expected, "{case}");
        }
    }
}
