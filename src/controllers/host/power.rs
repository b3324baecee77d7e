//! When the BMC of a Host is contacted: when the host does not answer, when it was last reported
//! off, and once with new BMC settings. Never while the host is healthy.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::Hosts;
use tatara_core::api::conditions::{ConditionType, Reason, Status, find, is_true, reason_of};
use tatara_core::api::{Host, Machine};
use tatara_core::host::{Contact, PowerReading, PowerState};

/// How long a power reading is valid; a BMC that did not answer is not contacted for the same time.
const STANDS: Duration = Duration::from_mins(1);
/// Retry interval of an unreachable BMC of a healthy host.
const TRY_AGAIN: Duration = Duration::from_mins(5);

/// The power state in the Host's status.
#[derive(Clone, Copy, Debug)]
pub struct Stands {
    /// It was off at the last reading.
    pub is_off: bool,
    /// It stays off: free and powered off by us. The reading of a fenced host is verified soon: its
    /// Machine deletes its Node on that basis, and an operator or a restored mains supply may have
    /// powered it on.
    pub is_left: bool,
}

impl Stands {
    /// Reads the status.
    pub fn of(host: &Host) -> Self {
        let conditions = host.status.as_ref().map(|s| s.conditions.as_slice());
        let conditions = conditions.unwrap_or_default();
        let power =
            find(conditions, ConditionType::PowerOn).filter(|power| power.status == Status::False);
        let goes_off = host.spec.bmc.as_ref();
        let goes_off = goes_off.is_some_and(|bmc| bmc.power_off_when_released);
        let is_free = host.spec.consumer_ref.is_none() && is_true(conditions, ConditionType::Clean);
        Self {
            is_off: power.is_some(),
            is_left: power.is_some_and(|power| power.reason == Reason::SwitchedOff)
                && is_free
                && goes_off,
        }
    }
}

/// Whether the Machine that holds a host reports it unreachable, or the host was unreachable when
/// it was last contacted.
pub fn is_missed(host: &Host, machine: Option<&Machine>) -> bool {
    let (Some(_), Some(status)) = (&host.spec.bmc, &host.status) else {
        return false;
    };
    let is_silent = find(&status.conditions, ConditionType::Reachable)
        .is_some_and(|c| c.status == Status::False);
    let conditions = machine.and_then(|machine| machine.status.as_ref());
    let conditions = conditions.map_or(&[][..], |status| status.conditions.as_slice());
    let is = |name: ConditionType, reasons: &[Reason]| {
        reason_of(conditions, name).is_some_and(|reason| reasons.contains(&reason))
    };
    is_silent
        || is(ConditionType::NodeHealthy, &[Reason::NodeUnknown])
        || is(
            ConditionType::InfrastructureReady,
            &[
                Reason::SshUnreachable,
                Reason::SshDisconnected,
                Reason::HostHangs,
            ],
        )
}

/// Observes the host; reads its BMC before if the host was off, and after if the host does not
/// answer.
pub async fn ask(
    controller: &Hosts,
    host: &Host,
    stands: Stands,
    now: Timestamp,
) -> (Contact, Vec<String>) {
    if stands.is_left {
        return (Contact::Off, Vec::new());
    }
    let was_off = stands.is_off || fresh(controller, host, now).is_some_and(|heard| is_off(&heard));
    if was_off && is_off(&heard(controller, host, now).await) {
        return (Contact::Off, Vec::new());
    }
    let (contact, keys) = controller.hosts.ask(host).await;
    match &contact {
        Contact::Failed(error) if error.is_silence() => {
            let heard = heard(controller, host, now).await;
            let contact = if is_off(&heard) {
                Contact::Off
            } else {
                contact
            };
            (contact, keys)
        }
        _ => (contact, keys),
    }
}

/// Contacts a BMC once with new settings, so that users see whether they work
/// before they are needed. An unreachable BMC is retried after a while.
pub async fn make_known(controller: &Hosts, host: &Host, now: Timestamp) {
    let asked_with = controller.bmcs.asked_with(host);
    let is_due = match controller.bmcs.last(host) {
        Some(heard) if heard.asked_with == asked_with => {
            heard.power.is_err_and(|error| error.transient) && !is_younger(heard.at, TRY_AGAIN, now)
        }
        Some(_) => true,
        None => !is_known(host, &asked_with),
    };
    if is_due {
        controller.bmcs.power(host, now).await;
    }
}

/// Whether an earlier manager used these settings, and was answered or refused.
fn is_known(host: &Host, asked_with: &str) -> bool {
    let Some(status) = &host.status else {
        return false;
    };
    let said = find(&status.conditions, ConditionType::BMCReachable);
    let is_said =
        said.is_some_and(|c| c.status == Status::True || c.reason == Reason::BMCLoginRefused);
    let was = status
        .bmc
        .as_ref()
        .and_then(|bmc| bmc.asked_with.as_deref());
    is_said && was == Some(asked_with)
}

