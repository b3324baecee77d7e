//! Power of a machine.

use uuid::Uuid;

use super::{Error, Result, view};
use crate::api::types::{MachineState, PowerAction};
use crate::app::App;
use crate::libvirt::{self, Doing, Link};

/// Changes a machine's power. What is already so is no error.
pub fn power(app: &App, link: &Link, id: Uuid, action: PowerAction) -> Result<()> {
    let _one_at_a_time = app.locks.machine(id);
    let (domain, seen) = view::lookup(link, id)?;
    let active = domain.is_active().doing("read a domain's state")?;
    let creating = seen.view.ours.is_some_and(|ours| ours.creating);
    let done: libvirt::Result<()> = match action {
        PowerAction::On if active => Ok(()),
        PowerAction::On if creating => return Err(Error::Incomplete { id }),
        PowerAction::On => domain.create().doing("start a domain"),
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
