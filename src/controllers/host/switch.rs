//! Powers a host on or off through its BMC. The preconditions are read live just before.

use kube::ResourceExt;

use super::{Hosts, guard};
use crate::engine::{ReconcileError, patch};
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::host::Observed;
use tatara_core::host::switch::{Switch, is_away, still_holds};
use tatara_redfish::Wish;

fn wish(switch: Switch) -> Wish {
    match switch {
        Switch::On => Wish::On,
        Switch::Off => Wish::Shutdown,
        Switch::Fence => Wish::ForceOff,
    }
}

/// Changes the power through the BMC, and waits until the BMC reports it. The result is stored, and
/// the next pass observes it.
///
/// # Errors
/// `ReconcileError::Conflict` when the Host was modified, or, for a fence, has a recorded control
/// plane; `Api` when an object cannot be read; `NotLeading` without leadership. An error of the BMC
/// is published as an Event.
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
        .bring(host, wish(switch), crate::clock::now());
    let heard = heard.await;
    if is_away(switch, heard.power.as_ref().ok()) {
        // the SSH connection has lost its peer
        controller.hosts.forget(host);
    }
    match &heard.power {
        Ok(_) => {
            let news = switch.news(&name);
            tracing::info!(host = %name, action = %news.reason(), "host switched by its BMC");
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
