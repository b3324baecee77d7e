//! Installations: when they begin, what is next, and when they are given up.

use super::*;
use crate::api::installation::{Cause, Phase, Record};
use crate::api::names::{ANNOTATION_INSTALLATION, ANNOTATION_REINSTALL};
use crate::controllers::host::Underway;
use crate::installer::{Area, AreaError};
use crate::media::{Base, BaseState, Failure, Report};
use crate::provider::Heard;
use crate::redfish::PowerState;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

const DISK: &str = "S3Z9NB0K";

/// A host that can be installed, with these changes.
fn host(change: &Value, contact: Contact) -> Observed {
    let mut change = change.clone();
    for (field, value) in [
        (
            "bmc",
            json!({"address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"}, "tls": {"fingerprint": "sha256:00"}}),
        ),
        (
            "installation",
            json!({"iso": {"url": "http://192.0.2.1/i.iso", "sha256": "0".repeat(64)}, "timeoutSeconds": 600}),
        ),
        ("rootDeviceHints", json!({"serialNumber": DISK})),
    ] {
        if change["spec"].get(field).is_none() {
            change["spec"][field] = value;
        }
    }
    observed(&change, contact)
}

fn asked(disk: &str) -> Value {
    json!({ "spec": {}, "metadata": { "annotations": { ANNOTATION_REINSTALL: disk } } })
}

fn released(policy: &str) -> Value {
    let mut change = claim("m", true);
    change["spec"]["wipePolicy"] = policy.into();
    change
}

fn gone(mut observed: Observed) -> Observed {
    observed.consumer_exists = false;
    observed
}

fn seen_as(owner: Ownership) -> Contact {
    Contact::Seen(Box::new(seen(owner)))
}

fn silent() -> Contact {
    Contact::Failed(ContactError {
        reason: "SshUnreachable",
        message: "no answer".into(),
        transient: true,
    })
}

fn with_clean(mut observed: Observed, reason: &str) -> Observed {
    let host = Arc::make_mut(&mut observed.host);
    let status = json!({"conditions": [{"type": "Clean", "status": "False", "reason": reason, "message": "",
        "lastTransitionTime": at(0).to_string()}]});
    host.status = serde_json::from_value(status).expect("a status");
    observed
}

fn reason(plan: &Plan, condition: &str) -> &'static str {
    let found = plan
        .findings
        .iter()
        .rev()
        .find(|f| f.condition == condition);
    found.map_or("", |finding| finding.reason)
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn an_installation_begins_only_for_who_names_the_disk_of_a_host_that_nobody_has() {
    let maintenance = {
        let mut change = asked(DISK);
        change["spec"]["maintenance"] = true.into();
        change
    };
    let held = |releasing| {
        let mut change = asked(DISK);
        change["spec"]["consumerRef"] = claim("m", releasing)["spec"]["consumerRef"].clone();
        change
    };
    let deleted = {
        let mut change = asked(DISK);
        change["metadata"]["deletionTimestamp"] = at(0).to_string().into();
        change
    };
    let nobody = || seen_as(Ownership::Nobody);
    let no_media = {
        let mut observed = host(&asked(DISK), nobody());
        observed.has_media = false;
        observed
    };
    let twin = {
        let mut observed = host(&asked(DISK), silent());
        observed.twins.bmc = vec!["h9".into()];
        observed
    };
    let cases: [(&str, Observed, Option<&str>); 17] = [
        ("free", host(&asked(DISK), nobody()), None),
        (
            "named otherwise",
            host(&asked(" s3z9 nb0k"), nobody()),
            None,
        ),
        (
            "no operating system yet",
            host(&asked(DISK), silent()),
            None,
        ),
        ("off", host(&asked(DISK), Contact::Off), None),
        (
            "let go, its Machine gone",
            gone(host(&held(true), silent())),
            None,
        ),
        ("not asked", host(&json!({"spec": {}}), nobody()), Some("")),
        (
            "another disk",
            host(&asked("OTHER"), nobody()),
            Some("\"OTHER\""),
        ),
        ("no disk", host(&asked("true"), nobody()), Some("\"true\"")),
        (
            "held",
            host(&held(false), Contact::NotAsked),
            Some("Machine w-0 has"),
        ),
        (
            "let go, its Machine there",
            host(&held(true), silent()),
            Some("Machine w-0 has"),
        ),
        (
            "held by nobody",
            gone(host(&held(false), silent())),
            Some("Machine w-0 has"),
        ),
        (
            "maintenance",
            host(&maintenance, nobody()),
            Some("maintenance"),
        ),
        ("being deleted", host(&deleted, nobody()), Some("deleted")),
        ("no media", no_media, Some("--media-address")),
        (
            "two hosts of one BMC",
            twin,
            Some("another Host has that BMC"),
        ),
        (
            "somebody else's",
            host(&asked(DISK), seen_as(marked("there", "x"))),
            Some("somebody else's"),
        ),
        (
            "somebody else's when it last answered",
            with_clean(host(&asked(DISK), silent()), "Occupied"),
            Some("somebody else's when"),
        ),
    ];
    for (case, observed, refused) in cases {
        let plan = plan(&observed, at(0));
        let begins = plan.actions.contains(&Action::BeginInstallation);
        assert_eq!(begins, refused.is_none(), "{case}: {plan:#?}");
        if begins {
            assert_eq!(
                (plan.actions.len(), plan.state),
                (1, State::Installing),
                "{case}"
            );
            assert_eq!(finding(&plan, "Available").status, Status::False, "{case}");
        } else if refused != Some("") {
            let said = finding(&plan, "Installed");
            assert_eq!(said.reason, "ReinstallRefused", "{case}");
            assert!(
                said.message.contains(refused.unwrap_or_default()),
                "{case}: {}",
                said.message
            );
        }
    }
}

