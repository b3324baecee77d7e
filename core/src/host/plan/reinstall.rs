//! When the operating system of a host is installed: on release with `wipePolicy: reinstall`, and
//! on request by annotation. Never on a host that a Machine has, nor on one that belongs to
//! another.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Contact, Observed};
use super::{Action, Plan, State, consumer, is_deleted, power, unavailable};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason, find};
use crate::api::installation::WipePolicy;
use crate::api::names::ANNOTATION_REINSTALL;
use crate::host::PowerReading;
use crate::node::Ownership;

/// The effective `wipePolicy`. A Host that is being deleted is reset instead of reinstalled: it is
/// not used any more, and its namespace may not accept a new Secret for the keys.
pub fn policy(observed: &Observed) -> WipePolicy {
    match observed.host.spec.wipe_policy {
        WipePolicy::Reinstall if is_deleted(observed) => WipePolicy::Reset,
        policy => policy,
    }
}

/// A host that was released, and is reinstalled. First its power is cut, so that its Machine and
/// Node can be deleted: the installation takes long.
pub fn on_release(observed: &Observed, now: Timestamp) -> Plan {
    if observed.consumer.exists() && power::is_driven(observed) && strangers(observed).is_none() {
        return cut(observed, now);
    }
    if let Some(why) = obstacle(observed) {
        return unavailable(
            State::Quarantined,
            Reason::ReinstallWaits,
            format!("its operating system is to be reinstalled, as set by spec.wipePolicy: {why}"),
        );
    }
    begin("because its Machine released it, as set by spec.wipePolicy")
}

/// Cuts the power of a host that answers. A BMC that could not do that is asked again after a
/// while, and not in each pass: the pass after a failure follows it at once.
fn cut(observed: &Observed, now: Timestamp) -> Plan {
    let why = "its operating system is to be reinstalled, as set by spec.wipePolicy; first its power is cut through its BMC, so \
               that its Machine can be removed";
    let failure = |heard: &PowerReading| Some((heard.at, heard.power.clone().err()?));
    let Some((at, error)) = observed.bmc.as_ref().and_then(failure) else {
        let mut plan = unavailable(State::Releasing, Reason::Fencing, why);
        plan.actions.push(Action::Fence);
        return plan;
    };
    let wait = error.again();
    let mut plan = unavailable(
        State::Quarantined,
        Reason::FencingFailed,
        format!("{why}; that failed: {}", error.message),
    );
    plan.next = Next::After(wait);
    if now.duration_since(at) >= SignedDuration::try_from(wait).unwrap_or_default() {
        plan.actions.push(Action::Fence);
    }
    plan
}

/// A user requests an installation, by annotation.
pub fn asked(observed: &Observed, plan: &mut Plan) {
    let Some(disk) = observed.host.annotations().get(ANNOTATION_REINSTALL) else {
        return;
    };
    if let Some(why) = refusal(observed, disk) {
        let message = format!("annotation {ANNOTATION_REINSTALL} is refused: {why}");
        plan.findings
            .retain(|found| found.condition != ConditionType::Installed);
        plan.findings.push(Finding::no(
            ConditionType::Installed,
            Reason::ReinstallRefused,
            message,
        ));
        return;
    }
    let findings = std::mem::take(&mut plan.findings);
    *plan = begin("as requested by annotation");
    // what else was found stands
    let told = |finding: &Finding| {
        plan.findings
            .iter()
            .any(|f| f.condition == finding.condition)
    };
    let kept: Vec<Finding> = findings.into_iter().filter(|f| !told(f)).collect();
    plan.findings.extend(kept);
}

fn begin(why: &str) -> Plan {
    let message = format!("its operating system is reinstalled, {why}");
    let mut plan = unavailable(
        State::Installing,
        Reason::InstallationBegins,
        message.clone(),
    );
    plan.findings.push(Finding::no(
        ConditionType::Installed,
        Reason::InstallationBegins,
        message,
    ));
    plan.actions.push(Action::BeginInstallation);
    plan
}

/// Why a requested installation is refused.
fn refusal(observed: &Observed, disk: &str) -> Option<String> {
    let spec = &observed.host.spec;
    let hints = spec.root_device_hints.clone().unwrap_or_default();
    if spec.installation.is_none() {
        return Some("spec.installation is not set".into());
    }
    if !hints.is_named(disk) {
        return Some(format!(
            "its value is {disk:?}; write the serial number or WWN of spec.rootDeviceHints: all data on that disk \
             will be lost"
        ));
    }
    match consumer(observed) {
        Some(consumer) if !consumer.releasing || observed.consumer.exists() => {
            return Some(format!(
                "Machine {} claims the host; delete that Machine first",
                consumer.name
            ));
        }
        _ => {}
    }
    if is_deleted(observed) {
        return Some("the Host is being deleted".into());
    }
    obstacle(observed)
}

/// Why no installation is possible at present.
fn obstacle(observed: &Observed) -> Option<String> {
    let spec = &observed.host.spec;
    if spec.installation.is_none() || spec.root_device_hints.is_none() {
        return Some("spec.installation and spec.rootDeviceHints are not set".into());
    }
    if !observed.has_media {
        return Some(
            "the manager serves no installers; start it with --media-address and --media-url"
                .into(),
        );
    }
    if !power::is_driven(observed) {
        return Some(
            "its BMC cannot be used: spec.maintenance is true, spec.bmc is not set, or another Host has the same BMC"
                .into(),
        );
    }
    if !observed.duplicates.address.is_empty() {
        return Some("another Host names the same server".into());
    }
    strangers(observed)
}

/// Why the host is never overwritten: it has a control plane that stays, or belonged to another
/// when it last answered.
fn strangers(observed: &Observed) -> Option<String> {
    if let Some(cluster) = &observed.guards {
        return Some(format!(
            "according to its marker or to the records, it has the control plane of Cluster {cluster}; delete the Cluster first"
        ));
    }
    let whose = |what: &str| Some(format!("{what}, and is left alone; see condition Clean"));
    if let Contact::Seen(seen) = &observed.contact {
        return match &seen.owner {
            Ownership::Nobody if seen.occupied.is_empty() => None,
            Ownership::Owner(owner)
                if owner.marker.management == observed.management
                    && consumer(observed).is_some_and(|c| c.uid == owner.marker.uid) =>
            {
                None
            }
            _ => whose("its marker, or the Kubernetes on it, belongs to something else"),
        };
    }
    was_anothers(observed)
}

/// That the host belonged to another when it last answered, where it did.
pub(super) fn was_anothers(observed: &Observed) -> Option<String> {
    let status = observed.host.status.as_ref()?;
    let clean = find(&status.conditions, ConditionType::Clean)?;
    let is_strange = Reason::parse(&clean.reason)?.is_of_strange_host();
    is_strange.then(|| {
        "when it last answered, its marker, or the Kubernetes on it, belonged to something else, and is left alone; see condition Clean".into()
    })
}
