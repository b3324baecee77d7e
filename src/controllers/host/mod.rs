//! A Host: reached, clean, free; and reset when its Machine has let go.

mod execute;
mod install;
mod observe;
mod observed;
pub mod plan;
mod power;
mod released;
mod report;
mod switch;
pub mod twins;
mod underway;

pub use observed::{Consumer, Contact, Observed, Owner, Underway};

use std::sync::Arc;

use kube::runtime::controller::Action;

use super::ReconcileError;
use crate::api::Host;
use crate::manager::Context;

/// One pass over a Host.
pub async fn reconcile(host: Arc<Host>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let now = crate::clock::now();
    let observed = observe::observe(&context, host, now).await;
    let plan = plan::plan(&observed, now);
    if !plan.findings.is_empty() {
        report::write(&context, &observed, &plan, now).await?;
    }
    let next = execute::execute(&context, &observed, &plan).await?;
    Ok(plan.next.sooner(next).action())
}
