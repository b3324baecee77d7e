//! Parsing of domain XML, including that of domains that the gateway does not manage.

use std::ffi::OsStr;
use std::path::Path;

use roxmltree::{Document, Node};
use uuid::Uuid;

use super::devices::console_name;
use super::metadata::Metadata;
use crate::libvirt::{Error, Result};

/// The parsed domain XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainView {
    /// Its UUID.
    pub uuid: Uuid,
    /// Its name.
    pub name: String,
    /// Maximum number of virtual CPUs.
    pub cpus: u64,
    /// Maximum memory, in bytes.
    pub memory_bytes: u64,
    /// Its network interfaces.
    pub interfaces: Vec<InterfaceView>,
    /// Source paths of its disks, with their target device names.
    pub disks: Vec<(String, String)>,
    /// Path of its console log, if it has the file name that the gateway gives.
    pub console: Option<String>,
    /// Whether the guest agent is connected.
    pub agent: bool,
    /// The gateway's metadata; `None` if the gateway does not manage it.
    pub ours: Option<Ours>,
}

/// The metadata of a domain that the gateway manages.
pub type Ours = Metadata;

/// A network interface of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceView {
    /// MAC address, in lower case.
    pub mac: String,
    /// Name of its libvirt network.
    pub network: Option<String>,
    /// Name of its bridge.
    pub bridge: Option<String>,
}

/// Parses domain XML as written by libvirt.
///
/// # Errors
/// [`Error::Description`] when it is not XML, or has no valid UUID.
pub fn read(xml: &str) -> Result<DomainView> {
    let wrong = |problem: String| Error::Description {
        what: "a domain",
        problem,
    };
    let document = Document::parse(xml).map_err(|error| wrong(error.to_string()))?;
    let root = document.root_element();
    let uuid = text(root, "uuid").unwrap_or_default();
    let uuid = uuid
        .parse()
        .map_err(|_| wrong(format!("its UUID is {uuid:?}")))?;
    let devices = child(root, "devices");
    let each = |name: &'static str| {
        devices
            .into_iter()
            .flat_map(|node| node.children())
            .filter(move |n| n.has_tag_name(name))
    };
    Ok(DomainView {
        uuid,
        name: text(root, "name").unwrap_or_default().to_owned(),
        cpus: text(root, "vcpu")
            .and_then(|cpus| cpus.trim().parse().ok())
            .unwrap_or(1),
        memory_bytes: child(root, "memory").map(memory).unwrap_or_default(),
        interfaces: each("interface").filter_map(interface).collect(),
        disks: each("disk").filter_map(disk).collect(),
        console: each("serial").find_map(|serial| console(serial, uuid)),
        agent: each("channel").any(agent),
        ours: child(root, "metadata").and_then(Metadata::read),
    })
}

/// Memory in bytes. libvirt always writes the unit KiB today.
fn memory(node: Node<'_, '_>) -> u64 {
    let amount: u64 = node
        .text()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_default();
    let unit: u64 = match node.attribute("unit").unwrap_or("KiB") {
        "b" | "bytes" => 1,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => 1 << 10,
    };
    amount.saturating_mul(unit)
}

fn interface(node: Node<'_, '_>) -> Option<InterfaceView> {
    Some(InterfaceView {
        mac: attribute(node, "mac", "address")?.to_lowercase(),
        network: attribute(node, "source", "network"),
        // a running interface of a libvirt network also has the network's bridge as its source
        bridge: match node.attribute("type") {
            Some("bridge") => attribute(node, "source", "bridge"),
            _ => None,
        },
    })
}

fn disk(node: Node<'_, '_>) -> Option<(String, String)> {
    let source = attribute(node, "source", "file").or_else(|| attribute(node, "source", "dev"))?;
    Some((source, attribute(node, "target", "dev")?))
}

/// Only a file with the gateway's name for it, because this path is read for requests and deleted
/// with the machine.
fn console(serial: Node<'_, '_>, id: Uuid) -> Option<String> {
    let path =
        attribute(serial, "source", "path").filter(|_| serial.attribute("type") == Some("file"))?;
    let is_ours = Path::new(&path).file_name() == Some(OsStr::new(&console_name(id)));
    is_ours.then_some(path)
}

fn agent(channel: Node<'_, '_>) -> bool {
    let is_agent =
        attribute(channel, "target", "name").as_deref() == Some("org.qemu.guest_agent.0");
    is_agent && attribute(channel, "target", "state").as_deref() == Some("connected")
}

fn attribute(node: Node<'_, '_>, name: &str, attribute: &str) -> Option<String> {
    Some(child(node, name)?.attribute(attribute)?.to_owned())
}

fn text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text()
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.has_tag_name(name))
}
