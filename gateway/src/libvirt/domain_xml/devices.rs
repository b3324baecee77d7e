//! Devices of a machine. All of them are virtio: Debian's cloud kernel, for one, has no driver for AHCI or IDE.

use std::io;

use uuid::Uuid;

use super::{Xml, document, empty, nested, text};
use crate::api::types::MachineInterface;

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Path of the volume.
    pub path: String,
    /// The volume is a block device, not a file.
    pub block: bool,
    /// Format of the volume.
    pub format: DiskFormat,
    /// Device name in the XML: `vda`, `vdb`, … in the order of the disks.
    pub target: String,
    /// Serial number that the guest sees.
    pub serial: String,
    /// The guest may not write.
    pub readonly: bool,
    /// The firmware boots it.
    pub boot: bool,
}

/// Format of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFormat {
    /// QEMU's copy-on-write format.
    Qcow2,
    /// Plain bytes.
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

/// Where the serial console is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleLog(pub String);

/// The name of a machine's console log, in any folder.
pub fn console_name(id: Uuid) -> String {
    format!("tatara-{id}.log")
}

/// A disk as an element of its own, to detach it.
pub fn disk(disk: &Disk) -> String {
    document(|xml| write_disk(xml, disk))
}

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

/// `boot`: the firmware tries it after the disk.
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

pub(super) fn write_console(xml: &mut Xml, log: &ConsoleLog) -> io::Result<()> {
    nested(xml, "serial", &[("type", "file")], |xml| {
        empty(xml, "source", &[("path", &log.0), ("append", "on")])?;
        empty(xml, "target", &[("port", "0")])
    })
}

/// The channel of the guest agent.
pub(super) fn write_agent(xml: &mut Xml) -> io::Result<()> {
    nested(xml, "channel", &[("type", "unix")], |xml| {
        empty(
            xml,
            "target",
            &[("type", "virtio"), ("name", "org.qemu.guest_agent.0")],
        )
    })
}

/// Randomness: guests make their keys at the first boot.
pub(super) fn write_rng(xml: &mut Xml) -> io::Result<()> {
    nested(xml, "rng", &[("model", "virtio")], |xml| {
        nested(xml, "backend", &[("model", "random")], |xml| {
            xml.write_event(quick_xml::events::Event::Text(
                quick_xml::events::BytesText::new("/dev/urandom"),
            ))
        })
    })
}
