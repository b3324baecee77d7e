//! Machines that were removed while the gateway of their Hypervisor could not delete their virtual machines; these are
//! deleted once it answers. They are listed in an annotation of the Hypervisor, [`ANNOTATION_GIVEN_UP`].

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::Hypervisor;
use super::names::ANNOTATION_GIVEN_UP;

/// Most Machines that one Hypervisor lists: with the longest names they take half of the 256 KiB that Kubernetes allows
/// for all annotations of an object.
pub const MOST: usize = 400;

/// Machines whose virtual machines are still to be deleted: UID to name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbandonedMachines(BTreeMap<String, String>);

/// Why a Machine cannot be given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbandonError {
    /// The annotation was edited.
    #[error(
        "annotation tatara.dev/given-up must be a JSON object of Machine UIDs and names, for example \
         {{\"UID\":\"NAME\"}}; correct it, or remove it if none of the virtual machines that it named can start again"
    )]
    Unreadable,
    /// The list is full.
    #[error(
        "annotation tatara.dev/given-up already lists {MOST} Machines whose virtual machines have not been deleted there, \
         and cannot list more; bring its gateway back, so that they are deleted, or delete the Hypervisor if that server \
         never comes back"
    )]
    Full,
}

/// The annotation of a Hypervisor, if it has one.
pub fn annotation(hypervisor: &Hypervisor) -> Option<String> {
    hypervisor.annotations().get(ANNOTATION_GIVEN_UP).cloned()
}

impl AbandonedMachines {
    /// Parses the annotation; absent means an empty list.
    ///
    /// # Errors
    /// [`AbandonError::Unreadable`]: it is not a JSON object of strings.
    pub fn read(annotation: Option<&str>) -> Result<Self, AbandonError> {
        let Some(text) = annotation else {
            return Ok(Self::default());
        };
        let read = serde_json::from_str(text).map(Self);
        read.map_err(|_| AbandonError::Unreadable)
    }

    /// The annotation with this Machine added.
    ///
    /// # Errors
    /// [`AbandonError::Full`]: it lists [`MOST`] Machines already.
    pub fn with(mut self, uid: &str, name: &str) -> Result<String, AbandonError> {
        if self.0.len() >= MOST && !self.0.contains_key(uid) {
            return Err(AbandonError::Full);
        }
        self.0.insert(uid.to_owned(), name.to_owned());
        Ok(self.text())
    }

    /// The annotation without a Machine whose virtual machine was deleted; `None` if it was the last.
    pub fn without(mut self, uid: &str) -> Option<String> {
        self.0.remove(uid);
        (!self.0.is_empty()).then(|| self.text())
    }

    /// UIDs and names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(uid, name)| (uid.as_str(), name.as_str()))
    }

    fn text(&self) -> String {
        serde_json::json!(self.0).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_kept_until_it_is_gone_and_the_last_takes_the_annotation_with_it() {
        let one = AbandonedMachines::default().with("a", "w-0").expect("room");
        assert_eq!(one, r#"{"a":"w-0"}"#);
        let read = |text: &str| AbandonedMachines::read(Some(text)).expect("readable");
        let two = read(&one).with("b", "w-1").expect("room");
        assert_eq!(read(&two).with("b", "w-1"), Ok(two.clone()), "once");
        assert_eq!(read(&two).iter().last(), Some(("b", "w-1")));
        assert_eq!(read(&two).without("b"), Some(one.clone()));
        assert_eq!(read(&one).without("other"), Some(one.clone()));
        assert_eq!(read(&one).without("a"), None);
        assert_eq!(
            AbandonedMachines::read(None),
            Ok(AbandonedMachines::default())
        );
    }

    #[test]
    fn what_is_full_or_unreadable_takes_no_more() {
        let mut full = AbandonedMachines::default();
        for n in 0..MOST {
            // a Machine's name has at most 253 bytes, and a UID 36
            let text = full
                .with(&format!("{n:036}"), &"n".repeat(253))
                .expect("room");
            assert!(text.len() < 128 << 10, "annotations have at most 256 KiB");
            full = AbandonedMachines::read(Some(&text)).expect("readable");
        }
        assert_eq!(full.clone().with("a", "w"), Err(AbandonError::Full));
        assert!(full.with(&format!("{:036}", 0), "w").is_ok(), "it is there");
        for text in ["", "a", "[]", r#"{"a":1}"#] {
            assert_eq!(
                AbandonedMachines::read(Some(text)),
                Err(AbandonError::Unreadable)
            );
        }
    }
}