#[test]
fn a_released_host_is_fenced_then_installed_retained_or_reset_as_its_owner_wants() {
    let ours = || seen_as(marked("here", "m"));
    let running = || {
        let mut seen = seen(marked("here", "m"));
        seen.kubelet_active = true;
        Contact::Seen(Box::new(seen))
    };
    let stop = Action::StopKubelet(marker("here", "m"));
    let cases: [(&str, Observed, &[Action], &str); 13] = [
        (
            "reinstall",
            host(&released("reinstall"), ours()),
            &[Action::Fence],
            "Fencing",
        ),
        (
            "reinstall, clean",
            host(&released("reinstall"), seen_as(Ownership::Nobody)),
            &[Action::Fence],
            "Fencing",
        ),
        (
            "reinstall, off",
            host(&released("reinstall"), Contact::Off),
            &[],
            "Fenced",
        ),
        (
            "reinstall, off and its Machine gone",
            gone(host(&released("reinstall"), Contact::Off)),
            &[Action::BeginInstallation],
            "InstallationBegins",
        ),
        (
            "reinstall, its Machine gone",
            gone(host(&released("reinstall"), ours())),
            &[Action::BeginInstallation],
            "InstallationBegins",
        ),
        (
            "reinstall, silent",
            gone(host(&released("reinstall"), silent())),
            &[],
            "SshUnreachable",
        ),
        (
            "reinstall, another's",
            host(&released("reinstall"), seen_as(marked("there", "m"))),
            &[Action::Free],
            "Occupied",
        ),
        (
            "reinstall, another's when it last answered",
            with_clean(gone(host(&released("reinstall"), Contact::Off)), "Orphaned"),
            &[],
            "ReinstallWaits",
        ),
        (
            "retain, its kubelet runs",
            host(&released("retain"), running()),
            &[stop],
            "Retaining",
        ),
        ("retain", host(&released("retain"), ours()), &[], "Retained"),
        (
            "retain, its Machine gone",
            gone(host(&released("retain"), ours())),
            &[],
            "Retained",
        ),
        (
            "retain, off",
            gone(host(&released("retain"), Contact::Off)),
            &[],
            "Retained",
        ),
        (
            "reset",
            host(&released("reset"), ours()),
            &[Action::Reset(marker("here", "m"))],
            "Resetting",
        ),
    ];
    for (case, observed, actions, expected) in cases {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.actions, actions, "{case}");
        assert_eq!(reason(&plan, "Available"), expected, "{case}: {plan:#?}");
        assert_ne!(plan.state, State::Available, "{case}");
    }
}

/// An installation under way in this phase.
fn underway(phase: Phase, contact: Contact) -> Observed {
    let mut observed = host(&json!({ "spec": {} }), contact);
    observed.installation = Some(Underway {
        record: Record {
            id: "i1".into(),
            phase,
            started: Time(at(0)),
            host_key: "ssh-ed25519 AAAA".into(),
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

fn heard(
    mut observed: Observed,
    power: Result<PowerState, &'static str>,
    seconds: i64,
) -> Observed {
    observed.bmc = Some(Heard {
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
        ("ready, refused a while ago", heard(booting(ready()), Err("PowerActionRefused"), -60),
            go(Action::BootInstaller), Some(Err(Cause::PowerRefused))),
        ("ready, refused just now", heard(booting(ready()), Err("VirtualMediaRefused"), 0), None, Some(Err(Cause::MediaRefused))),
        ("ready, BMC silent", heard(booting(ready()), Err("BMCUnreachable"), 0), None, Some(Err(Cause::BmcSilent))),
        ("runs", reported(None, on), None, Some(Err(Cause::InstallerSilent))),
        ("runs, and we were restarted", closed, go(Action::OpenInstaller), Some(Err(Cause::InstallerSilent))),
        ("has found the disk", reported(Some(Report::Started), on), None, Some(Err(Cause::InstallerSilent))),
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
            (said.status, said.reason),
            (Status::False, "NoMatchingDisk")
        );
        assert!(said.message.starts_with(
            "no disk. To try again: kubectl -n default annotate host h0 tatara.dev/reinstall=DISK"
        ));
        assert!(
            said.message
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
    assert_eq!(plan(&deleted, at(9_000)).actions, [Action::Free]);
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
