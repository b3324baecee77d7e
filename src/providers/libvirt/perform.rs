//! Performs the actions of a plan on a virtual machine. Every request is idempotent: its id is the
//! Machine's UID.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::observe::{candidates, image_key};
use super::{Keys, Libvirt, Reservation, fetch, machine_spec, record, seed, server};
use crate::engine::{ActionOutcome, Chain, ReconcileError, patch};
use crate::gateway::{Connection, GatewayError};
use tatara_core::api::conditions::Finding;
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use tatara_core::api::{LibvirtMachineProviderSpec, Machine};
use tatara_core::machine::Observed;
use tatara_core::machine::live::keys::{Use, use_of};
use tatara_core::machine::live::virtual_machine as live;
use tatara_core::machine::plan::placement::{Demand, choose};
use tatara_core::proof::{Ended, Proof};
use tatara_core::wire::{MachineRequest, PowerAction};

/// Records the Hypervisor of the virtual machine on the Machine, by compare-and-swap, after
/// checking the choice against all current reservations.
///
/// # Errors
/// The Machine has changed, or cannot be written.
pub async fn reserve(
    libvirt: &Libvirt,
    observed: &Observed,
    spec: &LibvirtMachineProviderSpec,
) -> Result<(), ReconcileError> {
    let marker = &observed.marker;
    let chosen = {
        let mut reservations = libvirt.reservations.lock();
        reservations.remove(observed.uid());
        let candidates = candidates(libvirt, observed, &reservations);
        let Ok(hypervisor) = choose(spec, &candidates, observed.uid()) else {
            return Ok(());
        };
        let reservation = Reservation {
            namespace: marker.namespace.clone(),
            hypervisor: hypervisor.clone(),
            cluster: marker.cluster.clone(),
            is_control_plane: observed.machine.is_control_plane(),
            demand: Demand::of(spec),
        };
        reservations.insert(observed.uid().to_owned(), reservation);
        hypervisor
    };
    let placed = place(libvirt, observed, Value::String(chosen)).await;
    if placed.is_err() {
        libvirt.reservations.forget(observed.uid());
    }
    placed
}

async fn place(
    libvirt: &Libvirt,
    observed: &Observed,
    hypervisor: Value,
) -> Result<(), ReconcileError> {
    // the Machine's Node is found by the provider ID, so it is never removed
    let id = observed.provider_id().filter(|_| !hypervisor.is_null());
    let change = |_: &Machine| {
        let mut change =
            json!({ "metadata": { "annotations": { (ANNOTATION_HYPERVISOR): hypervisor } } });
        if let Some(id) = &id {
            change["spec"]["providerID"] = json!(id);
        }
        change
    };
    patch::swap(
        &libvirt.engine,
        observed.machine.as_ref(),
        live::basis,
        change,
    )
    .await
    .map(drop)
}

/// Makes the gateway download the image.
///
/// # Errors
/// The Machine's Hypervisor or image cannot be determined.
pub async fn fetch_image(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let (spec, connection, hypervisor) = match parts(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => return Ok(ActionOutcome::NotYet(finding)),
    };
    let sha256 = &spec.root_disk.image.sha256;
    let image = image_key(
        &observed.marker.namespace,
        hypervisor,
        sha256,
        &spec.root_disk.pool,
    );
    let answer = connection.client().fetch_image(sha256, &fetch(spec)).await;
    Ok(tried(libvirt, observed, &image, answer.map(drop)))
}

/// Creates the virtual machine, with its own keys.
///
/// # Errors
/// The Machine has changed, or its keys or seed cannot be created.
pub async fn create(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let (spec, connection, hypervisor) = match parts(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => return Ok(ActionOutcome::NotYet(finding)),
    };
    let machine = patch::live(&libvirt.engine, observed.machine.as_ref()).await?;
    if !live::may_create(&machine, hypervisor) {
        return Err(ReconcileError::Conflict {
            what: format!("Machine {} was modified concurrently", machine.name_any()),
        });
    }
    let keys = keys(libvirt, observed, hypervisor).await?;
    let seed = seed(&observed.marker, spec, &keys).map_err(|error| {
        ReconcileError::other("render the seed of a virtual machine", Chain(&error))
    })?;
    let body = MachineRequest {
        spec: machine_spec(&observed.marker, spec),
        seed: Some(seed),
    };
    let answer = connection.client().create(observed.uid(), &body).await;
    libvirt.tries.forget(&image_key(
        &observed.marker.namespace,
        hypervisor,
        &spec.root_disk.image.sha256,
        &spec.root_disk.pool,
    ));
    Ok(tried(libvirt, observed, observed.uid(), answer.map(drop)))
}

/// Unassigns the Machine from its Hypervisor, after a direct request shows no virtual machine there
/// and a delete request has removed disks of earlier attempts. A create request that is still
/// running completes first and is deleted as well.
///
/// # Errors
/// The Machine cannot be read or written.
pub async fn leave(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let (connection, hypervisor) = match gateway(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => return Ok(ActionOutcome::NotYet(finding)),
    };
    let uid = observed.uid();
    let there = match connection.client().machine(uid).await {
        Ok(shown) if live::may_leave(shown.as_ref()) => connection.client().delete(uid).await,
        Ok(_) => return Ok(ActionOutcome::Yes),
        Err(error) => Err(error),
    };
    let Some(over) = Proof::of_gateway(uid, &there)
        .as_ref()
        .and_then(Ended::from)
    else {
        return Ok(tried(libvirt, observed, uid, there));
    };
    // the annotation is removed last: while it exists, an interrupted pass repeats everything
    record::forget(libvirt, observed).await?;
    place_nowhere(libvirt, observed, &over).await?;
    libvirt.reservations.forget(uid);
    libvirt.tries.leave(uid, hypervisor);
    Ok(ActionOutcome::Yes)
}

