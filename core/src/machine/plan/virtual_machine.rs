//! A Machine's virtual machine: created, switched on, reached; and the findings about its faults.
//! Preparation and kubeadm are the same as on any host.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, GatewayView, Infrastructure, Observed, VirtualMachine};
use super::deletion::after_deletion;
use super::{Acquire, Action, Plan, Power, correct, hypervisor};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::remedy;
use crate::wire::{Image, ImageCode, ImageState, Machine, MachineState};
use crate::{AttemptRecord, Next, backoff, pace};

/// The condition of the virtual machine itself.
const INFRASTRUCTURE: ConditionType = ConditionType::InfrastructureReady;

/// Tries at a hypervisor before another is chosen: what fails once may be under way there.
const TRIES: u32 = 3;

/// What has to be done to the virtual machine, or waited for, before anything else; nothing when it
/// runs and has an address.
pub fn plan(observed: &Observed, machine: &VirtualMachine, now: Timestamp) -> Option<Plan> {
    let told = match &machine.told {
        Ok(told) => told,
        Err(refusal) => return Some(Plan::waiting(refusal.finding(INFRASTRUCTURE))),
    };
    match &told.machine {
        // one that another Hypervisor shows may be the live node
        None if machine.shown_by.is_none() && may_have_been_a_node(observed) => Some(waiting(
            Reason::VirtualMachineGone,
            gone(observed, &machine.hypervisor),
        )),
        // it may be there, and would be made twice
        None if let Some(why) = hypervisor::doubt(observed) => {
            Some(waiting(Reason::HypervisorMoved, why))
        }
        None => Some(leave(machine, told).unwrap_or_else(|| make(observed, machine, told, now))),
        Some(shown) if shown.incomplete && !may_have_been_a_node(observed) => {
            Some(make(observed, machine, told, now))
        }
        Some(shown) => standing(machine, shown, now),
    }
}

/// Whether it runs and has an address, so that nothing has to be done to it.
pub fn is_up(observed: &Observed, machine: &VirtualMachine) -> bool {
    let shown = machine.told.as_ref().ok();
    shown
        .and_then(|told| told.machine.as_ref())
        .is_some_and(|shown| {
            let is_made = !shown.incomplete || may_have_been_a_node(observed);
            is_made && shown.state == MachineState::Running && shown.address().is_some()
        })
}

/// Whether it may have been a node, which is not created again: its disk does not exist any more.
fn may_have_been_a_node(observed: &Observed) -> bool {
    observed.is_begun()
}

/// What is said of a virtual machine that was a node, and does not exist any more.
fn gone(observed: &Observed, hypervisor: &str) -> String {
    let what = format!(
        "its virtual machine no longer exists on Hypervisor {hypervisor}, and a Machine is never built twice"
    );
    let (marker, after) = (&observed.marker, after_deletion(observed));
    let delete = remedy::machine::delete(&marker.namespace, &marker.machine);
    if observed.acts_as_control_plane() {
        format!(
            "{what}. Of several control planes, while etcd has its quorum, delete this Machine ({after}): {delete}. An only one had the only copy of the state of Cluster {}: bring its disk and definition back there, or delete the Cluster, which resets all its machines, and apply it again",
            marker.cluster
        )
    } else {
        format!("{what}. Delete this Machine ({after}): {delete}")
    }
}

fn waiting(reason: Reason, message: impl Into<String>) -> Plan {
    Plan::waiting(Finding::no(INFRASTRUCTURE, reason, message))
}

/// Nothing of it is there yet, nothing can be made there, and another Hypervisor would take it.
/// Whether really nothing of it exists is read live before it leaves.
fn leave(machine: &VirtualMachine, told: &GatewayView) -> Option<Plan> {
    let full = |finding: &Finding| finding.reason() == Reason::InsufficientCapacity;
    let refused = machine.tried.refused.as_ref();
    let why = match (machine.held_back, refused) {
        // somebody else was faster there: even where all are full it waits for any of them
        (_, Some(refused)) if full(refused) => refused.message(),
        _ if !machine.is_elsewhere => return None,
        (Some(why), _) => format!("Hypervisor {} is {why}", machine.hypervisor),
        _ if machine.tried.times < TRIES => return None,
        (None, Some(refused)) if is_of_hypervisor(refused.reason()) => refused.message(),
        _ => image_failed_here(told)?,
    };
    let message = format!("{why}; nothing of it was created there: choosing another Hypervisor");
    Some(Plan::act(
        Action::Acquire(Acquire::Elsewhere),
        Finding::no(INFRASTRUCTURE, Reason::LeavingHypervisor, message),
    ))
}

