//! What a domain's metadata says of the machine: the only place where a machine's state is kept.

use std::fmt::Write as _;

use roxmltree::Node;

use super::{document, nested, text};
use crate::api::types::MachineSpec;

/// XML namespace of our metadata. A domain without an element of it is not ours.
pub const NAMESPACE: &str = "https://tatara.dev/libvirt/1";

/// What a domain's metadata says of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// SHA-256 of the spec.
    pub hash: String,
    /// The spec; `None` where a newer gateway wrote one that makes no sense here.
    pub spec: Option<MachineSpec>,
    /// The machine was defined, and not yet started for the first time.
    pub creating: bool,
}

impl Metadata {
    /// As an element: for a new domain, with the namespace's prefix, or to replace what a domain has, where
    /// libvirt adds the prefix.
    pub fn element(&self, prefix: Option<&str>) -> String {
        let name = |name: &str| prefix.map_or(name.to_owned(), |prefix| format!("{prefix}:{name}"));
        let namespace = prefix.map(|prefix| format!("xmlns:{prefix}"));
        let mut attributes = vec![("hash", self.hash.as_str())];
        attributes.extend(namespace.as_deref().map(|name| (name, NAMESPACE)));
        if self.creating {
            attributes.push(("creating", "true"));
        }
        let spec = self.spec.as_ref().map(ascii_json).unwrap_or_default();
        document(|xml| {
            nested(xml, &name("machine"), &attributes, |xml| {
                text(xml, &name("spec"), &spec)
            })
        })
    }

    /// Reads a domain's `metadata` element; `None` where none of it is ours.
    pub(super) fn read(metadata: Node<'_, '_>) -> Option<Self> {
        let machine = metadata
            .children()
            .find(|node| node.has_tag_name((NAMESPACE, "machine")))?;
        let spec = machine
            .children()
            .find(|node| node.tag_name().name() == "spec");
        let spec = spec.and_then(|node| node.text()).unwrap_or_default();
        Some(Self {
            hash: machine.attribute("hash").unwrap_or_default().to_owned(),
            spec: serde_json::from_str(spec).ok(),
            creating: machine.attribute("creating") == Some("true"),
        })
    }
}

/// JSON in ASCII alone: XML has no way to write some of the characters that JSON may have.
fn ascii_json(spec: &MachineSpec) -> String {
    let json = serde_json::to_string(spec).unwrap_or_default();
    let mut ascii = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ 0x20..=0x7e) => ascii.push(char::from(byte)),
            _ => {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}
