//! Powers a host on or off through its BMC. The preconditions are read live just before.

use kube::ResourceExt;

use super::{Hosts, guard};
use crate::api::Host;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::host::{Observed, PowerState};
use crate::engine::{ReconcileError, patch};
use crate::redfish::Wish;

/// A change of power, with its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// On, because the host is needed.
    On,
    /// Off, because the host is free.
    Off,
    /// Off, because the host was released and does not answer.
    Fence,
}

impl Switch {
    fn wish(self) -> Wish {
        match self {
            Self::On => Wish::On,
            Self::Off => Wish::Shutdown,
            Self::Fence => Wish::ForceOff,
        }
    }

    fn news(self, host: &str) -> Finding {
        let (reason, message) = match self {
            Self::On => (
                Reason::SwitchedOn,
                format!("Host {host} was switched on by its BMC"),
            ),
            Self::Off => (
                Reason::SwitchedOff,
                format!("Host {host} is free, and was switched off by its BMC"),
            ),
            Self::Fence => (
                Reason::Fenced,
                format!("Host {host} was released; its BMC cut its power, and reports it off"),
            ),
        };
        Finding::yes(ConditionType::PowerOn, reason, message)
    }
}

/// Whether the decision still holds for the host as read live.
fn still_holds(decided_on: &Host, live: &Host) -> bool {
    let (was, is) = (&decided_on.spec, &live.spec);
    was.bmc == is.bmc && !is.maintenance && was.consumer_ref == is.consumer_ref
}

/// Whether the BMC reports the host off after powering it off. If it refused or did not answer, the host may still run:
/// observations of it, such as the private key of a cluster's CA, remain valid.
fn is_away(switch: Switch, power: Option<&PowerState>) -> bool {
    switch != Switch::On && power == Some(&PowerState::Off)
}

/// Changes the power through the BMC, and waits until the BMC reports it. The result is stored, and the next pass
/// observes it.
///
/// # Errors
/// `ReconcileError::Conflict` when the Host was modified, or, for a fence, has a recorded control plane; `Api` when an
/// object cannot be read; `NotLeading` without leadership. An error of the BMC is published as an Event.
pub async fn switch(
    controller: &Hosts,
    observed: &Observed,
    switch: Switch,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let name = host.name_any();
    let live = patch::live(&controller.base.engine, host).await?;
    if !still_holds(host, &live) {
        return Err(ReconcileError::Conflict {
            what: format!("switch the power of Host {name}"),
        });
    }
    if switch == Switch::Fence {
        guard::must_have_none(controller, (&live, &observed.contact), "cut the power").await?;
        controller.base.engine.must_lead()?;
    }
    let heard = controller
        .bmcs
        .bring(host, switch.wish(), crate::clock::now());
    let heard = heard.await;
    if is_away(switch, heard.power.as_ref().ok()) {
        // the SSH connection has lost its peer
        controller.hosts.forget(host);
    }
    match &heard.power {
        Ok(_) => {
            let news = switch.news(&name);
            tracing::info!(host = %name, action = %news.reason, "host switched by its BMC");
            controller.base.engine.events.publish(host, &news).await;
        }
        Err(error) => {
            tracing::warn!(host = %name, error = %error, "failed to switch a host by its BMC");
            let failed = Finding::no(ConditionType::PowerOn, error.reason, error.message.clone());
            controller.base.engine.events.publish(host, &failed).await;
        }
    }
    controller.base.wakers.hosts.wake_object(host);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_said_is_forgotten_only_once_its_bmc_says_that_it_is_off() {
        for (switch, power, is_forgotten) in [
            (Switch::Fence, Some(PowerState::Off), true),
            (Switch::Fence, Some(PowerState::On), false),
            (Switch::Fence, None, false),
            (Switch::Off, Some(PowerState::Off), true),
            (Switch::Off, None, false),
            (Switch::On, Some(PowerState::On), false),
            (Switch::On, Some(PowerState::Off), false),
        ] {
            let is = is_away(switch, power.as_ref());
            assert_eq!(is, is_forgotten, "{switch:?}, {power:?}");
        }
    }
}
