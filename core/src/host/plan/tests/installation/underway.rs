//! Each step of an installation, and how it is given up.

use super::*;
use crate::api::conditions::Reason;
use crate::api::installation::{Cause, Phase, Record};
use crate::host::{PowerReading, PowerState, Underway};
use crate::installer::{Area, AreaError, Base, BaseState, Failure, Report};

/// An installation under way in this phase.
fn underway(phase: Phase, contact: Contact) -> Observed {
    let mut observed = host(&json!({ "spec": {} }), contact);
    observed.installation = Some(Underway {
        record: Record {
            id: "i1".into(),
            phase,
            started: Time(at(0)),
            host_key: "ssh-ed25519 AAAA".into(),
            root_device_hints: observed.host.spec.root_device_hints.clone(),
            iso_sha256: Some("0".repeat(64)),
            cause: None,
            message: None,
        },
        image: None,
        is_open: true,
        report: None,
    });
    observed
}

fn booting(image: Option<BaseState>) -> Observed {
    let mut observed = underway(Phase::Booting, Contact::NotAsked);
    observed
        .installation
        .as_mut()
        .expect("it is under way")
        .image = image;
    observed
}

#[allow(clippy::unnecessary_wraps)] // as the others are
fn ready() -> Option<BaseState> {
    Some(BaseState::Ready(Base {
        file: "/i.iso".into(),
        size: 1,
        area: Area {
            offset: 0,
            size: 2048,
        },
    }))
}

fn heard(mut observed: Observed, power: Result<PowerState, Reason>, seconds: i64) -> Observed {
    observed.bmc = Some(PowerReading {
        at: at(seconds),
        asked_with: "0".into(),
        power: power.map_err(|reason| ContactError {
            reason,
            message: format!("no: {reason}"),
            transient: true,
        }),
    });
    observed
}

fn reported(report: Option<Report>, power: PowerState) -> Observed {
    let mut observed = heard(underway(Phase::Installing, Contact::NotAsked), Ok(power), 0);
    observed
        .installation
        .as_mut()
        .expect("it is under way")
        .report = report;
    observed
}

fn answering(id: Option<&str>) -> Observed {
    let mut seen = seen(Ownership::Nobody);
    seen.installation = id.map(Into::into);
    underway(Phase::Starting, Contact::Seen(Box::new(seen)))
}

/// What is done, or given up; nothing where nothing is to be done.
type Step = Option<Result<Action, Cause>>;

/// The action of a plan, without its message; nothing where it has none.
fn action(plan: &Plan) -> Step {
    assert!(plan.actions.len() < 2, "{plan:#?}");
    plan.actions.first().map(|action| match action {
        Action::GiveUpInstallation(cause, message) => {
            assert!(message.len() > 10, "{message}");
            Err(*cause)
        }
        action => Ok(action.clone()),
    })
}

