//! Writing the domain XML of a machine.

use std::io;

use uuid::Uuid;

use super::devices::{self, ConsoleLog, Disk};
use super::metadata::Metadata;
use super::{Xml, document, empty, nested, text};
use crate::api::types::{Firmware, MachineInterface, MachineSpec};

/// Input of a machine's domain XML.
#[derive(Clone, Debug)]
pub struct Domain<'a> {
    /// The machine's id.
    pub id: Uuid,
    /// Its spec.
    pub spec: &'a MachineSpec,
    /// SHA-256 of the spec.
    pub hash: &'a str,
    /// libvirt's domain type: `kvm`, `qemu`, `test`.
    pub domain_type: &'a str,
    /// Its architecture.
    pub architecture: &'a str,
    /// Its disks, the root disk first, the seed last: detaching the seed does not shift other
    /// device names.
    pub disks: &'a [Disk],
    /// Its network interfaces.
    pub interfaces: &'a [MachineInterface],
    /// Its console log.
    pub console: Option<ConsoleLog>,
}

impl Domain<'_> {
    /// Whether QEMU runs it: the test driver does not support machine types, channels and similar
    /// elements.
    fn emulated(&self) -> bool {
        matches!(self.domain_type, "kvm" | "qemu")
    }

    fn pc(&self) -> bool {
        matches!(self.architecture, "x86_64" | "i686")
    }
}

/// The domain XML of a machine that is being created.
pub fn write(domain: &Domain<'_>) -> String {
    document(|xml| {
        nested(xml, "domain", &[("type", domain.domain_type)], |xml| {
            inner(xml, domain)
        })
    })
}

fn inner(xml: &mut Xml, domain: &Domain<'_>) -> io::Result<()> {
    let spec = domain.spec;
    text(xml, "name", &spec.name)?;
    text(xml, "uuid", &domain.id.to_string())?;
    let memory = spec.memory_bytes.div_ceil(1 << 20).to_string();
    nested(xml, "memory", &[("unit", "MiB")], |xml| {
        write_text(xml, &memory)
    })?;
    text(xml, "vcpu", &spec.cpus.to_string())?;
    nested(xml, "metadata", &[], |xml| {
        let metadata = Metadata {
            hash: domain.hash.to_owned(),
            spec: Some(spec.clone()),
            creating: true,
        };
        xml.get_mut()
            .extend(metadata.element(Some("tatara")).bytes());
        Ok(())
    })?;
    system(xml, domain)?;
    if domain.pc() {
        nested(xml, "features", &[], |xml| {
            empty(xml, "acpi", &[])?;
            empty(xml, "apic", &[])
        })?;
    }
    if domain.emulated() {
        processor(xml, domain)?;
    }
    empty(xml, "clock", &[("offset", "utc")])?;
    text(xml, "on_poweroff", "destroy")?;
    text(xml, "on_reboot", "restart")?;
    text(xml, "on_crash", "destroy")?;
    nested(xml, "devices", &[], |xml| devices(xml, domain))
}

fn system(xml: &mut Xml, domain: &Domain<'_>) -> io::Result<()> {
    let uefi = domain.spec.firmware == Firmware::Uefi;
    let attributes: &[(&str, &str)] = if uefi { &[("firmware", "efi")] } else { &[] };
    nested(xml, "os", attributes, |xml| {
        let mut attributes = vec![("arch", domain.architecture)];
        if domain.emulated() {
            attributes.push(("machine", if domain.pc() { "q35" } else { "virt" }));
        }
        nested(xml, "type", &attributes, |xml| write_text(xml, "hvm"))?;
        if uefi {
            nested(xml, "firmware", &[], |xml| {
                empty(
                    xml,
                    "feature",
                    &[("enabled", "no"), ("name", "secure-boot")],
                )
            })?;
        }
        Ok(())
    })
}

fn processor(xml: &mut Xml, domain: &Domain<'_>) -> io::Result<()> {
    match &domain.spec.cpu_model {
        Some(model) => nested(
            xml,
            "cpu",
            &[("mode", "custom"), ("match", "exact")],
            |xml| {
                nested(xml, "model", &[("fallback", "forbid")], |xml| {
                    write_text(xml, model)
                })
            },
        ),
        None if domain.domain_type == "kvm" => empty(
            xml,
            "cpu",
            &[("mode", "host-passthrough"), ("migratable", "on")],
        ),
        None => empty(xml, "cpu", &[("mode", "maximum")]),
    }
}

fn devices(xml: &mut Xml, domain: &Domain<'_>) -> io::Result<()> {
    for disk in domain.disks {
        devices::write_disk(xml, disk)?;
    }
    for (index, card) in domain.interfaces.iter().enumerate() {
        // a blank root disk is not bootable, so network boot follows it
        let boot = index == 0 && domain.spec.root_disk.image.is_none();
        devices::write_interface(xml, card, boot)?;
    }
    if let Some(log) = &domain.console {
        devices::write_console(xml, log)?;
    }
    if domain.emulated() {
        devices::write_agent(xml)?;
        devices::write_rng(xml)?;
        empty(xml, "memballoon", &[("model", "virtio")])?;
        empty(xml, "controller", &[("type", "usb"), ("model", "none")])?;
    }
    Ok(())
}

fn write_text(xml: &mut Xml, text: &str) -> io::Result<()> {
    xml.write_event(quick_xml::events::Event::Text(
        quick_xml::events::BytesText::new(text),
    ))
}
