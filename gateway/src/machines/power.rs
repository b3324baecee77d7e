//! Power of a machine.

use uuid::Uuid;
use virt::domain::Domain;

use super::{Error, Result, create, view};
use crate::api::types::{MachineState, PowerAction};
use crate::libvirt::domain_xml::Ours;
use crate::libvirt::{self, Doing, Link};

/// Changes a machine's power. What is already so is no error.
pub fn power(link: &Link, id: Uuid, action: PowerAction) -> Result<()> {
    let (domain, seen) = view::lookup(link, id)?;
    let active = domain.is_active().doing("read a domain's state")?;
    let done = match action {
        PowerAction::On => on(&domain, active, seen.view.ours),
        PowerAction::Off | PowerAction::Shutdown if !active => Ok(()),
        PowerAction::Off => domain.destroy().doing("cut a domain's power"),
        PowerAction::Shutdown => domain.shutdown().doing("shut down a domain"),
        PowerAction::Reset | PowerAction::Resume if !active => return Err(Error::Off { id }),
        PowerAction::Reset => domain.reset().doing("reset a domain"),
        PowerAction::Resume if seen.state == MachineState::Running => Ok(()),
        PowerAction::Resume => domain.resume().doing("resume a domain"),
    };
    tracing::info!(%id, ?action, ok = done.is_ok(), "power");
    Ok(done?)
}

/// A create that was cut is finished: whoever asks for power may be unable to send it again.
fn on(domain: &Domain, active: bool, ours: Option<Ours>) -> libvirt::Result<()> {
    match ours {
        Some(ours) if ours.creating => create::finish(domain, &ours),
        _ if active => Ok(()),
        _ => domain.create().doing("start a domain"),
    }
}