fn is_younger(at: Timestamp, than: Duration, now: Timestamp) -> bool {
    now.duration_since(at) < SignedDuration::try_from(than).unwrap_or_default()
}

/// The power reading: a recent one, or else a new one.
async fn heard(controller: &Hosts, host: &Host, now: Timestamp) -> PowerReading {
    match fresh(controller, host, now) {
        Some(heard) => heard,
        None => controller.bmcs.power(host, now).await,
    }
}

/// A recent power reading with the current settings.
fn fresh(controller: &Hosts, host: &Host, now: Timestamp) -> Option<PowerReading> {
    let asked_with = controller.bmcs.asked_with(host);
    let last = controller.bmcs.last(host);
    last.filter(|heard| heard.asked_with == asked_with && is_younger(heard.at, STANDS, now))
}

fn is_off(heard: &PowerReading) -> bool {
    heard.power == Ok(PowerState::Off)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A condition with status False.
    fn no(name: &str, reason: &str) -> Value {
        json!({"type": name, "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z"})
    }

    #[test]
    fn a_host_of_which_its_machine_does_not_hear_is_missed_whatever_its_server_does() {
        let reachable = json!({"type": "Reachable", "status": "True", "reason": "Answered", "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z"});
        let bmc =
            json!({"address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"}, "tls": {}});
        let host = |bmc: &Value, reachable: &Value| -> Host {
            let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
                "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}, "bmc": bmc,
                    "consumerRef": {"name": "w-0", "uid": "m", "cluster": "a"}},
                "status": {"conditions": [reachable]}});
            serde_json::from_value(host).unwrap()
        };
        let machine = |condition: Value| -> Machine {
            let machine = json!({"metadata": {"name": "w-0", "uid": "m"}, "spec": {},
                "status": {"conditions": [condition]}});
            serde_json::from_value(machine).unwrap()
        };
        let hangs = no("Reachable", "HostHangs");
        for (case, bmc, reachable, condition, missed) in [
            (
                "all is well",
                &bmc,
                &reachable,
                no("Ready", "Draining"),
                false,
            ),
            (
                "its sshd answers and no script ends",
                &bmc,
                &hangs,
                no("Ready", "Draining"),
                true,
            ),
            (
                "its Machine found that before it did",
                &bmc,
                &reachable,
                no("InfrastructureReady", "HostHangs"),
                true,
            ),
            (
                "off, or its network is away",
                &bmc,
                &reachable,
                no("InfrastructureReady", "SshUnreachable"),
                true,
            ),
            (
                "its connections break",
                &bmc,
                &reachable,
                no("InfrastructureReady", "SshDisconnected"),
                true,
            ),
            (
                "only its Node is silent",
                &bmc,
                &reachable,
                no("NodeHealthy", "NodeUnknown"),
                true,
            ),
            (
                "its Node is not ready",
                &bmc,
                &reachable,
                no("NodeHealthy", "NodeNotReady"),
                false,
            ),
            (
                "no BMC to fence it by",
                &Value::Null,
                &hangs,
                no("Ready", "Draining"),
                false,
            ),
        ] {
            let (host, machine) = (host(bmc, reachable), machine(condition));
            assert_eq!(is_missed(&host, Some(&machine)), missed, "{case}");
        }
        assert!(is_missed(&host(&bmc, &hangs), None), "its Machine is gone");
        let mut unseen = host(&bmc, &hangs);
        unseen.status = None;
        assert!(!is_missed(&unseen, None), "never looked at");
    }

    #[test]
    fn only_a_free_host_that_was_switched_off_by_us_is_believed_to_be_off() {
        let of = |reason: &str, consumer: &Value| {
            let condition = |name: &str, status: &str, reason: &str| {
                json!({"type": name, "status": status, "reason": reason, "message": "",
                    "lastTransitionTime": "2027-01-15T08:00:00Z"})
            };
            let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
                "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}, "consumerRef": consumer,
                    "bmc": {"address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"}, "tls": {},
                        "powerOffWhenReleased": true}},
                "status": {"conditions": [condition("PowerOn", "False", reason), condition("Clean", "True", "Clean")]}});
            let stands = Stands::of(&serde_json::from_value(host).unwrap());
            (stands.is_off, stands.is_left)
        };
        let released = json!({"name": "w-0", "uid": "m", "cluster": "a", "releasing": true});
        for (reason, consumer, is_left) in [
            ("SwitchedOff", &Value::Null, true),
            ("SwitchedOff", &released, false),
            ("PoweredOff", &Value::Null, false),
            ("Fenced", &released, false),
        ] {
            assert_eq!(of(reason, consumer), (true, is_left), "{reason}");
        }
    }
}
