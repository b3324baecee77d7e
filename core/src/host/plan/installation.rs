//! The next step of an installation that is under way.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Contact, Observed, Underway};
use super::{Action, Plan, State, is_deleted, unavailable};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::installation::{Cause, Installation, Phase, Record};
use crate::host::{ContactError, PowerState};
use crate::installer::{BaseState, Failure, Report};
use crate::{Next, pace, remedy};

/// The next step of an installation.
pub fn plan(observed: &Observed, underway: &Underway, now: Timestamp) -> Plan {
    let record = &underway.record;
    if record.phase == Phase::Failed {
        return failed(observed, record);
    }
    if observed.host.spec.maintenance {
        let message = "spec.maintenance is true: its power is left alone, and its installation waits until spec.maintenance is false; \
                       installation.timeoutSeconds keeps counting";
        return at_work(Reason::Maintenance, message);
    }
    if is_deleted(observed) {
        return give_up(Cause::Cancelled, "the Host is being deleted".into());
    }
    let Some(installation) = &observed.host.spec.installation else {
        let message = "spec.installation was removed while it was under way";
        return give_up(Cause::Cancelled, message.into());
    };
    if let Some(field) = changed(observed, record, installation) {
        let message = format!(
            "{field} was changed during the installation, and no installation with the new value was requested"
        );
        return give_up(Cause::Cancelled, message);
    }
    let limit = SignedDuration::from_secs(installation.timeout_seconds);
    let end = record.started.0.checked_add(limit).unwrap_or(now);
    let mut plan = match record.phase {
        Phase::Booting => booting(observed, underway, end <= now, now),
        Phase::Installing => installing(observed, underway, end <= now),
        Phase::Starting => starting(observed, record, end <= now),
        Phase::Failed => Plan::default(),
    };
    plan.next = plan.next.sooner(Next::at(Some(end), now));
    plan
}

/// What is not as it was when the installation was asked for. The installer is made of the spec of
/// now, also again when a manager starts anew: it would overwrite another disk than was named. Once
/// it has ended, that does not matter.
fn changed(
    observed: &Observed,
    record: &Record,
    installation: &Installation,
) -> Option<&'static str> {
    let hints = record.root_device_hints.as_ref();
    let sha256 = record.iso_sha256.as_ref();
    if record.phase == Phase::Starting {
        None
    } else if hints.is_some() && hints != observed.host.spec.root_device_hints.as_ref() {
        Some("spec.rootDeviceHints")
    } else if sha256.is_some_and(|sha256| *sha256 != installation.iso.sha256) {
        Some("spec.installation.iso.sha256")
    } else {
        None
    }
}

fn at_work(reason: Reason, message: impl Into<String>) -> Plan {
    let message = message.into();
    let mut plan = unavailable(State::Installing, reason, message.clone());
    plan.findings
        .push(Finding::no(ConditionType::Installed, reason, message));
    plan
}

fn give_up(cause: Cause, message: String) -> Plan {
    let mut plan = at_work(reason(cause), message.clone());
    plan.actions
        .push(Action::GiveUpInstallation(cause, message));
    plan
}

/// The reason of a condition for each cause.
pub fn reason(cause: Cause) -> Reason {
    match cause {
        Cause::ImageUnavailable => Reason::InstallerUnavailable,
        Cause::ImageWrong => Reason::InstallerWrong,
        Cause::ImageUnsuitable => Reason::InstallerUnsuitable,
        Cause::AnswersUnfit => Reason::InstallationAnswersUnfit,
        Cause::BmcSilent => Reason::InstallationBMCSilent,
        Cause::MediaRefused => Reason::InstallationMediaRefused,
        Cause::PowerRefused => Reason::InstallationPowerRefused,
        Cause::NoDisk => Reason::NoMatchingDisk,
        Cause::SeveralDisks => Reason::SeveralMatchingDisks,
        Cause::InstallerFailed => Reason::InstallerFailed,
        Cause::InstallerSilent => Reason::InstallerSilent,
        Cause::SystemSilent => Reason::InstalledSystemSilent,
        Cause::Cancelled => Reason::InstallationCancelled,
        Cause::Unreadable => Reason::InstallationUnreadable,
    }
}

