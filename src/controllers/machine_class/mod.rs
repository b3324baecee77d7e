//! MachineClass: resolved by its users; protected from deletion while there are any.

mod resolve;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::base::Base;
use crate::engine::{ActionOutcome, COUNTS_TOGETHER, Controller, Engine, ReconcileError, patch};
use tatara_core::Key;
use tatara_core::api::MachineClass;
use tatara_core::api::names::LABEL_CLASS_IN_USE;
use tatara_core::machine_class::plan::{self, Action, Observed, Plan};

pub use resolve::{resolve, usable};

/// The controller of MachineClasses.
pub struct MachineClasses {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
}

impl Controller for MachineClasses {
    type Object = MachineClass;
    type Observed = Observed;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "machine-class";
    const TOGETHER: Duration = COUNTS_TOGETHER;

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, class: &MachineClass) -> bool {
        self.base.is_held(class).await
    }

    async fn is_ours(&self, class: &Arc<MachineClass>) -> Result<bool, ReconcileError> {
        self.base.is_ours(class).await
    }

    async fn observe(
        &self,
        class: &Arc<MachineClass>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        let key = Key::Class(class.namespace().unwrap_or_default(), class.name_any());
        let stores = self.base.stores();
        let is_used = !stores.machine_deployments.by(&key).is_empty()
            || !stores.machine_sets.by(&key).is_empty()
            || !stores.machines.by(&key).is_empty();
        let class = class.clone();
        Ok(Observed { class, is_used })
    }

    fn plan(observed: &Observed, _: Timestamp) -> Plan {
        plan::plan(observed)
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        let (engine, class) = (&self.base.engine, observed.class.as_ref());
        match action {
            Action::Label(is_used) => {
                let value = if *is_used { json!("true") } else { Value::Null };
                let change = json!({ "metadata": { "labels": { (LABEL_CLASS_IN_USE): value } } });
                patch::write(engine, class, change).await?;
            }
            Action::Hold(is_used) => drop(patch::hold(engine, class, *is_used).await?),
        }
        Ok(ActionOutcome::Yes)
    }

    fn reported(_: &MachineClass) -> Option<&()> {
        None
    }

    fn status(_: &MachineClass, _: &Observed, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}
