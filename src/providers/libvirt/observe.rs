//! Observes a Machine's virtual machine, as its hypervisor's gateway reports it.

use std::collections::HashMap;
use tatara_core::Why;
use tatara_core::api::conditions::Reason;

use kube::ResourceExt;

use super::silence::{is_connecting, silent_since};
use super::{Guest, Keys, Libvirt, Reservation, domain_name};
use crate::providers::Place;
use tatara_core::Key;
use tatara_core::api::names::{
    ANNOTATION_HYPERVISOR, ANNOTATION_PAUSED, LABEL_CLUSTER, ssh_secret,
};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Hypervisor, LibvirtMachineProviderSpec, Machine, MachineProviderSpec};
use tatara_core::host::ContactError;
use tatara_core::hypervisor::{Connectivity, View};
use tatara_core::machine::live::keys::{is_of, may_be_used, recorded};
use tatara_core::machine::plan::failure_domain_spread::kind_of;
use tatara_core::machine::plan::placement::{self, Candidate, Demand, choose};
use tatara_core::machine::{
    Contact, GatewayView, Infrastructure, Observed, Placement, Stuck, VirtualMachine, must_ask,
};
use tatara_core::node::Marker;
use tatara_core::remedy;
use tatara_core::wire::{Image, ImageState};

/// Where the virtual machine of a Machine is, or would be created. Its guest is contacted only if
/// the plan needs that.
pub(super) async fn observe(libvirt: &Libvirt, observed: &Observed) -> Place {
    let mut machine = virtual_machine(libvirt, observed);
    if let Some(machine) = &mut machine {
        ask_whether_gone(libvirt, observed, machine).await;
    }
    let mut placement = placement(libvirt, observed, machine.as_ref());
    if let Placement::Held(held) = &mut placement
        && held.address.is_some()
        && must_ask(observed)
    {
        let unreachable = |error: ContactError| Contact::Unreachable {
            reason: error.reason,
            message: error.message,
        };
        held.contact = match guest(libvirt, &observed.marker, held.address.clone()) {
            Ok(guest) => match libvirt.hosts.observe(&guest).await {
                Ok(seen) => Contact::Seen(Box::new(seen)),
                Err(error) => unreachable(error),
            },
            Err(error) => unreachable(error),
        };
    }
    Place {
        virtual_machine: machine,
        ..placement.into()
    }
}

/// The virtual machine of a Machine, once its Hypervisor is chosen. A Machine on a Host has none,
/// whatever Hypervisor it names: that Hypervisor's gateway would prove that the Machine runs
/// nowhere.
fn virtual_machine(libvirt: &Libvirt, observed: &Observed) -> Option<VirtualMachine> {
    let namespace = &observed.marker.namespace;
    let keys = libvirt
        .engine
        .stores
        .credentials
        .get(namespace, &ssh_secret(&observed.marker.machine));
    let keys = keys.filter(|keys| is_of(keys, observed.uid()));
    let recorded = keys.as_ref().and_then(|keys| recorded(keys));
    let annotation = observed.machine.annotations().get(ANNOTATION_HYPERVISOR);
    let hypervisor = annotation.or(recorded.as_ref())?.clone();
    let image = match &observed.spec {
        Ok(MachineProviderSpec::Libvirt(spec)) => {
            Some((&spec.root_disk.image.sha256, &spec.root_disk.pool))
        }
        _ => None,
    };
    let told = view(libvirt, &observed.marker.namespace, &hypervisor).and_then(|view| {
        let machine = view.machine(observed.uid());
        match &view.unreadable {
            // the malformed part may be this virtual machine
            Some(why) if machine.is_none() => Err(Why::new(
                Reason::UnreadableAnswer,
                format!("Hypervisor {hypervisor}: its gateway sent a malformed answer: {why}"),
            )
            .remedied("upgrade tatara-gateway there to the release of the manager")),
            _ => Ok(GatewayView {
                machine,
                image: image.and_then(|(sha256, pool)| view.image(sha256, pool).cloned()),
                is_gone: false,
            }),
        }
    });
    let wants_image = told.as_ref().is_ok_and(|told| {
        let ready = |image: &Image| image.state == ImageState::Ready;
        told.machine.is_none() && !told.image.as_ref().is_some_and(ready)
    });
    let what = match image {
        Some((sha256, pool)) if wants_image => {
            image_key(&observed.marker.namespace, &hypervisor, sha256, pool)
        }
        _ => observed.uid().to_owned(),
    };
    let is_shown = told.as_ref().is_ok_and(|told| told.machine.is_some());
    let (shown_by, unheard) = if is_shown {
        (None, None)
    } else {
        others(libvirt, observed, &hypervisor)
    };
    let object = libvirt
        .engine
        .stores
        .hypervisors
        .get(namespace, &hypervisor);
    Some(VirtualMachine {
        tried: libvirt.tries.of(&what),
        held_back: object.and_then(|object| held_back(&object)),
        is_elsewhere: !is_shown && told.is_ok() && is_elsewhere(libvirt, observed, &hypervisor),
        is_connecting: is_connecting(libvirt, namespace, &hypervisor),
        hypervisor,
        told,
        recorded,
        has_keys: keys.is_some_and(|keys| may_be_used(&keys)),
        shown_by,
        unheard,
    })
}