/// What the BMC said last, where that was no success.
fn trouble(observed: &Observed) -> Option<&ContactError> {
    observed.bmc.as_ref()?.power.as_ref().err()
}

fn booting(observed: &Observed, underway: &Underway, is_late: bool, now: Timestamp) -> Plan {
    match &underway.image {
        None => {
            let message =
                "the manager serves no installers; start it with --media-address and --media-url";
            if is_late {
                return give_up(Cause::ImageUnavailable, message.into());
            }
            at_work(Reason::MediaNotConfigured, message)
        }
        Some(BaseState::Failed(Failure::Checksum(message))) => {
            give_up(Cause::ImageWrong, message.clone())
        }
        Some(BaseState::Failed(Failure::Area(error))) => give_up(
            Cause::ImageUnsuitable,
            format!("installation.iso.url: {error}"),
        ),
        Some(BaseState::Failed(Failure::Fetch(message))) if is_late => {
            give_up(Cause::ImageUnavailable, message.clone())
        }
        Some(BaseState::Failed(Failure::Fetch(message))) => {
            at_work(Reason::FetchingInstaller, format!("{message}; retrying"))
        }
        Some(BaseState::Fetching) if is_late => give_up(
            Cause::ImageUnavailable,
            "the installer was not fetched within installation.timeoutSeconds".into(),
        ),
        Some(BaseState::Fetching) => at_work(
            Reason::FetchingInstaller,
            "the manager fetches the installer",
        ),
        Some(BaseState::Ready(_)) => boot(observed, is_late, now),
    }
}

fn boot(observed: &Observed, is_late: bool, now: Timestamp) -> Plan {
    let mut plan = match trouble(observed) {
        Some(error) if is_late => {
            let cause = match error.reason {
                Reason::VirtualMediaRefused => Cause::MediaRefused,
                Reason::PowerActionRefused | Reason::PowerActionFailed => Cause::PowerRefused,
                _ => Cause::BmcSilent,
            };
            return give_up(cause, error.message.clone());
        }
        None if is_late => {
            let message = "the installer could not be booted within installation.timeoutSeconds";
            return give_up(Cause::PowerRefused, message.into());
        }
        Some(error) => at_work(
            Reason::BootingInstaller,
            format!("cannot boot the installer yet: {}", error.message),
        ),
        None => at_work(
            Reason::BootingInstaller,
            "booting the installer through its BMC",
        ),
    };
    let again = SignedDuration::try_from(pace::BMC).unwrap_or_default();
    let tried = observed.bmc.as_ref().filter(|heard| heard.power.is_err());
    if tried.is_none_or(|heard| now.duration_since(heard.at) >= again) {
        plan.actions.push(Action::BootInstaller);
    }
    plan
}

