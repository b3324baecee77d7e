//! Lists that are read live, page by page.

use std::sync::Arc;

use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::engine::{Engine, ReconcileError};
use crate::store::Item;
use tatara_core::api::Machine;

/// Page size of a list of Machines.
const PAGE: u32 = 500;

/// The Machines of a selector: objects that equal the store's share its memory.
///
/// # Errors
/// `ReconcileError::Api` when they cannot be listed.
pub async fn machines(
    engine: &Engine,
    namespace: &str,
    selector: &str,
) -> Result<Vec<Arc<Machine>>, ReconcileError> {
    let machines: Api<Item<Machine>> = Api::namespaced(engine.client.clone(), namespace);
    let mut page = ListParams::default().labels(selector).limit(PAGE);
    let mut all = Vec::new();
    loop {
        let listed = machines.list(&page).await;
        let listed = listed.map_err(ReconcileError::api("list Machines"))?;
        all.extend(listed.items.into_iter().map(|Item(machine)| {
            let stored = engine.stores.machines.get(namespace, &machine.name_any());
            let is_same = |stored: &Arc<Machine>| {
                stored.uid() == machine.uid()
                    && stored.resource_version() == machine.resource_version()
            };
            stored.filter(is_same).unwrap_or_else(|| Arc::new(machine))
        }));
        match listed.metadata.continue_ {
            Some(token) if !token.is_empty() => page.continue_token = Some(token),
            _ => return Ok(all),
        }
    }
}
