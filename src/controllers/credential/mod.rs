//! Credentials of hosts, of their BMCs and of gateways: protected with a finalizer while a claimed
//! host, or a Hypervisor with Machines, uses them. Without them that host could not be reset, nor
//! those virtual machines deleted.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::base::Base;
use crate::engine::{ActionOutcome, COUNTS_TOGETHER, Controller, Engine, ReconcileError, patch};
use tatara_core::Key;
use tatara_core::credential::plan::{self, Action, Observed, Plan};

/// What a Secret gives access to, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Hosts or their BMCs: `kubernetes.io/ssh-auth`, `kubernetes.io/basic-auth`.
    Hosts,
    /// Gateways: `tatara.dev/gateway`.
    Hypervisors,
}

/// The controller of Secrets of one type.
pub struct Credentials {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The kind of their users.
    pub of: Of,
}

impl Credentials {
    fn is_needed(&self, secret: &Secret) -> bool {
        let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
        let (stores, key) = (self.base.stores(), Key::Secret(namespace.clone(), name));
        match self.of {
            Of::Hosts => {
                let hosts = stores.hosts.by(&key);
                hosts.iter().any(|host| host.spec.consumer_ref.is_some())
            }
            Of::Hypervisors => {
                let hypervisors = stores.hypervisors.by(&key);
                hypervisors.iter().any(|hypervisor| {
                    let placed = Key::Hypervisor(namespace.clone(), hypervisor.name_any());
                    !stores.machines.by(&placed).is_empty()
                })
            }
        }
    }
}

impl Controller for Credentials {
    type Object = Secret;
    type Observed = Observed;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "credential";
    const TOGETHER: Duration = COUNTS_TOGETHER;

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, secret: &Secret) -> bool {
        self.base.is_held(secret).await
    }

    async fn observe(
        &self,
        secret: &Arc<Secret>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        Ok(Observed {
            secret: secret.clone(),
            is_needed: self.is_needed(secret),
        })
    }

    fn plan(observed: &Observed, _: Timestamp) -> Plan {
        plan::plan(observed)
    }

    async fn perform(
        &self,
        observed: &Observed,
        Action::Hold(is_needed): &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        patch::hold(&self.base.engine, observed.secret.as_ref(), *is_needed).await?;
        Ok(ActionOutcome::Yes)
    }

    fn reported(_: &Secret) -> Option<&()> {
        None
    }

    fn status(_: &Secret, _: &Observed, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}