#[test]
fn each_phase_has_its_next_step_and_its_end() {
    let fetch = || {
        Some(BaseState::Failed(Failure::Fetch(
            "failed to fetch it".into(),
        )))
    };
    let sum = Some(BaseState::Failed(Failure::Checksum("another sum".into())));
    let area = Some(BaseState::Failed(Failure::Area(AreaError::None)));
    let (on, off) = (PowerState::On, PowerState::Off);
    let closed = {
        let mut observed = reported(None, on);
        observed
            .installation
            .as_mut()
            .expect("it is under way")
            .is_open = false;
        observed
    };
    let go = |action| Some(Ok(action));
    // case, what is observed, what is done in time, and what when it is late
    #[rustfmt::skip]
    let cases: Vec<(&str, Observed, Step, Step)> = vec![
        ("no media", booting(None), None, Some(Err(Cause::ImageUnavailable))),
        ("fetching", booting(Some(BaseState::Fetching)), None, Some(Err(Cause::ImageUnavailable))),
        ("cannot be fetched", booting(fetch()), None, Some(Err(Cause::ImageUnavailable))),
        ("another sum", booting(sum), Some(Err(Cause::ImageWrong)), Some(Err(Cause::ImageWrong))),
        ("no area", booting(area), Some(Err(Cause::ImageUnsuitable)), Some(Err(Cause::ImageUnsuitable))),
        ("ready", booting(ready()), go(Action::BootInstaller), Some(Err(Cause::PowerRefused))),
        ("ready, refused a while ago", heard(booting(ready()), Err(Reason::PowerActionRefused), -60),
            go(Action::BootInstaller), Some(Err(Cause::PowerRefused))),
        ("ready, refused just now", heard(booting(ready()), Err(Reason::VirtualMediaRefused), 0), None, Some(Err(Cause::MediaRefused))),
        ("ready, BMC silent", heard(booting(ready()), Err(Reason::BMCUnreachable), 0), None, Some(Err(Cause::BmcSilent))),
        ("runs", reported(None, on), None, Some(Err(Cause::InstallerSilent))),
        ("runs, and we were restarted", closed, go(Action::OpenInstaller), Some(Err(Cause::InstallerSilent))),
        ("found the disk", reported(Some(Report::Started), on), None, Some(Err(Cause::InstallerSilent))),
        ("no disk", reported(Some(Report::NoDisk), off), Some(Err(Cause::NoDisk)), Some(Err(Cause::NoDisk))),
        ("several disks", reported(Some(Report::SeveralDisks), on), Some(Err(Cause::SeveralDisks)), Some(Err(Cause::SeveralDisks))),
        ("failed", reported(Some(Report::Failed), on), Some(Err(Cause::InstallerFailed)), Some(Err(Cause::InstallerFailed))),
        ("has ended", reported(Some(Report::Installed), off), go(Action::BootInstalled), go(Action::BootInstalled)),
        ("has ended, unheard", reported(None, off), go(Action::BootInstalled), go(Action::BootInstalled)),
        ("not back", underway(Phase::Starting, silent()), None, Some(Err(Cause::SystemSilent))),
        ("off again", underway(Phase::Starting, Contact::Off), go(Action::BootInstalled), Some(Err(Cause::SystemSilent))),
        ("another system", answering(None), None, Some(Err(Cause::SystemSilent))),
        ("an earlier installation", answering(Some("i0")), None, Some(Err(Cause::SystemSilent))),
        ("back", answering(Some("i1")), go(Action::EndInstallation), go(Action::EndInstallation)),
    ];
    for (case, observed, in_time, late) in cases {
        for (seconds, expected) in [(5, &in_time), (601, &late)] {
            let plan = plan(&observed, at(seconds));
            assert_eq!(&action(&plan), expected, "{case} after {seconds} s");
            assert_eq!(plan.state, State::Installing, "{case}");
            assert_eq!(finding(&plan, "Available").status, Status::False, "{case}");
            let limit = std::time::Duration::from_secs(595);
            let is_soon = matches!(plan.next, Next::After(next) if next <= limit);
            assert!(
                is_soon,
                "{case}: looked at again before the limit, {:?}",
                plan.next
            );
        }
        let mut deleted = observed.clone();
        let host = Arc::make_mut(&mut deleted.host);
        host.metadata.deletion_timestamp = Some(Time(at(0)));
        host.metadata.finalizers = Some(vec![FINALIZER_IN_USE.into()]);
        assert_eq!(
            action(&plan(&deleted, at(5))),
            Some(Err(Cause::Cancelled)),
            "{case}"
        );
        // somebody may be at its console: nothing is done, and that is said
        Arc::make_mut(&mut deleted.host).spec.maintenance = true;
        let mut kept = observed.clone();
        Arc::make_mut(&mut kept.host).spec.maintenance = true;
        for observed in [kept, deleted] {
            for seconds in [5, 601] {
                let plan = plan(&observed, at(seconds));
                expect(
                    case,
                    &plan,
                    State::Installing,
                    &[],
                    "Maintenance",
                    &["spec.maintenance"],
                );
                assert_eq!(
                    finding(&plan, "Installed").reason(),
                    "Maintenance",
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn what_failed_stays_so_until_somebody_decides_and_says_what_to_do() {
    let fail = |change: &Value| {
        let mut observed = host(change, Contact::NotAsked);
        let mut failed = underway(Phase::Failed, Contact::NotAsked);
        let record = &mut failed.installation.as_mut().expect("a record").record;
        record.cause = Some(Cause::NoDisk);
        record.message = Some("no disk".into());
        observed.installation = failed.installation;
        observed
    };
    let still = plan(&fail(&json!({ "spec": {} })), at(9_000));
    assert_eq!((still.actions.len(), still.state), (0, State::Quarantined));
    for condition in ["Available", "Installed"] {
        let said = finding(&still, condition);
        assert_eq!(
            (said.status, said.reason()),
            (Status::False, Reason::NoMatchingDisk)
        );
        assert!(said.message().starts_with(
            "no disk. To try again: kubectl -n default annotate host h0 tatara.dev/reinstall=DISK"
        ));
        assert!(
            said.message()
                .ends_with("annotate host h0 tatara.dev/installation-")
        );
    }
    let again = plan(&fail(&asked(DISK)), at(9_000));
    assert_eq!(again.actions, [Action::BeginInstallation]);
    let wrong = plan(&fail(&asked("OTHER")), at(9_000));
    assert_eq!(wrong.actions, []);
    let released = plan(&fail(&released("reinstall")), at(9_000));
    assert_eq!(
        released.actions,
        [],
        "a release does not try again by itself"
    );
    let mut deleted = fail(&json!({ "spec": {} }));
    let host = Arc::make_mut(&mut deleted.host);
    host.metadata.deletion_timestamp = Some(Time(at(0)));
    host.metadata.finalizers = Some(vec![FINALIZER_IN_USE.into()]);
    assert_eq!(plan(&deleted, at(9_000)).actions, [Action::LetGo]);
}

#[test]
fn a_record_that_cannot_be_read_has_failed_and_one_that_can_is_what_was_written() {
    let of = |text: &str| {
        let change =
            json!({ "spec": {}, "metadata": { "annotations": { ANNOTATION_INSTALLATION: text } } });
        Record::of(&host(&change, Contact::NotAsked).host).expect("a record")
    };
    assert_eq!(of("{").cause, Some(Cause::Unreadable));
    let record = underway(Phase::Installing, Contact::NotAsked)
        .installation
        .expect("a record")
        .record;
    let text = serde_json::to_string(&record).expect("text");
    assert_eq!(of(&text), record);
    assert!(
        !text.contains("token") && !text.contains("PRIVATE"),
        "{text}"
    );
}

/// An edit of a Host.
type Change = fn(&mut Observed);

#[test]
fn an_installation_ends_when_another_disk_or_installer_is_named_before_the_installer_has_ended() {
    let hints = |observed: &mut Observed| {
        let hints = &mut Arc::make_mut(&mut observed.host).spec.root_device_hints;
        hints.as_mut().expect("hints").serial_number = Some("OTHER".into());
    };
    let no_hints = |observed: &mut Observed| {
        Arc::make_mut(&mut observed.host).spec.root_device_hints = None;
    };
    let iso = |observed: &mut Observed| {
        let installation = &mut Arc::make_mut(&mut observed.host).spec.installation;
        installation.as_mut().expect("an installer").iso.sha256 = "1".repeat(64);
    };
    let changes: [(&str, Change); 3] = [
        ("spec.rootDeviceHints", hints),
        ("spec.rootDeviceHints", no_hints),
        ("spec.installation.iso.sha256", iso),
    ];
    let phases = [
        (booting(ready()), Some(Err(Cause::Cancelled))),
        (reported(None, PowerState::On), Some(Err(Cause::Cancelled))),
        (answering(Some("i1")), Some(Ok(Action::EndInstallation))),
    ];
    for (field, change) in changes {
        for (observed, expected) in &phases {
            let mut observed = observed.clone();
            change(&mut observed);
            let now = plan(&observed, at(5));
            assert_eq!(&action(&now), expected, "{field}");
            if matches!(expected, Some(Err(_))) {
                let said = finding(&now, "Installed");
                assert!(said.message().starts_with(field), "{}", said.message());
            }
        }
        // what an earlier release wrote says nothing of it
        let mut old = booting(ready());
        let record = &mut old.installation.as_mut().expect("a record").record;
        (record.root_device_hints, record.iso_sha256) = (None, None);
        change(&mut old);
        assert_eq!(action(&plan(&old, at(5))), Some(Ok(Action::BootInstaller)));
    }
}