async fn place_nowhere(
    libvirt: &Libvirt,
    observed: &Observed,
    ended: &Ended,
) -> Result<(), ReconcileError> {
    if !ended.is_about(observed.uid()) {
        return Ok(());
    }
    place(libvirt, observed, Value::Null).await
}

/// The keys in the Machine's Secret, which is created if it does not exist.
async fn keys(
    libvirt: &Libvirt,
    observed: &Observed,
    hypervisor: &str,
) -> Result<Keys, ReconcileError> {
    let name = ssh_secret(&observed.marker.machine);
    let secrets: Api<Secret> =
        Api::namespaced(libvirt.engine.client.clone(), &observed.marker.namespace);
    let failed = |what: &str| ReconcileError::api(format!("{what} Secret {name}"));
    let found = secrets.get_opt(&name).await.map_err(failed("read"))?;
    let secret = if let Some(secret) = found {
        secret
    } else {
        let mut made = Keys::generate(observed.machine.as_ref())
            .map_err(|why| ReconcileError::other("create the keys of a virtual machine", why))?;
        let place = (ANNOTATION_HYPERVISOR.to_owned(), hypervisor.to_owned());
        made.metadata.annotations = Some([place].into());
        secrets
            .create(&PostParams::default(), &made)
            .await
            .map_err(failed("create"))?
    };
    let secret = match use_of(&secret, observed.uid(), hypervisor) {
        Use::Named => secret,
        Use::Unnamed => record::write(libvirt, &secret, hypervisor).await?,
        // it may have the virtual machine
        Use::Other(other) => {
            return Err(ReconcileError::Conflict {
                what: format!(
                    "create a virtual machine on Hypervisor {hypervisor}: Secret {name} names {other}"
                ),
            });
        }
        Use::Anothers => {
            return Err(ReconcileError::other(
                "create the keys of a virtual machine",
                format!(
                    "Secret {name} belongs to another object, such as an earlier Machine of this name; the virtual machine is created once that Secret is deleted"
                ),
            ));
        }
    };
    Keys::of(&secret).ok_or_else(|| {
        ReconcileError::other(
            "read the keys of a virtual machine",
            format!("Secret {name} has other data; delete it, and it is created again"),
        )
    })
}

/// Starts or resumes the virtual machine.
///
/// # Errors
/// The Machine's Hypervisor cannot be determined.
pub async fn switch(
    libvirt: &Libvirt,
    observed: &Observed,
    action: PowerAction,
) -> Result<ActionOutcome, ReconcileError> {
    let (connection, _) = match gateway(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => return Ok(ActionOutcome::NotYet(finding)),
    };
    let answer = connection.client().power(observed.uid(), action).await;
    Ok(tried(libvirt, observed, observed.uid(), answer))
}

/// Removes the seed, with its keys, from the hypervisor; if that is not possible yet, a later plan
/// repeats it.
///
/// # Errors
/// The Machine's Hypervisor cannot be determined.
pub async fn remove_seed(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let (connection, hypervisor) = match gateway(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => return Ok(ActionOutcome::NotYet(finding)),
    };
    if let Err(error) = connection.client().remove_seed(observed.uid()).await {
        tracing::info!(hypervisor, %error, "failed to remove the seed of a virtual machine; retrying");
    }
    Ok(ActionOutcome::Yes)
}

/// Deletes the virtual machine and its disks.
///
/// # Errors
/// The Machine's Hypervisor cannot be determined.
pub async fn release(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let (connection, _) = match gateway(libvirt, observed) {
        Ok(parts) => parts,
        Err(finding) => {
            let finding = live::not_deleted(observed, finding.reason(), &finding.message());
            return Ok(ActionOutcome::NotYet(finding));
        }
    };
    match connection.client().delete(observed.uid()).await {
        Ok(()) => {
            if let tatara_core::machine::Placement::Held(held) = &observed.placement
                && let Some(address) = &held.address
            {
                let place = server::place(&observed.marker.namespace, address);
                libvirt.hosts.forget_guest(&place);
            }
            libvirt.tries.forget(observed.uid());
            Ok(ActionOutcome::Yes)
        }
        Err(error) => {
            let finding = live::not_deleted(observed, error.reason(), &error.to_string());
            libvirt.tries.again(observed.uid(), Some(finding.clone()));
            Ok(ActionOutcome::NotYet(finding))
        }
    }
}

type Parts<'a> = (&'a LibvirtMachineProviderSpec, Arc<Connection>, &'a str);

fn parts<'a>(libvirt: &Libvirt, observed: &'a Observed) -> Result<Parts<'a>, Finding> {
    let (connection, hypervisor) = gateway(libvirt, observed)?;
    Ok((live::spec(observed)?, connection, hypervisor))
}

fn gateway<'a>(
    libvirt: &Libvirt,
    observed: &'a Observed,
) -> Result<(Arc<Connection>, &'a str), Finding> {
    let hypervisor = live::asked(observed)?.hypervisor.as_str();
    let namespace = &observed.marker.namespace;
    let connection = libvirt.gateways.get(namespace, hypervisor);
    Ok((connection.ok_or_else(live::unplaced)?, hypervisor))
}

/// Counts the attempt, and returns the cause if it was refused.
fn tried(
    libvirt: &Libvirt,
    observed: &Observed,
    what: &str,
    answer: Result<(), GatewayError>,
) -> ActionOutcome {
    let refused = answer
        .err()
        .map(|error| live::refused(observed, error.reason(), &error.to_string()));
    libvirt.tries.again(what, refused.clone());
    refused.map_or(ActionOutcome::Yes, ActionOutcome::NotYet)
}
