//! Where a Machine's steps run: on a host, or in a virtual machine.

use std::sync::Arc;

use super::virtual_machine;
use crate::api::Host;
use crate::core::host::ContactError;
use crate::core::machine::{Held, Observed, Placement};
use crate::core::node::{RenderError, Script};
use crate::engine::ReconcileError;
use crate::manager::Context;
use crate::providers::Hosts;
use crate::providers::libvirt::Guest;
use crate::remote::Session;

/// The Host that the Machine holds.
pub(super) fn host(context: &Context, observed: &Observed) -> Result<Arc<Host>, ReconcileError> {
    let Placement::Held(Held { name, .. }) = &observed.placement else {
        return Err(ReconcileError::other(
            "find the host of a Machine",
            "it holds none",
        ));
    };
    let found = context.stores.hosts.get(&observed.marker.namespace, name);
    found.ok_or_else(|| {
        ReconcileError::other(
            "find the host of a Machine",
            format!("Host {name} was deleted"),
        )
    })
}

/// Where a Machine's steps run.
pub(super) enum Site {
    Host(Arc<Host>),
    Guest(Guest),
}

impl Site {
    pub(super) async fn run(
        &self,
        hosts: &Hosts,
        script: Result<Script, RenderError>,
    ) -> Result<Vec<u8>, ContactError> {
        match self {
            Self::Host(host) => hosts.run(host.as_ref(), script).await,
            Self::Guest(guest) => hosts.run(guest, script).await,
        }
    }

    pub(super) async fn session(&self, hosts: &Hosts) -> Result<Arc<Session>, ContactError> {
        match self {
            Self::Host(host) => hosts.session(host.as_ref()).await,
            Self::Guest(guest) => hosts.session(guest).await,
        }
    }
}

/// Where the Machine's steps run, as far as it has a place.
pub(super) fn site(context: &Context, observed: &Observed) -> Result<Site, ReconcileError> {
    let Placement::Held(held) = &observed.placement else {
        return Err(ReconcileError::other(
            "find where a Machine runs",
            "nowhere",
        ));
    };
    if observed.virtual_machine.is_none() {
        return host(context, observed).map(Site::Host);
    }
    virtual_machine::guest(context, &observed.marker, held.address.clone())
        .map(Site::Guest)
        .map_err(|error| ReconcileError::other("reach a virtual machine", error))
}
