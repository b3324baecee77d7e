//! Power actions.

use uuid::Uuid;
use virt::domain::Domain;
use virt::error::ErrorNumber;

use super::{Error, Result, create, view};
use crate::api::types::{MachineState, PowerAction};
use crate::libvirt::domain_xml::Ours;
use crate::libvirt::{self, Doing, Link, domains};

/// Changes a machine's power state. Idempotent: a machine that is already in the state is not an
/// error.
///
/// # Errors
/// [`Error::Unknown`] when the machine does not exist, [`Error::Off`] for reset or resume of a
/// machine that is off, [`Error::Libvirt`] when libvirt fails.
pub fn power(link: &Link, id: Uuid, action: PowerAction) -> Result<()> {
    let (domain, seen) = view::lookup(link, id)?;
    let active = domain.is_active().doing("read a domain's state")?;
    let done = match action {
        PowerAction::On => already(on(&domain, active, seen.view.ours), &domain, true),
        PowerAction::Off | PowerAction::Shutdown if !active => Ok(()),
        PowerAction::Off => {
            let cut = domain.destroy().doing("cut a domain's power");
            already(cut, &domain, false)
        }
        PowerAction::Shutdown => {
            let asked = domain.shutdown().doing("shut down a domain");
            already(asked, &domain, false)
        }
        PowerAction::Reset | PowerAction::Resume if !active => return Err(Error::Off { id }),
        PowerAction::Reset => domain.reset().doing("reset a domain"),
        PowerAction::Resume if seen.state == MachineState::Running => Ok(()),
        PowerAction::Resume if seen.reason.as_deref() == Some(domains::ASLEEP) => {
            domain.pm_wakeup(0).doing("wake a domain up")
        }
        PowerAction::Resume => domain.resume().doing("resume a domain"),
    };
    tracing::info!(%id, ?action, ok = done.is_ok(), "changed the power of a machine");
    Ok(done?)
}

/// Starts a domain, and completes an interrupted creation: the caller may not have the create
/// request any more.
fn on(domain: &Domain, active: bool, ours: Option<Ours>) -> libvirt::Result<()> {
    match ours {
        Some(ours) if ours.creating => create::finish(domain, &ours),
        _ if active => Ok(()),
        _ => domain.create().doing("start a domain"),
    }
}

/// Ignores `OperationInvalid` if the domain is in the wanted state: the guest may shut down, or
/// autostart may start it, just before the call.
fn already(done: libvirt::Result<()>, domain: &Domain, wanted: bool) -> libvirt::Result<()> {
    match done {
        Err(error) if error.is(ErrorNumber::OperationInvalid) => {
            match domain.is_active().doing("read a domain's state")? {
                active if active == wanted => Ok(()),
                _ => Err(error),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use virt::connect::Connect;

    use super::*;

    #[test]
    fn what_became_so_in_between_is_no_error() {
        let connect = Connect::open(Some("test:///default")).expect("the test driver");
        let xml = "<domain type='test'><name>edge</name><memory>1024</memory><os><type>hvm</type></os></domain>";
        let domain = connect.define_domain_xml(xml).expect("a domain");
        let cut = || domain.destroy().doing("cut a domain's power");
        assert!(cut().is_err());
        assert!(already(cut(), &domain, false).is_ok());
        assert!(already(cut(), &domain, true).is_err(), "it does not run");
        domain.undefine().expect("its end");
    }
}
