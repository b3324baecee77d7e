//! Domains: lookup, state and removal.

use uuid::Uuid;
use virt::connect::Connect;
use virt::domain::{
    Domain, DomainPausedReason, DomainShutoffReason, DomainState, DomainStateReason,
};
use virt::enumutil::Enum;
use virt::sys;

use super::domain_xml::{self, DomainView, Metadata, NAMESPACE};
use super::error::found;
use super::{Doing, Driver, Link, Result};
use crate::api::types::MachineState;

/// Reason of a domain suspended by its guest (ACPI S3): resume fails, it needs `virDomainPMWakeup`.
pub const ASLEEP: &str = "suspended by the guest";

/// A domain and its state.
#[derive(Clone, Debug)]
pub struct DomainStatus {
    /// Its description.
    pub view: DomainView,
    /// Its state.
    pub state: MachineState,
    /// Reason of the state.
    pub reason: Option<String>,
}

/// All domains, including those that the gateway does not manage. One that is deleted meanwhile is
/// skipped; one that cannot be read is included with state `Unknown`.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to list the domains or the connection is
/// lost.
pub fn all(link: &Link) -> Result<Vec<DomainStatus>> {
    let mut all = Vec::new();
    for domain in link.connect.list_all_domains(0).doing("list the domains")? {
        let name = domain.name().unwrap_or_default();
        let Some(seen) = found(see(&domain)).transpose() else {
            continue;
        };
        match link.readable(&name, seen)? {
            Some(seen) => all.push(seen),
            None => all.extend(domain.uuid().ok().map(|uuid| unread(uuid, name))),
        }
    }
    Ok(all)
}

/// A domain that cannot be read. It may be a machine, so a request for its UUID must not get 404.
fn unread(uuid: Uuid, name: String) -> DomainStatus {
    let ours = Metadata {
        hash: String::new(),
        spec: None,
        creating: false,
    };
    DomainStatus {
        view: DomainView {
            uuid,
            name,
            cpus: 0,
            memory_bytes: 0,
            interfaces: Vec::new(),
            disks: Vec::new(),
            console: None,
            agent: false,
            ours: Some(ours),
        },
        state: MachineState::Unknown,
        reason: None,
    }
}

/// The description and the state of a domain.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to read them,
/// [`Error::Description`](super::Error::Description) when the XML cannot be parsed.
pub fn see(domain: &Domain) -> Result<DomainStatus> {
    let xml = domain.xml_desc(0).doing("read a domain's description")?;
    let (state, reason) = state(domain)?;
    Ok(DomainStatus {
        view: domain_xml::read(&xml)?,
        state,
        reason,
    })
}

/// The domain with a UUID, if it exists.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to look it up.
pub fn by_uuid(connect: &Connect, id: Uuid) -> Result<Option<Domain>> {
    found(
        connect
            .lookup_domain_by_uuid(id)
            .doing("look up a domain by its UUID"),
    )
}

/// The domain with a name, if it exists.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to look it up.
pub fn by_name(connect: &Connect, name: &str) -> Result<Option<Domain>> {
    found(
        connect
            .lookup_domain_by_name(name)
            .doing("look up a domain by its name"),
    )
}

/// The state of a domain, and its reason.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to read the state.
pub fn state(domain: &Domain) -> Result<(MachineState, Option<String>)> {
    let (state, reason) = domain.state().doing("read a domain's state")?;
    if matches!(state, Enum::Unknown(_)) {
        // the binding returns this instead of libvirt's error; another call returns the error
        domain.is_active().doing("read a domain's state")?;
    }
    let reason = match reason {
        Enum::Known(reason) => Some(reason),
        Enum::Unknown(_) => None,
    };
    Ok(match (state, reason) {
        (Enum::Known(DomainState::Running | DomainState::Blocked), _) => {
            (MachineState::Running, None)
        }
        (Enum::Known(DomainState::Paused), Some(DomainStateReason::Paused(why))) => paused(why),
        (Enum::Known(DomainState::PMSuspended), _) => {
            (MachineState::Paused, Some(ASLEEP.to_owned()))
        }
        (Enum::Known(DomainState::Shutdown), _) => (MachineState::ShuttingDown, None),
        (Enum::Known(DomainState::Shutoff), Some(DomainStateReason::Shutoff(why))) => off(why),
        (Enum::Known(DomainState::Crashed), _) => (MachineState::Crashed, None),
        _ => (MachineState::Unknown, None),
    })
}