/// Another Hypervisor of the namespace that reports the virtual machine, and one whose state is
/// unknown.
fn others(libvirt: &Libvirt, observed: &Observed, here: &str) -> (Option<String>, Option<String>) {
    let (mut shown_by, mut unheard) = (None, None);
    let namespace = &observed.marker.namespace;
    for other in libvirt.engine.stores.hypervisors.within(namespace) {
        let name = other.name_any();
        if name == here {
            continue;
        }
        let connection = libvirt.gateways.get(namespace, &name);
        let view = connection.map(|connection| connection.view());
        match view {
            Some(view) if view.machine(observed.uid()).is_some() => shown_by = Some(name),
            Some(view)
                if view.connectivity == Connectivity::Connected && view.unreadable.is_none() => {}
            _ => unheard = Some(name),
        }
    }
    (shown_by, unheard)
}

fn is_elsewhere(libvirt: &Libvirt, observed: &Observed, here: &str) -> bool {
    let Ok(MachineProviderSpec::Libvirt(spec)) = &observed.spec else {
        return false;
    };
    if observed.is_deleting() {
        return false;
    }
    let candidates = candidates(libvirt, observed, &libvirt.reservations.lock());
    placement::is_elsewhere(spec, &candidates, here)
}

/// Asks the gateway directly whether a Machine in deletion that its view does not show (any more)
/// has no virtual machine.
async fn ask_whether_gone(libvirt: &Libvirt, observed: &Observed, machine: &mut VirtualMachine) {
    let Ok(told) = &mut machine.told else { return };
    if !observed.is_deleting() || told.machine.is_some() {
        return;
    }
    let namespace = &observed.marker.namespace;
    let Some(connection) = libvirt.gateways.get(namespace, &machine.hypervisor) else {
        return;
    };
    let there = connection.client().machine(observed.uid()).await;
    told.is_gone = matches!(there, Ok(None));
}

/// Key under which attempts to download an image are counted.
pub(super) fn image_key(namespace: &str, hypervisor: &str, sha256: &str, pool: &str) -> String {
    format!("{namespace}/{hypervisor}/{pool}/{sha256}")
}

fn view(libvirt: &Libvirt, namespace: &str, hypervisor: &str) -> Result<View, Why> {
    let away = |reason, why: &str| Why::new(reason, format!("Hypervisor {hypervisor}: {why}"));
    if libvirt
        .engine
        .stores
        .hypervisors
        .get(namespace, hypervisor)
        .is_none()
    {
        let missing = away(
            Reason::HypervisorMissing,
            "does not exist in this namespace",
        );
        return Err(missing.remedied("create it again, with its gateway's URL. Only if that server never comes back: delete the Machine (--wait=false), and declare it gone: tatara machine declare-gone (docs/virtual-machines.md)"));
    }
    let Some(connection) = libvirt.gateways.get(namespace, hypervisor) else {
        return Err(
            away(Reason::HypervisorUnreachable, "is not connected").remedied(format!(
                "its conditions say why: {}",
                remedy::describe("hypervisor", namespace, hypervisor)
            )),
        );
    };
    let view = connection.view();
    match &view.connectivity {
        Connectivity::Connected => Ok(view),
        Connectivity::Connecting => Err(away(
            Reason::HypervisorUnreachable,
            "its gateway has not answered yet",
        )),
        Connectivity::Disconnected { reason, why, .. } => Err(away(*reason, why)),
    }
}

/// Where a Machine with this spec runs, or is to run, without contacting its guest.
fn placement(
    libvirt: &Libvirt,
    observed: &Observed,
    machine: Option<&VirtualMachine>,
) -> Placement {
    let is_deleting = observed.is_deleting();
    match (machine, &observed.spec) {
        (Some(found), _) => match &found.told {
            Ok(told) if told.machine.is_none() && is_deleting => {
                Placement::None(Err(Why::new(Reason::VirtualMachineGone, String::new())))
            }
            told => Placement::Held(Infrastructure {
                name: domain_name(&observed.marker),
                address: told.as_ref().ok().and_then(address),
                releasing: false,
                contact: Contact::NotAsked,
                power: None,
                why: None,
                strange: None,
                stuck: told
                    .as_ref()
                    .err()
                    .map(|_| Stuck::Silent(silent_since(libvirt, observed, &found.hypervisor))),
            }),
        },
        (None, Ok(MachineProviderSpec::Libvirt(spec))) => {
            let reservations = libvirt.reservations.lock();
            let candidates = candidates(libvirt, observed, &reservations);
            Placement::None(choose(spec, &candidates, observed.uid()))
        }
        (None, _) => Placement::None(Err(Why::new(Reason::InvalidConfiguration, String::new()))),
    }
}

