//! Devices of a machine. All are virtio: Debian's cloud kernel, for example, has no driver for AHCI
//! or IDE.

use std::io;

use uuid::Uuid;

use super::{Xml, document, empty, nested, text};
use crate::api::types::MachineInterface;

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Path of the volume.
    pub path: String,
    /// Whether the volume is a block device, not a file.
    pub block: bool,
    /// Format of the volume.
    pub format: DiskFormat,
    /// Device name in the XML: `vda`, `vdb`, … in the order of the disks.
    pub target: String,
    /// Serial number that the guest sees.
    pub serial: String,
    /// Whether the guest has read-only access.
    pub readonly: bool,
    /// Whether the firmware boots from it.
    pub boot: bool,
}

/// Format of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFormat {
    /// QEMU's copy-on-write format.
    Qcow2,
    /// Raw disk content.
    Raw,
}

impl DiskFormat {
    /// Its name in libvirt.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qcow2 => "qcow2",
            Self::Raw => "raw",
        }
    }
}

/// Path of the serial console log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleLog(pub String);

/// File name of a machine's console log.
pub fn console_name(id: Uuid) -> String {
    format!("tatara-{id}.log")
}

/// A disk as a separate XML document, to detach it.
pub fn disk(disk: &Disk) -> String {
    document(|xml| write_disk(xml, disk))
}

/// Writes a disk.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(super) fn write_disk(xml: &mut Xml, disk: &Disk) -> io::Result<()> {
    let (kind, source) = if disk.block {
        ("block", "dev")
    } else {
        ("file", "file")
    };
    nested(xml, "disk", &[("type", kind), ("device", "disk")], |xml| {
        let driver = [
            ("name", "qemu"),
            ("type", disk.format.name()),
            ("discard", "unmap"),
        ];
        empty(xml, "driver", &driver)?;
        empty(xml, "source", &[(source, &disk.path)])?;
        empty(xml, "target", &[("dev", &disk.target), ("bus", "virtio")])?;
        text(xml, "serial", &disk.serial)?;
        if disk.readonly {
            empty(xml, "readonly", &[])?;
        }
        if disk.boot {
            empty(xml, "boot", &[("order", "1")])?;
        }
        Ok(())
    })
}

/// Writes a network interface. `boot`: the firmware tries network boot after the disk.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(super) fn write_interface(
    xml: &mut Xml,
    card: &MachineInterface,
    boot: bool,
) -> io::Result<()> {
    let (kind, name) = match (&card.network, &card.bridge) {
        (Some(network), _) => ("network", network),
        (None, Some(bridge)) => ("bridge", bridge),
        (None, None) => return Ok(()),
    };
    nested(xml, "interface", &[("type", kind)], |xml| {
        empty(xml, "mac", &[("address", &card.mac)])?;
        empty(xml, "source", &[(kind, name)])?;
        empty(xml, "model", &[("type", "virtio")])?;
        if boot {
            empty(xml, "boot", &[("order", "2")])
        } else {
            Ok(())
        }
    })
}

/// Writes the serial console with its log.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(super) fn write_console(xml: &mut Xml, log: &ConsoleLog) -> io::Result<()> {
    nested(xml, "serial", &[("type", "file")], |xml| {
        empty(xml, "source", &[("path", &log.0), ("append", "on")])?;
        empty(xml, "target", &[("port", "0")])
    })
}

/// Writes the channel of the guest agent.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(super) fn write_agent(xml: &mut Xml) -> io::Result<()> {
    nested(xml, "channel", &[("type", "unix")], |xml| {
        empty(
            xml,
            "target",
            &[("type", "virtio"), ("name", "org.qemu.guest_agent.0")],
        )
    })
}

/// Writes the random number generator: guests generate their SSH host keys at the first boot.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(super) fn write_rng(xml: &mut Xml) -> io::Result<()> {
    nested(xml, "rng", &[("model", "virtio")], |xml| {
        nested(xml, "backend", &[("model", "random")], |xml| {
            xml.write_event(quick_xml::events::Event::Text(
                quick_xml::events::BytesText::new("/dev/urandom"),
            ))
        })
    })
}