fn paused(
    why: Enum<DomainPausedReason, sys::virDomainPausedReason>,
) -> (MachineState, Option<String>) {
    let reason = match why {
        Enum::Known(DomainPausedReason::Crashed) => return (MachineState::Crashed, None),
        Enum::Known(DomainPausedReason::IOError) => Some("ioerror"),
        Enum::Known(DomainPausedReason::User) => Some("user"),
        Enum::Known(DomainPausedReason::Watchdog) => Some("watchdog"),
        Enum::Known(DomainPausedReason::StartingUp) => Some("starting"),
        Enum::Known(DomainPausedReason::Migration | DomainPausedReason::PostCopy) => {
            Some("migration")
        }
        Enum::Known(DomainPausedReason::Snapshot) => Some("snapshot"),
        Enum::Known(DomainPausedReason::Save | DomainPausedReason::Dump) => Some("save"),
        _ => None,
    };
    (MachineState::Paused, reason.map(str::to_owned))
}

fn off(
    why: Enum<DomainShutoffReason, sys::virDomainShutoffReason>,
) -> (MachineState, Option<String>) {
    let reason = match why {
        Enum::Known(DomainShutoffReason::Crashed) => return (MachineState::Crashed, None),
        Enum::Known(DomainShutoffReason::Shutdown) => Some("shutdown"),
        Enum::Known(DomainShutoffReason::Destroyed) => Some("destroyed"),
        Enum::Known(DomainShutoffReason::Failed) => Some("failed"),
        Enum::Known(DomainShutoffReason::Saved) => Some("saved"),
        _ => None,
    };
    (MachineState::Off, reason.map(str::to_owned))
}

/// Removes the mark `creating` from a machine's metadata. Metadata that cannot be parsed is kept:
/// rewriting it would lose the fields of a newer gateway.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to write the metadata.
pub fn created(domain: &Domain, metadata: &Metadata) -> Result<()> {
    if metadata.spec.is_none() {
        return Ok(());
    }
    let element = Metadata {
        creating: false,
        ..metadata.clone()
    }
    .element(None);
    let config = sys::VIR_DOMAIN_AFFECT_CONFIG;
    let live = sys::VIR_DOMAIN_AFFECT_LIVE;
    let active = domain.is_active().doing("read a domain's state")?;
    domain
        .set_metadata(
            sys::VIR_DOMAIN_METADATA_ELEMENT.cast_signed(),
            Some(&element),
            Some("tatara"),
            Some(NAMESPACE),
            if active { config | live } else { config },
        )
        .doing("write a domain's metadata")
}

/// Powers a domain off and undefines it, with its managed save image, NVRAM, and metadata of
/// snapshots and checkpoints.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to power it off or to undefine it.
pub fn remove(link: &Link, domain: &Domain) -> Result<()> {
    if domain.is_active().doing("read a domain's state")? {
        ended(domain.destroy().doing("cut a domain's power"))?;
    }
    let saved = sys::VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
        | sys::VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
        | sys::VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
        | sys::VIR_DOMAIN_UNDEFINE_NVRAM;
    let flags = if link.facts.driver == Driver::Qemu {
        saved
    } else {
        0
    };
    found(domain.undefine_flags(flags).doing("undefine a domain")).map(drop)
}

/// Ignores the error of a domain that is already off or undefined.
fn ended(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.is(virt::error::ErrorNumber::OperationInvalid) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        other => other,
    }
}

/// Sum of the CPUs and memory of all domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Virtual CPUs.
    pub cpus: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Number of domains whose size cannot be read and is not included.
    pub unread: usize,
}

/// Sum of the CPUs and memory of all domains.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to list the domains or the connection is
/// lost.
pub fn allocated(link: &Link) -> Result<Allocation> {
    let mut sum = Allocation::default();
    for domain in link.connect.list_all_domains(0).doing("list the domains")? {
        let Some(info) = found(domain.info().doing("read a domain's size")).transpose() else {
            continue;
        };
        let name = domain.name().unwrap_or_default();
        match link.readable(&name, info)? {
            Some(info) => {
                sum.cpus += u64::from(info.nr_virt_cpu);
                sum.memory = sum.memory.saturating_add(info.max_mem.saturating_mul(1024));
            }
            None => sum.unread += 1,
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_that_has_gone_has_no_state() {
        let connect = Connect::open(Some("test:///default")).expect("the test driver");
        let xml = "<domain type='test'><name>gone</name><memory>1024</memory><os><type>hvm</type></os></domain>";
        let domain = connect.define_domain_xml(xml).expect("a domain");
        assert_eq!(state(&domain).expect("a state").0, MachineState::Off);
        domain.undefine().expect("its end");
        assert!(found(state(&domain)).expect("no other error").is_none());
    }
}
