//! What a Host that is being deleted, and does not answer, waits for.

use kube::ResourceExt;

use super::super::observed::Observed;
use super::{consumer, is_deleted};
use crate::api::names::FINALIZER_IN_USE;
use crate::remedy;

/// What is added to the error; empty for a Host that can be removed, or is not being deleted.
pub fn stays(observed: &Observed) -> String {
    match consumer(observed).filter(|_| is_deleted(observed)) {
        Some(consumer) if consumer.releasing => {
            let (when, first) = if observed.consumer.exists() {
                (
                    "once it is reset",
                    ", first delete the Machine that claims it, with --wait=false, and declare it gone (tatara machine declare-gone, docs/operating.md), then",
                )
            } else {
                ("once it answers and is reset", "")
            };
            format!(
                ". The Host is removed {when}; if the server is off for good{first}: {}",
                anyway(observed)
            )
        }
        Some(consumer) if let Some(cluster) = &observed.guards => format!(
            ". The Host is being deleted, but stays as long as Machine {}, which has the control plane of Cluster {cluster}; nothing happens to it meanwhile",
            consumer.name
        ),
        Some(consumer) if observed.consumer.exists() => format!(
            ". The Host is being deleted, but stays until Machine {} has released it; nothing happens to that Machine meanwhile. To delete that Machine as well: {}",
            consumer.name,
            remedy::delete_machine(
                &observed.host.namespace().unwrap_or_default(),
                &consumer.name
            )
        ),
        _ => String::new(),
    }
}

/// The command that removes a Host at once, whatever is on its server; finalizers of others stay.
pub fn anyway(observed: &Observed) -> String {
    let finalizers = observed.host.finalizers();
    let at = finalizers.iter().position(|name| name == FINALIZER_IN_USE);
    let namespace = observed.host.namespace().unwrap_or_default();
    let name = observed.host.name_any();
    remedy::host::let_go(&namespace, &name, at.unwrap_or_default())
}
