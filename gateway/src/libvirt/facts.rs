//! Properties of a hypervisor, from libvirt's capabilities.

use roxmltree::{Document, Node};
use uuid::Uuid;
use virt::connect::Connect;

use super::{Doing, Error, Result};
use crate::api::types::Acceleration;

/// Properties of the hypervisor, read when the connection is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The driver behind the connection.
    pub driver: Driver,
    /// UUID of the host.
    pub uuid: Uuid,
    /// Supported guest architectures.
    pub guests: Vec<Guest>,
    /// The host's own architecture.
    pub architecture: String,
}

/// Drivers of libvirt that the gateway distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// QEMU, with or without KVM.
    Qemu,
    /// libvirt's test driver: no uploads, no leases, no console.
    Test,
    /// Any other.
    Other,
}

/// A supported guest architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Such as `x86_64`.
    pub architecture: String,
    /// Domain types, such as `kvm` and `qemu`.
    pub domain_types: Vec<String>,
}

impl Guest {
    /// The domain type: `kvm` if the hypervisor offers it.
    pub fn domain_type(&self) -> &str {
        let kvm = self.domain_types.iter().find(|name| *name == "kvm");
        kvm.or(self.domain_types.first())
            .map_or("qemu", String::as_str)
    }

    /// Whether it uses hardware virtualization.
    pub fn acceleration(&self) -> Acceleration {
        if self.domain_type() == "kvm" {
            Acceleration::Kvm
        } else {
            Acceleration::None
        }
    }
}

impl Facts {
    /// Reads them from libvirt.
    ///
    /// # Errors
    /// [`Error::Call`] when libvirt fails, [`Error::Description`] when the capabilities cannot be
    /// used.
    pub(super) fn read(connect: &Connect) -> Result<Self> {
        let driver = connect.driver_type().doing("read the driver's name")?;
        let capabilities = connect.capabilities().doing("read the capabilities")?;
        let driver = match driver.as_str() {
            "QEMU" => Driver::Qemu,
            "TEST" | "Test" => Driver::Test,
            _ => Driver::Other,
        };
        Self::parse(driver, &capabilities)
    }

    /// Parses libvirt's capabilities.
    ///
    /// # Errors
    /// [`Error::Description`] when they are not XML, lack the element `host`, or list no guest of
    /// type `hvm`.
    pub fn parse(driver: Driver, capabilities: &str) -> Result<Self> {
        let wrong = |problem: String| Error::Description {
            what: "the capabilities",
            problem,
        };
        let document = Document::parse(capabilities).map_err(|error| wrong(error.to_string()))?;
        let root = document.root_element();
        let host = child(root, "host").ok_or_else(|| wrong("no element `host`".to_owned()))?;
        let uuid = child(host, "uuid")
            .and_then(|node| node.text())
            .unwrap_or_default();
        let guests = root.children().filter(|node| node.has_tag_name("guest"));
        let guests: Vec<Guest> = guests.filter_map(guest).collect();
        let own = child(host, "cpu")
            .and_then(|cpu| child(cpu, "arch"))
            .and_then(|a| a.text());
        let architecture = guests
            .iter()
            .find(|guest| Some(guest.architecture.as_str()) == own)
            .or(guests.first())
            .map(|guest| guest.architecture.clone())
            .ok_or_else(|| wrong("it runs no machines".to_owned()))?;
        // the test driver's host has no UUID
        let uuid = uuid.parse().unwrap_or_default();
        Ok(Self {
            driver,
            uuid,
            guests,
            architecture,
        })
    }

    /// The guest of `architecture`, or of the host's; `None` if it is not supported.
    pub fn guest(&self, architecture: Option<&str>) -> Option<&Guest> {
        let wanted = architecture.unwrap_or(&self.architecture);
        self.guests
            .iter()
            .find(|guest| guest.architecture == wanted)
    }
}

fn guest(node: Node<'_, '_>) -> Option<Guest> {
    if child(node, "os_type")?.text() != Some("hvm") {
        return None;
    }
    let arch = child(node, "arch")?;
    let domains = arch.children().filter(|node| node.has_tag_name("domain"));
    let domain_types = domains
        .filter_map(|node| node.attribute("type"))
        .map(str::to_owned);
    Some(Guest {
        architecture: arch.attribute("name")?.to_owned(),
        domain_types: domain_types.collect(),
    })
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.has_tag_name(name))
}
