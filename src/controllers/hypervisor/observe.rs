//! Looks at what the gateway has told, and connects to it where that is still to be done.

use std::sync::Arc;

use kube::ResourceExt;

use super::observed::Observed;
use crate::api::Hypervisor;
use crate::gateway::{ConnectionKey, Credentials, View};
use crate::manager::Context;
use crate::provider::libvirt::LABEL_MANAGEMENT;
use crate::store::Key;

/// What a pass over a Hypervisor knows.
pub fn observe(context: &Context, hypervisor: Arc<Hypervisor>) -> Observed {
    let (namespace, name) = (
        hypervisor.namespace().unwrap_or_default(),
        hypervisor.name_any(),
    );
    let gateway = view(context, &hypervisor, &namespace, &name);
    let placed = Key::Hypervisor(namespace, name);
    let machines = context.stores.machines.by(&placed);
    Observed {
        orphans: gateway
            .as_ref()
            .map(|view| orphans(context, view))
            .unwrap_or_default(),
        machines: machines.iter().map(|machine| machine.name_any()).collect(),
        gateway,
        hypervisor,
    }
}

fn view(
    context: &Context,
    hypervisor: &Hypervisor,
    namespace: &str,
    name: &str,
) -> Result<View, (&'static str, String)> {
    let secret_name = &hypervisor.spec.credentials_ref.name;
    let secret = context
        .stores
        .gateway_credentials
        .get(namespace, secret_name);
    let key = ConnectionKey::new(namespace, name);
    let credentials = || Credentials::of(namespace, secret_name, secret.as_deref());
    let connection =
        context
            .gateways
            .connect(&key, &hypervisor.spec.url, secret.as_deref(), credentials);
    match connection {
        Ok(connection) => Ok(connection.view()),
        Err(error) => Err((error.reason(), error.to_string())),
    }
}

fn orphans(context: &Context, view: &View) -> Vec<(String, String)> {
    let ours = |labels: &std::collections::BTreeMap<String, String>| {
        labels.get(LABEL_MANAGEMENT) == Some(&context.management)
    };
    let mut orphans: Vec<(String, String)> = view
        .machines()
        .filter(|machine| ours(&machine.spec.labels))
        .filter(|machine| context.stores.machines.by_uid(&machine.id).is_none())
        .map(|machine| (machine.id.clone(), machine.spec.name.clone()))
        .collect();
    orphans.sort();
    orphans
}
