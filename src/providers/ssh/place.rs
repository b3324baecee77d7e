//! The Host that a Machine holds, chose, or could claim.

use std::sync::Arc;
use tatara_core::Why;

use kube::ResourceExt;

use super::{Server, Ssh, claims, target};
use crate::providers::Place;
use crate::store::Kind;
use tatara_core::api::conditions::{ConditionType, Reason, Status, find, is_true, reason_of};
use tatara_core::api::host::{ConsumerRef, MarkerReference};
use tatara_core::api::names::{ANNOTATION_HOST, LABEL_CLUSTER};
use tatara_core::api::{Host, MachineProviderSpec, SshMachineProviderSpec};
use tatara_core::host::PowerState;
use tatara_core::machine::kind::PlaceKind;
use tatara_core::machine::plan::claim::{self, Chooser};
use tatara_core::machine::plan::failure_domain_spread::kind_of;
use tatara_core::machine::{
    Contact, HostChoice, Infrastructure, Observed, Placement, Stuck, Unheld,
};
use tatara_core::machine::{Released, must_ask, must_ask_released};
use tatara_core::node::{Marker, Ownership};

/// The Host that the Machine holds, contacted only if the plan needs that; without one, the Host
/// that it could claim.
pub(super) async fn observe(ssh: &Ssh, observed: &Observed) -> Place {
    if let Some(host) = held_host(ssh, &observed.marker) {
        return Placement::Held(held(ssh, observed, &host).await).into();
    }
    let choice = match &observed.spec {
        Ok(MachineProviderSpec::Ssh(spec)) => {
            let hosts = ssh.engine.stores.hosts.within(&observed.marker.namespace);
            choose(ssh, observed, spec, &hosts)
        }
        _ => Err(Why::new(Reason::InvalidConfiguration, String::new())),
    };
    Placement::None(choice).into()
}

/// Chooses a Host that no other Machine has just chosen, or one that another has, where there is no
/// other. One that another has chosen counts as claimed by it, also in its failure domain.
fn choose(
    ssh: &Ssh,
    observed: &Observed,
    spec: &SshMachineProviderSpec,
    hosts: &[Arc<Host>],
) -> Result<String, Why> {
    let (
        Marker {
            namespace, cluster, ..
        },
        uid,
    ) = (&observed.marker, observed.uid());
    let among =
        |hosts: &[Arc<Host>]| claim::choose(spec, hosts, chooser(observed), |host| kind(ssh, host));
    let has_chosen = observed.machine.annotations().contains_key(ANNOTATION_HOST);
    if has_chosen || observed.is_begun() || observed.is_deleting() {
        return among(hosts); // it claims another one, or none
    }
    let now = crate::clock::now();
    ssh.choices.choose((namespace, uid), now, |taken_by| {
        let seen = hosts.iter().map(|host| {
            let is_free = host.spec.consumer_ref.is_none();
            let Some(by) = taken_by(&host.name_any()).filter(|_| is_free) else {
                return host.clone();
            };
            let mut host = host.as_ref().clone();
            host.spec.consumer_ref = Some(claim_to_come(ssh, by, cluster));
            Arc::new(host)
        });
        let seen: Vec<Arc<Host>> = seen.collect();
        among(&seen).or_else(|_| among(hosts))
    })
}

/// The claim of a Machine that has chosen a Host. One that the store does not show counts as of
/// this cluster.
fn claim_to_come(ssh: &Ssh, uid: String, cluster: &str) -> ConsumerRef {
    let machine = ssh.engine.stores.machines.by_uid(&uid);
    let labels = machine.as_ref().map(|machine| machine.labels());
    let label = labels.and_then(|labels| labels.get(LABEL_CLUSTER));
    ConsumerRef {
        cluster: label.map_or(cluster, String::as_str).to_owned(),
        name: machine.map_or(String::new(), |machine| machine.name_any()),
        uid,
        ..ConsumerRef::default()
    }
}

fn chooser(observed: &Observed) -> Chooser<'_> {
    Chooser {
        cluster: &observed.marker.cluster,
        uid: observed.uid(),
        is_control_plane: observed.machine.is_control_plane(),
    }
}

/// Whether the Machine that claims a Host is a control plane; `None` if that Machine is gone or
/// cannot be read.
fn kind(ssh: &Ssh, host: &Host) -> Option<bool> {
    kind_of(&*claims::machine(&ssh.engine.stores.machines, host)?)
}

