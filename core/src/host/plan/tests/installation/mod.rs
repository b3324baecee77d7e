//! Installations: when they begin; their steps are in `underway`.

mod underway;

use super::*;
use crate::api::conditions::Reason;
use crate::api::names::{ANNOTATION_INSTALLATION, ANNOTATION_REINSTALL};
use crate::host::PowerReading;
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
    observed.consumer = Consumer::Missing;
    observed
}

fn seen_as(owner: Ownership) -> Contact {
    Contact::Seen(Box::new(seen(owner)))
}

fn silent() -> Contact {
    Contact::Failed(ContactError {
        reason: Reason::SshUnreachable,
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
    found.map_or("", |finding| finding.reason().as_str())
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
        observed.duplicates.bmc = vec!["h9".into()];
        observed
    };
    let cases: Vec<(&str, Observed, Option<&str>)> = vec![
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
            Some("Machine w-0 claims"),
        ),
        (
            "let go, its Machine there",
            host(&held(true), silent()),
            Some("Machine w-0 claims"),
        ),
        (
            "held by nobody",
            gone(host(&held(false), silent())),
            Some("Machine w-0 claims"),
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
            Some("another Host has the same BMC"),
        ),
        (
            "somebody else's",
            host(&asked(DISK), seen_as(marked("there", "x"))),
            Some("its marker, or the Kubernetes on it, belongs to something else"),
        ),
        (
            "somebody else's when it last answered",
            with_clean(host(&asked(DISK), silent()), "Occupied"),
            Some("when it last answered, its marker"),
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
            assert_eq!(said.reason(), "ReinstallRefused", "{case}");
            assert!(
                said.message().contains(refused.unwrap_or_default()),
                "{case}: {}",
                said.message()
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
    let pods = || {
        let mut seen = seen(marked("here", "m"));
        seen.pods_run = true;
        Contact::Seen(Box::new(seen))
    };
    let stop = Action::StopKubelet(marker("here", "m"));
    let cases: [(&str, Observed, &[Action], &str); 14] = [
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
            &[],
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
            std::slice::from_ref(&stop),
            "Retaining",
        ),
        (
            "retain, its pods run",
            host(&released("retain"), pods()),
            std::slice::from_ref(&stop),
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

#[test]
fn a_power_that_could_not_be_cut_before_an_installation_is_cut_again_after_a_pause() {
    let failed = |transient, owner: Ownership| {
        let mut observed = host(&released("reinstall"), seen_as(owner));
        observed.bmc = Some(PowerReading {
            at: at(0),
            asked_with: "0".into(),
            power: Err(ContactError {
                reason: Reason::PowerActionRefused,
                message: "the chassis is open".into(),
                transient,
            }),
        });
        observed
    };
    for (transient, pause) in [(true, 10), (false, 60)] {
        for owner in [marked("here", "m"), Ownership::Nobody] {
            let observed = failed(transient, owner);
            let state = State::Quarantined;
            let says = &["the chassis is open"];
            let early = plan(&observed, at(pause - 1));
            expect("early", &early, state, &[], "FencingFailed", says);
            assert_ne!(early.next, Next::OnChange);
            let fence = [Action::Fence];
            let late = plan(&observed, at(pause));
            expect("late", &late, state, &fence, "FencingFailed", says);
        }
    }
}

#[test]
fn a_kubelet_is_not_stopped_for_good_while_a_job_of_its_machine_may_start_it_again() {
    let stop = Action::StopKubelet(marker("here", "m"));
    for (is_active, after) in [(true, vec![stop]), (false, Vec::new())] {
        let mut seen = seen(marked("here", "m"));
        seen.kubelet_active = is_active;
        let observed = host(&released("retain"), Contact::Seen(Box::new(seen)));
        let runs = with_unit(
            observed.clone(),
            JobKind::Kubelet,
            UnitState::Running(step()),
        );
        let waits = plan(&runs, at(0));
        assert_eq!(waits.actions, [], "active: {is_active}");
        let said = finding(&waits, "Available");
        assert_eq!(said.reason(), Reason::WaitingForStep, "active: {is_active}");
        assert!(
            said.message().contains("its data is kept"),
            "{}",
            said.message()
        );
        let ended = with_unit(observed, JobKind::Kubelet, UnitState::Succeeded);
        assert_eq!(plan(&ended, at(0)).actions, after, "active: {is_active}");
    }
}
