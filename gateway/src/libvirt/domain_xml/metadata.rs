//! The gateway's metadata in the domain XML: the only store of a machine's spec.

use std::fmt::Write as _;

use roxmltree::Node;

use super::{document, nested, text};
use crate::api::types::MachineSpec;

/// XML namespace of the metadata. The gateway does not manage a domain without an element of it.
pub const NAMESPACE: &str = "https://tatara.dev/libvirt/1";

/// The gateway's metadata of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// SHA-256 of the spec.
    pub hash: String,
    /// The spec; `None` if it cannot be parsed, such as one of a newer gateway.
    pub spec: Option<MachineSpec>,
    /// Whether the creation is incomplete: defined, but not yet started for the first time.
    pub creating: bool,
}

impl Metadata {
    /// The XML element: with the namespace prefix for the XML of a new domain; without it for
    /// `virDomainSetMetadata`, which adds the prefix.
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

    /// Parses a domain's `metadata` element; `None` if the gateway does not manage the domain.
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

/// JSON escaped to ASCII: XML 1.0 cannot represent some characters that JSON allows, such as most
/// control characters.
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