/// Whether another hypervisor may answer otherwise. One that does not answer shows nothing of what
/// is there.
fn is_of_hypervisor(reason: Reason) -> bool {
    let of_answer = [
        Reason::SpecDiffers,
        Reason::HypervisorUnreachable,
        Reason::CertificateUnknown,
        Reason::Unauthorized,
        Reason::TokenExpired,
        Reason::UnreadableAnswer,
        Reason::LibvirtUnavailable,
    ];
    !of_answer.contains(&reason)
}

/// Why the image could not be had there, unless the image itself is at fault.
fn image_failed_here(told: &GatewayView) -> Option<String> {
    let image = told.image.as_ref()?;
    let error = image.error.as_ref()?;
    let is_image = matches!(
        ImageCode::parse(&error.code),
        Some(ImageCode::ChecksumMismatch | ImageCode::ImageRefused)
    );
    let is_here = image.state == ImageState::Failed && !is_image;
    is_here.then(|| format!("its image could not be downloaded: {}", error.detail))
}

fn make(observed: &Observed, machine: &VirtualMachine, told: &GatewayView, now: Timestamp) -> Plan {
    let hypervisor = &machine.hypervisor;
    let fetching = |message: String| Finding::no(INFRASTRUCTURE, Reason::FetchingImage, message);
    match &told.image {
        None => paced(
            &machine.tried,
            Action::Acquire(Acquire::Image),
            fetching(format!("Hypervisor {hypervisor} downloads the image")),
            now,
        ),
        Some(image) => match image.state {
            ImageState::Fetching | ImageState::Other => Plan::waiting(fetching(format!(
                "Hypervisor {hypervisor} downloads the image: {}",
                progress(image)
            ))),
            ImageState::Failed => {
                let (code, why) = match &image.error {
                    Some(error) => (ImageCode::parse(&error.code), error.detail.as_str()),
                    None => (None, "it does not say why"),
                };
                let reason = match code {
                    Some(ImageCode::ChecksumMismatch) => Reason::ImageChecksumDiffers,
                    Some(ImageCode::DiskFull) => Reason::StorageFull,
                    _ => Reason::ImageFailed,
                };
                let remedy = if reason == Reason::StorageFull {
                    "free space in its storage pool there".to_owned()
                } else {
                    let correct = correct::remedy(&observed.machine);
                    format!("if url or sha256 of rootDisk.image is wrong, {correct}")
                };
                let message = format!(
                    "Hypervisor {hypervisor} failed to download the image: {why}. It is retried; {remedy}"
                );
                paced(
                    &machine.tried,
                    Action::Acquire(Acquire::Image),
                    Finding::no(INFRASTRUCTURE, reason, message),
                    now,
                )
            }
            ImageState::Ready => paced(
                &machine.tried,
                Action::Acquire(Acquire::Machine),
                Finding::no(
                    INFRASTRUCTURE,
                    Reason::CreatingVirtualMachine,
                    format!("creating the virtual machine on Hypervisor {hypervisor}"),
                ),
                now,
            ),
        },
    }
}

fn progress(image: &Image) -> String {
    let mib = image.received_bytes >> 20;
    match image.total_bytes {
        Some(total) => format!("{mib} of {} MiB", total >> 20),
        None => format!("{mib} MiB"),
    }
}

