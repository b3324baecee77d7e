//! Reads the view of the gateway, and connects to it if that is not done yet.

use std::sync::Arc;
use tatara_core::Why;

use kube::ResourceExt;

use super::Hypervisors;
use crate::gateway::{ConnectionKey, Credentials};
use tatara_core::Key;
use tatara_core::api::Hypervisor;
use tatara_core::api::given_up::{self, AbandonError, AbandonedMachines};
use tatara_core::hypervisor::live::is_ours;
use tatara_core::hypervisor::{AbandonedMachine, Observed, View};

/// Gathers the facts for a pass over a Hypervisor.
pub fn observe(controller: &Hypervisors, hypervisor: Arc<Hypervisor>) -> Observed {
    let (namespace, name) = (
        hypervisor.namespace().unwrap_or_default(),
        hypervisor.name_any(),
    );
    let gateway = view(controller, &hypervisor, &namespace, &name);
    let given_up = given_up(controller, &hypervisor, gateway.as_ref().ok());
    let known = given_up.as_deref().unwrap_or_default();
    let orphans = match &gateway {
        Ok(view) => orphans(controller, view, known),
        Err(_) => Vec::new(),
    };
    let placed = Key::Hypervisor(namespace, name);
    let machines = controller.base.stores().machines.by(&placed);
    Observed {
        orphans,
        given_up,
        machines: machines.iter().map(|machine| machine.name_any()).collect(),
        gateway,
        hypervisor,
    }
}

fn view(
    controller: &Hypervisors,
    hypervisor: &Hypervisor,
    namespace: &str,
    name: &str,
) -> Result<View, Why> {
    let secret_name = &hypervisor.spec.credentials_ref.name;
    let secret = controller
        .base
        .stores()
        .gateway_credentials
        .get(namespace, secret_name);
    let key = ConnectionKey::new(namespace, name);
    let credentials = || Credentials::of(namespace, secret_name, secret.as_deref());
    let connection =
        controller
            .gateways
            .connect(&key, &hypervisor.spec.url, secret.as_deref(), credentials);
    match connection {
        Ok(connection) => Ok(connection.view()),
        Err(error) => Err(Why::new(error.reason(), error.to_string())),
    }
}

/// Key under which attempts to delete the virtual machine of an abandoned Machine are counted.
pub(super) fn tries_key(uid: &str) -> String {
    format!("given-up/{uid}")
}

fn given_up(
    controller: &Hypervisors,
    hypervisor: &Hypervisor,
    view: Option<&View>,
) -> Result<Vec<AbandonedMachine>, AbandonError> {
    let given_up = AbandonedMachines::read(given_up::annotation(hypervisor).as_deref())?;
    let abandoned = given_up.iter().map(|(uid, name)| {
        let shown = view.and_then(|view| view.machine(uid));
        AbandonedMachine {
            uid: uid.to_owned(),
            name: name.to_owned(),
            is_machine: controller.base.stores().machines.by_uid(uid).is_some(),
            is_anothers: shown.is_some_and(|shown| !is_ours(&shown, &controller.base.management)),
            tried: controller.tries.of(&tries_key(uid)),
        }
    });
    Ok(abandoned.collect())
}

fn orphans(
    controller: &Hypervisors,
    view: &View,
    given_up: &[AbandonedMachine],
) -> Vec<(String, String)> {
    let mut orphans: Vec<(String, String)> = view
        .machines()
        .filter(|shown| is_ours(shown, &controller.base.management))
        .filter(|shown| given_up.iter().all(|abandoned| abandoned.uid != shown.id))
        .filter(|shown| {
            controller
                .base
                .stores()
                .machines
                .by_uid(&shown.id)
                .is_none()
        })
        .map(|shown| (shown.id.clone(), shown.spec.name.clone()))
        .collect();
    orphans.sort();
    orphans
}