/// The Host that the Machine chose. If the Machine neither holds it nor can claim it, the Host is
/// contacted: only its server shows whether anything of this Machine is there.
pub(super) async fn chosen(
    ssh: &Ssh,
    observed: &Observed,
    placement: &Placement,
) -> Option<HostChoice> {
    let annotations = observed.machine.annotations();
    let (namespace, uid) = (&observed.marker.namespace, observed.uid());
    let name = match annotations.get(ANNOTATION_HOST) {
        Some(name) => name.clone(),
        // a Machine on a virtual machine has chosen no Host, even if its guest is registered as one
        None if observed.kind() == Ok(Some(PlaceKind::VirtualMachine)) => return None,
        // the annotation may have been removed; the marker on the server remains
        None => marked(&ssh.engine.stores.hosts, namespace, uid)?,
    };
    let host = ssh
        .engine
        .stores
        .hosts
        .get(&observed.marker.namespace, &name);
    let now = match (host, placement) {
        (_, Placement::Held(_)) => Unheld::Held,
        (None, _) => Unheld::Missing,
        (Some(host), _) if is_free(observed, &host) => Unheld::Free,
        (Some(host), _) => {
            let contact = match off(&host) {
                Some(contact) => contact,
                None => ask(ssh, host.as_ref()).await,
            };
            match &host.spec.consumer_ref {
                Some(other) if other.uid != uid => Unheld::Taken(other.name.clone(), contact),
                _ => Unheld::Asked(contact),
            }
        }
    };
    Some(HostChoice { host: name, now })
}

/// The Host whose server has the marker of a Machine that does not claim it. This comes from the
/// status, which can be edited: it may prevent an action, and never permit one.
fn marked(hosts: &Kind<Host>, namespace: &str, uid: &str) -> Option<String> {
    let hosts = hosts.within(namespace);
    let is_its = |host: &Arc<Host>| marker(host).is_some_and(|marker| marker.uid == uid);
    let its = hosts.iter().find(|host| is_its(host));
    its.map(|host| host.name_any())
}

/// The same, or an orphan whose marker no release that reports it has read yet: it may be of any
/// Machine.
pub fn perhaps_marked(hosts: &Kind<Host>, namespace: &str, uid: &str) -> Option<String> {
    marked(hosts, namespace, uid).or_else(|| {
        let hosts = hosts.within(namespace);
        let orphan = hosts
            .iter()
            .find(|host| is_orphan(host) && marker(host).is_none());
        orphan.map(|host| host.name_any())
    })
}

fn marker(host: &Host) -> Option<&MarkerReference> {
    host.status.as_ref()?.marker.as_ref()
}

fn is_orphan(host: &Host) -> bool {
    let status = host.status.as_ref();
    status.and_then(|status| reason_of(&status.conditions, ConditionType::Clean))
        == Some(Reason::Orphaned)
}

fn is_free(observed: &Observed, host: &Arc<Host>) -> bool {
    let Ok(MachineProviderSpec::Ssh(spec)) = &observed.spec else {
        return false;
    };
    let alone = std::slice::from_ref(host);
    !observed.is_deleting() && claim::choose(spec, alone, chooser(observed), |_| None).is_ok()
}

fn held_host(ssh: &Ssh, marker: &Marker) -> Option<Arc<Host>> {
    let host = claims::only(&ssh.engine.stores.hosts, marker);
    if host.is_some() {
        // the store shows the claim, so it is no longer pending
        ssh.claims().remove(&marker.uid);
    }
    host
}

/// The host of a claim that the store does not show yet. A claim that it shows, or whose Host is
/// deleted, is no longer pending.
pub(super) fn claiming(ssh: &Ssh, namespace: &str, uid: &str) -> Option<String> {
    let mut claims = ssh.claims();
    let claim = claims.get(uid)?;
    let host = ssh.engine.stores.hosts.get(namespace, &claim.host);
    if host.is_some_and(|host| host.metadata.generation < claim.generation) {
        return Some(claim.host.clone());
    }
    claims.remove(uid);
    None
}

async fn held(ssh: &Ssh, observed: &Observed, host: &Host) -> Infrastructure {
    let releasing = host
        .spec
        .consumer_ref
        .as_ref()
        .is_some_and(|consumer| consumer.releasing);
    let stuck = stuck(host).filter(|_| releasing);
    let address = target::node_address(host);
    let asks = if releasing {
        let released = Released {
            address: &address,
            stuck,
            is_freed: is_freed(host),
        };
        must_ask_released(observed, released, crate::clock::now())
    } else {
        must_ask(observed)
    };
    let is_silent = matches!(stuck, Some(Stuck::Silent(_)));
    let power = match stuck {
        Some(Stuck::Fenced | Stuck::Retained) if host.spec.bmc.is_some() => {
            Some(power(ssh, host).await)
        }
        _ => None,
    };
    Infrastructure {
        name: host.name_any(),
        address: Some(address),
        releasing,
        // that it is off may be as old as that it is silent
        contact: match off(host).filter(|_| !is_silent) {
            _ if !asks => Contact::NotAsked,
            Some(contact) => contact,
            None => {
                let contact = ask(ssh, host).await;
                tell_host(ssh, host, observed, &contact);
                contact
            }
        },
        stuck,
        power,
        why: match stuck {
            Some(stuck) => why(host, stuck),
            None => fault(host).filter(|_| !releasing),
        },
        strange: strange(host),
    }
}