fn standing(machine: &VirtualMachine, shown: &Machine, now: Timestamp) -> Option<Plan> {
    let name = format!(
        "virtual machine {} on Hypervisor {}",
        shown.spec.name, machine.hypervisor
    );
    let switch = |action, reason, message: String| {
        Some(paced(
            &machine.tried,
            action,
            Finding::no(INFRASTRUCTURE, reason, message),
            now,
        ))
    };
    match shown.state {
        MachineState::Off => switch(
            Action::Power(Power::On),
            Reason::VirtualMachineOff,
            format!("{name} is off; switching it on. To keep it off, pause the Machine"),
        ),
        MachineState::Crashed => switch(
            Action::Power(Power::On),
            Reason::VirtualMachineCrashed,
            format!("{name} crashed; switching it on"),
        ),
        MachineState::Paused if shown.state_reason.as_deref() == Some("ioerror") => switch(
            Action::Power(Power::Resume),
            Reason::StorageFull,
            format!(
                "{name} is paused after a disk write error; free space in its storage pool on the hypervisor: it is then resumed"
            ),
        ),
        MachineState::Paused => switch(
            Action::Power(Power::Resume),
            Reason::VirtualMachinePaused,
            format!("{name} is paused; resuming it. To keep it paused, pause the Machine"),
        ),
        MachineState::ShuttingDown => Some(waiting(
            Reason::VirtualMachineOff,
            format!("{name} is shutting down"),
        )),
        MachineState::Unknown => Some(waiting(
            Reason::VirtualMachineUnknown,
            without_state(&name, shown.unreadable),
        )),
        MachineState::Running if shown.address().is_none() => Some(waiting(
            Reason::WaitingForAddress,
            format!(
                "{name} runs, but has no address yet; if this persists, check on its console that its image runs cloud-init and that its network answers DHCP"
            ),
        )),
        MachineState::Running => None,
    }
}

fn without_state(name: &str, is_unreadable: bool) -> String {
    if is_unreadable {
        return format!(
            "{name} exists, but its gateway cannot read its definition; inspect it on the hypervisor with virsh"
        );
    }
    format!("libvirt does not report the state of {name}; inspect it on the hypervisor with virsh")
}

/// An action that is retried with back-off; meanwhile the last refusal is reported. The next pass
/// is scheduled in any case, because the gateway sends no event if the same attempt fails in the
/// same way.
fn paced(tried: &AttemptRecord, action: Action, finding: Finding, now: Timestamp) -> Plan {
    let finding = tried.refused.clone().unwrap_or(finding);
    let wait = backoff::left(tried.times, 1.0, tried.last, now);
    if wait.is_zero() {
        return Plan {
            next: Next::After(backoff::delay(tried.times.saturating_add(1), 1.0)),
            ..Plan::act(action, finding)
        };
    }
    Plan {
        next: Next::After(wait),
        ..Plan::waiting(finding)
    }
}

/// Before the first login, a virtual machine that does not answer is starting: it is queried again
/// soon, because its sshd starts a moment after it has an address.
pub fn starting(observed: &Observed, held: &Infrastructure) -> Option<Plan> {
    let Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message,
    } = &held.contact
    else {
        return None;
    };
    let shown = shown(observed).filter(|shown| shown.seed)?;
    let message = format!(
        "virtual machine {} is starting, and SSH login is not possible yet; if this persists, check its console: {message}",
        shown.spec.name
    );
    Some(waiting(Reason::WaitingForSsh, message))
}

fn shown(observed: &Observed) -> Option<&Machine> {
    let told = observed.virtual_machine.as_ref()?.told.as_ref().ok()?;
    told.machine.as_deref()
}

/// The seed, with its keys, leaves the hypervisor once we are in. The guest may still have hold of
/// it: then it is tried again, and nothing waits for it.
pub fn remove_seed(observed: &Observed, held: &Infrastructure, plan: &mut Plan) {
    let is_attached = shown(observed).is_some_and(|shown| shown.seed);
    let is_in = matches!(held.contact, Contact::Seen(_)) || observed.known_node().is_some();
    if is_attached && is_in {
        plan.actions.insert(0, Action::Acquire(Acquire::RemoveSeed));
        plan.next = plan.next.sooner(Next::After(pace::GATEWAY));
    }
}

/// If a Node exists, it shows the state of the Machine; a fault of the virtual machine is reported
/// beside it, and resolved if possible. While the Node is healthy, a gateway that does not answer
/// is reported on the Hypervisor only: a restart of the gateway does not affect Machines.
pub fn beside_node(mut running: Plan, trouble: Plan, is_told: bool) -> Plan {
    let is_well = |finding: &Finding| {
        finding.condition == ConditionType::NodeHealthy && finding.status == Status::True
    };
    if !is_told && running.findings.iter().any(is_well) {
        return running;
    }
    running
        .findings
        .retain(|finding| finding.condition != INFRASTRUCTURE);
    running.findings.splice(0..0, trouble.findings);
    running.actions.splice(0..0, trouble.actions);
    running.next = trouble.next;
    running
}
