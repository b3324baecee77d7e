//! Machines that a user marked to go first, where a scale-down may take from one set or another.
//! The cluster-autoscaler marks one, and lowers the number right after that.

use std::sync::Arc;

use kube::core::Selector;

use crate::controllers::ownership::ProviderObject;
use crate::controllers::paged_list;
use crate::engine::{Engine, ReconcileError};
use crate::store::Stores;
use tatara_core::Key;
use tatara_core::api::Machine;
use tatara_core::machine_deployment::Observed;
use tatara_core::machine_set::Owner;

/// Counts those that the watch shows, where they matter.
pub fn shown(stores: &Stores, observed: &mut Observed) {
    if observed.may_choose() {
        let of = |uid: &str| stores.machines.by(&Key::Owner(uid.to_owned()));
        count(stores, observed, of);
    }
}

/// Counts those that exist at this moment: the number that is wanted was read live, and the watch
/// of Machines may be behind it.
///
/// # Errors
/// `ReconcileError::Api` when the Machines cannot be listed.
pub async fn live(engine: &Engine, observed: &mut Observed) -> Result<(), ReconcileError> {
    if !observed.may_choose() {
        return Ok(());
    }
    let selector = Selector::try_from(observed.selector.clone()).unwrap_or_default();
    let all = paged_list::machines(engine, &observed.namespace, &selector.to_string()).await?;
    let of = |uid: &str| -> Vec<Arc<Machine>> {
        let own = all.iter();
        let own = own.filter(|one| Owner::of(&one.metadata, uid) == Owner::Ours);
        own.cloned().collect()
    };
    count(&engine.stores, observed, of);
    Ok(())
}

fn count(stores: &Stores, observed: &mut Observed, of: impl Fn(&str) -> Vec<Arc<Machine>>) {
    for set in &mut observed.sets {
        let machines = of(&set.uid);
        let ours = machines.iter().filter(|one| one.is_ours(stores));
        set.count_marked(ours.map(AsRef::as_ref));
    }
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