fn address(told: &GatewayView) -> Option<String> {
    told.machine.as_ref()?.address().map(str::to_owned)
}

/// All Hypervisors of a Machine's namespace, with their used capacity.
pub(super) fn candidates(
    libvirt: &Libvirt,
    observed: &Observed,
    reservations: &HashMap<String, Reservation>,
) -> Vec<Candidate> {
    let marker = &observed.marker;
    let left = libvirt.tries.of(observed.uid()).left;
    let hypervisors = libvirt.engine.stores.hypervisors.within(&marker.namespace);
    hypervisors
        .iter()
        .filter(|hypervisor| unreadable(hypervisor.as_ref()).is_none())
        .map(|hypervisor| Candidate {
            was_left: left.contains(&hypervisor.name_any()),
            ..candidate(libvirt, hypervisor, observed, reservations)
        })
        .collect()
}

fn candidate(
    libvirt: &Libvirt,
    hypervisor: &Hypervisor,
    observed: &Observed,
    reservations: &HashMap<String, Reservation>,
) -> Candidate {
    let (namespace, name) = (
        hypervisor.namespace().unwrap_or_default(),
        hypervisor.name_any(),
    );
    let (cluster, own) = (
        &observed.marker.cluster,
        observed.machine.is_control_plane(),
    );
    let view = view(libvirt, &namespace, &name).ok();
    let placed = libvirt
        .engine
        .stores
        .machines
        .by(&Key::Hypervisor(namespace.clone(), name.clone()));
    let mut candidate = Candidate {
        uid: hypervisor.uid().unwrap_or_default(),
        labels: hypervisor.labels().clone(),
        failure_domain: hypervisor.spec.failure_domain.clone(),
        held_back: held_back(hypervisor),
        capacity: view.as_ref().and_then(|view| view.capacity.clone()),
        ..Candidate::default()
    };
    for machine in &placed {
        if machine
            .labels()
            .get(LABEL_CLUSTER)
            .is_some_and(|label| label == cluster)
        {
            candidate.crowd.count(own, kind_of(machine));
        }
        let uid = machine.uid().unwrap_or_default();
        let is_made = view
            .as_ref()
            .is_some_and(|view| view.machine(&uid).is_some());
        if let (false, Some(spec)) = (is_made, libvirt_spec(machine)) {
            candidate.reserved += Demand::of(&spec);
        }
    }
    let is_new = |uid: &str| {
        !placed
            .iter()
            .any(|machine| machine.uid().as_deref() == Some(uid))
    };
    for (_, reservation) in reservations.iter().filter(|(uid, reservation)| {
        reservation.namespace == namespace && reservation.hypervisor == name && is_new(uid)
    }) {
        candidate.reserved += reservation.demand;
        if reservation.cluster == *cluster {
            candidate
                .crowd
                .count(own, Some(reservation.is_control_plane));
        }
    }
    candidate.name = name;
    candidate
}

fn held_back(hypervisor: &Hypervisor) -> Option<&'static str> {
    if hypervisor.metadata.deletion_timestamp.is_some() {
        Some("being deleted")
    } else if hypervisor.annotations().contains_key(ANNOTATION_PAUSED) {
        Some("paused")
    } else {
        hypervisor.spec.maintenance.then_some("in maintenance")
    }
}

fn libvirt_spec(machine: &Machine) -> Option<Box<LibvirtMachineProviderSpec>> {
    match MachineProviderSpec::decode(machine.spec.provider_spec.value.as_ref()?) {
        Ok(MachineProviderSpec::Libvirt(spec)) => Some(spec),
        _ => None,
    }
}

/// The virtual machine as a server that is reached over SSH.
///
/// # Errors
/// The virtual machine has no address yet, or its Secret is missing or was changed.
pub fn guest(
    libvirt: &Libvirt,
    marker: &Marker,
    address: Option<String>,
) -> Result<Guest, ContactError> {
    let name = ssh_secret(&marker.machine);
    let secret = libvirt
        .engine
        .stores
        .credentials
        .get(&marker.namespace, &name);
    let keys = secret.as_deref().and_then(Keys::of).ok_or_else(|| ContactError {
        reason: Reason::KeysMissing,
        message: format!(
            "Secret {name} with the SSH keys of the virtual machine is missing or was changed, so SSH login is impossible; the node itself keeps running. Restore that Secret from a backup, or delete the Machine (with an only control plane, the state of its cluster is lost)"
        ),
        transient: true,
    })?;
    Ok(Guest {
        namespace: marker.namespace.clone(),
        address: address.ok_or_else(|| ContactError {
            reason: Reason::WaitingForAddress,
            message: "the virtual machine has no address yet".into(),
            transient: true,
        })?,
        host_key: keys.host_public,
        secret: name,
    })
}