fn installing(observed: &Observed, underway: &Underway, is_late: bool) -> Plan {
    let hints = observed
        .host
        .spec
        .root_device_hints
        .clone()
        .unwrap_or_default();
    let disk = format!(
        "serialNumber {}, wwn {}",
        hints.serial_number.as_deref().unwrap_or("any"),
        hints.wwn.as_deref().unwrap_or("any")
    );
    if let Some(plan) = reported_failure(underway, &disk) {
        return plan;
    }
    let power = observed.bmc.as_ref().map(|heard| &heard.power);
    if power == Some(&Ok(PowerState::Off)) {
        let mut plan = at_work(
            Reason::BootingInstalled,
            "the installer switched the host off; booting the installed system through its BMC",
        );
        plan.actions.push(Action::BootInstalled);
        return plan;
    }
    if is_late {
        let message = format!(
            "the installer did not switch the host off within installation.timeoutSeconds: it was not booted (is the \
             virtual CD drive in its boot order?), reached no package mirror, or met a question that installation.preseedRef \
             has to answer; its console says which. If no disk matches spec.rootDeviceHints ({disk}), or several do, it \
             wrote nothing"
        );
        return give_up(Cause::InstallerSilent, message);
    }
    let said = match (underway.report, trouble(observed)) {
        (_, Some(error)) => format!(
            "the installer runs; its BMC does not report the power state: {}",
            error.message
        ),
        (Some(_), None) => "the installer found the disk, and is installing".into(),
        (None, None) => "the installer was booted, and has not reported yet".into(),
    };
    let mut plan = at_work(Reason::InstallerRuns, said);
    if !underway.is_open {
        plan.actions.push(Action::OpenInstaller);
    }
    plan
}

/// Ends an installation whose installer reports that it cannot install.
fn reported_failure(underway: &Underway, disk: &str) -> Option<Plan> {
    let (cause, message) = match underway.report? {
        Report::NoDisk => (
            Cause::NoDisk,
            format!(
                "the installer found no disk that matches spec.rootDeviceHints ({disk}), and wrote nothing"
            ),
        ),
        Report::SeveralDisks => (
            Cause::SeveralDisks,
            format!(
                "the installer found several disks that match spec.rootDeviceHints ({disk}), and wrote nothing"
            ),
        ),
        Report::Failed => (
            Cause::InstallerFailed,
            "the installer could not put the keys into the installed system; its console says why"
                .into(),
        ),
        Report::Started | Report::Installed => return None,
    };
    Some(give_up(cause, message))
}

fn starting(observed: &Observed, record: &Record, is_late: bool) -> Plan {
    let why = match &observed.contact {
        Contact::Seen(seen) if seen.installation.as_deref() == Some(&record.id) => {
            let mut plan = unavailable(
                State::Installing,
                Reason::InstallationEnds,
                "the installed system answers with its host key",
            );
            plan.findings.push(Finding::yes(
                ConditionType::Installed,
                Reason::Installed,
                "",
            ));
            plan.actions.push(Action::EndInstallation);
            return plan;
        }
        Contact::Seen(_) => {
            "the system that answers has another /etc/tatara-installation".to_owned()
        }
        Contact::Failed(error) => error.message.clone(),
        Contact::Off | Contact::NotAsked => "its BMC reports that it is off".to_owned(),
    };
    if is_late {
        let message = format!(
            "the installer has ended, and the installed system does not answer: {why}. Either the installer wrote nothing, \
             because no disk or several match spec.rootDeviceHints, or the system does not boot, or has another \
             address than spec.ssh.address; its console says which"
        );
        return give_up(Cause::SystemSilent, message);
    }
    let mut plan = at_work(
        Reason::StartingInstalled,
        format!("waiting for the installed system: {why}"),
    );
    if matches!(observed.contact, Contact::Off) {
        plan.actions.push(Action::BootInstalled);
    }
    plan
}

/// Nothing more is done until the user has decided.
fn failed(observed: &Observed, record: &Record) -> Plan {
    let cause = record.cause.unwrap_or(Cause::Unreadable);
    let (namespace, host) = (
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let message = format!(
        "{}. To try again: {} (serial number or WWN, as in spec.rootDeviceHints); to \
         continue with the system that is on the host: {}",
        record
            .message
            .as_deref()
            .unwrap_or("the installation failed"),
        remedy::host::reinstall(&namespace, &host),
        remedy::host::keep_system(&namespace, &host)
    );
    let mut plan = unavailable(State::Quarantined, reason(cause), message.clone());
    plan.findings.push(Finding::no(
        ConditionType::Installed,
        reason(cause),
        message,
    ));
    super::reinstall::asked(observed, &mut plan);
    plan
}
