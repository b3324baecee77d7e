//! Machines that were given up while their Hypervisor could not end their virtual machines: it ends them when it can.
//! They stand in an annotation of the Hypervisor, [`ANNOTATION_GIVEN_UP`].

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::Hypervisor;
use super::names::ANNOTATION_GIVEN_UP;

/// Most that one Hypervisor keeps: with the longest names, half of what annotations may have.
pub const MOST: usize = 400;

/// Machines that were given up: UID to name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenUp(BTreeMap<String, String>);

/// Why a Machine cannot be given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenUpError {
    /// The annotation was edited.
    #[error(
        "annotation tatara.dev/given-up must be a JSON object of Machine UIDs and names, for example \
         {{\"UID\":\"NAME\"}}; correct it, or remove it if none of the virtual machines that it named can start again"
    )]
    Unreadable,
    /// No more are kept.
    #[error(
        "annotation tatara.dev/given-up already lists {MOST} Machines whose virtual machines are still to be deleted there, \
         and holds no more; bring its gateway back, so that they are deleted, or delete the Hypervisor if that server \
         never comes back"
    )]
    Full,
}

/// What the annotation of a Hypervisor says.
pub fn annotation(hypervisor: &Hypervisor) -> Option<String> {
    hypervisor.annotations().get(ANNOTATION_GIVEN_UP).cloned()
}

impl GivenUp {
    /// Reads the annotation.
    pub fn read(annotation: Option<&str>) -> Result<Self, GivenUpError> {
        let Some(text) = annotation else {
            return Ok(Self::default());
        };
        let read = serde_json::from_str(text).map(Self);
        read.map_err(|_| GivenUpError::Unreadable)
    }

    /// The annotation with one Machine more.
    pub fn with(mut self, uid: &str, name: &str) -> Result<String, GivenUpError> {
        if self.0.len() >= MOST && !self.0.contains_key(uid) {
            return Err(GivenUpError::Full);
        }
        self.0.insert(uid.to_owned(), name.to_owned());
        Ok(self.text())
    }

    /// The annotation without a Machine whose virtual machine is gone for good; nothing where it was the last.
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
        let one = GivenUp::default().with("a", "w-0").expect("room");
        assert_eq!(one, r#"{"a":"w-0"}"#);
        let read = |text: &str| GivenUp::read(Some(text)).expect("readable");
        let two = read(&one).with("b", "w-1").expect("room");
        assert_eq!(read(&two).with("b", "w-1"), Ok(two.clone()), "once");
        assert_eq!(read(&two).iter().last(), Some(("b", "w-1")));
        assert_eq!(read(&two).without("b"), Some(one.clone()));
        assert_eq!(read(&one).without("other"), Some(one.clone()));
        assert_eq!(read(&one).without("a"), None);
        assert_eq!(GivenUp::read(None), Ok(GivenUp::default()));
    }

    #[test]
    fn what_is_full_or_unreadable_takes_no_more() {
        let mut full = GivenUp::default();
        for n in 0..MOST {
            // a Machine's name has at most 253 bytes, and a UID 36
            let text = full
                .with(&format!("{n:036}"), &"n".repeat(253))
                .expect("room");
            assert!(text.len() < 128 << 10, "annotations have at most 256 KiB");
            full = GivenUp::read(Some(&text)).expect("readable");
        }
        assert_eq!(full.clone().with("a", "w"), Err(GivenUpError::Full));
        assert!(full.with(&format!("{:036}", 0), "w").is_ok(), "it is there");
        for text in ["", "a", "[]", r#"{"a":1}"#] {
            assert_eq!(GivenUp::read(Some(text)), Err(GivenUpError::Unreadable));
        }
    }
}