/// Wakes the Host's controller if the Machine observed a problem that the Host's conditions do not
/// show.
fn tell_host(ssh: &Ssh, host: &Host, observed: &Observed, contact: &Contact) {
    let trouble = match contact {
        Contact::Unreachable { .. } => Some(ConditionType::Reachable),
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => owner.marker.uid != observed.uid(),
            Ownership::Unreadable(_) => true,
            // the marker exists before kubeadm starts
            Ownership::Nobody => !seen.occupied.is_empty() || observed.is_begun(),
        }
        .then_some(ConditionType::Clean),
        Contact::NotAsked | Contact::SelfRegistering(_) => None,
    };
    let conditions = host.status.as_ref().map(|s| s.conditions.as_slice());
    let conditions = conditions.unwrap_or_default();
    if trouble.is_some_and(|condition| is_true(conditions, condition)) {
        ssh.hosts.doubt(host);
        ssh.wakers.hosts.wake_object(host);
    }
}

/// Reads the power state from the BMC: the condition may be old, even from an earlier manager.
async fn power(ssh: &Ssh, host: &Host) -> Result<PowerState, String> {
    let heard = ssh.bmcs.power(host, crate::clock::now()).await;
    if heard.power != Ok(PowerState::Off) {
        // its own controller updates the condition, and that wakes the Machine
        ssh.wakers.hosts.wake_object(host);
    }
    heard.power.map_err(|error| error.message)
}

/// Whether its own controller reports that it is reset and waits for its Machine to be deleted, or
/// that it will not be reset because of the control plane that its marker names.
fn is_freed(host: &Host) -> bool {
    let conditions = host
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice());
    let available = find(conditions.unwrap_or_default(), ConditionType::Available);
    available.is_some_and(|found| {
        matches!(
            Reason::parse(&found.reason),
            Some(Reason::Freeing | Reason::LastControlPlane)
        )
    })
}

/// A host that is off is not contacted; its own controller powers it on.
fn off(host: &Host) -> Option<Contact> {
    host.spec.bmc.as_ref()?;
    let power = find(&host.status.as_ref()?.conditions, ConditionType::PowerOn)?;
    (power.status == Status::False).then(|| Contact::Unreachable {
        reason: Reason::HostOff,
        message: format!("Host {} is off: {}", host.name_any(), power.message),
    })
}

/// Why a reset makes no progress, as reported by the host's own controller.
fn stuck(host: &Host) -> Option<Stuck> {
    let conditions = &host.status.as_ref()?.conditions;
    let power = find(conditions, ConditionType::PowerOn).filter(|_| host.spec.bmc.is_some());
    if power.is_some_and(|power| power.status == Status::False && power.reason == Reason::Fenced) {
        return Some(Stuck::Fenced);
    }
    let silent = find(conditions, ConditionType::Reachable)
        .filter(|reachable| reachable.status == Status::False);
    if let Some(silent) = silent {
        return Some(Stuck::Silent(silent.last_transition_time.0));
    }
    let available = find(conditions, ConditionType::Available)?;
    if available.reason == Reason::Retained {
        return Some(Stuck::Retained);
    }
    match Reason::parse(&available.reason)? {
        Reason::ResetFailed | Reason::FencingFailed | Reason::ReinstallWaits | Reason::NotReset => {
            Some(Stuck::ResetFails)
        }
        Reason::WaitingForStep => Some(Stuck::Waits),
        Reason::Orphaned | Reason::Occupied | Reason::Paused => Some(Stuck::LeftAlone),
        _ => None,
    }
}

/// Reason and message of the corresponding condition.
fn why(host: &Host, stuck: Stuck) -> Option<(String, String)> {
    let name = match stuck {
        Stuck::Silent(_) => ConditionType::Reachable,
        Stuck::ResetFails | Stuck::Waits | Stuck::LeftAlone => ConditionType::Available,
        Stuck::Fenced | Stuck::Retained => return None,
    };
    let said = find(&host.status.as_ref()?.conditions, name)?;
    Some((said.reason.clone(), said.message.clone()))
}

/// Why what is on a host is not its consumer's, as its own controller saw it last: silence since
/// then hides nothing of that.
fn strange(host: &Host) -> Option<String> {
    let clean = find(&host.status.as_ref()?.conditions, ConditionType::Clean)?;
    let reason = Reason::parse(&clean.reason).filter(|_| clean.status == Status::False)?;
    reason.is_of_strange_host().then(|| clean.message.clone())
}

/// The fault of a host that a Machine holds.
fn fault(host: &Host) -> Option<(String, String)> {
    let ready = find(&host.status.as_ref()?.conditions, ConditionType::Ready)?;
    (ready.status == Status::False).then(|| (ready.reason.clone(), ready.message.clone()))
}

async fn ask(ssh: &Ssh, host: &impl Server) -> Contact {
    match ssh.hosts.observe(host).await {
        Ok(observation) => Contact::Seen(Box::new(observation)),
        Err(error) => Contact::Unreachable {
            reason: error.reason,
            message: error.message,
        },
    }
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod silence;

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
