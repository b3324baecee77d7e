//! Taking a host, starting, following and observing units, with steps made for the purpose.

use std::time::Instant;

use tatara::core::node::{
    Event, Job, JobKind, Ownership, Progress, SecretFile, Step, Take, Unit, UnitState, follow, log,
    start_and_follow, stop, take_host,
};

use crate::node::fleet::{Fleet, lossy, marker, now};

fn unit(kind: JobKind, steps: &[(&'static str, &str)]) -> Unit {
    Unit {
        kind,
        steps: steps
            .iter()
            .map(|(name, script)| Step {
                name,
                title: "A step",
                script: format!("set -euo pipefail\n{script}\n"),
            })
            .collect(),
        secrets: Vec::new(),
    }
}

/// The steps that were told are of `steps`, in that order. One that is over before anybody looks is not told.
fn assert_told(events: &[Event], steps: &[&str]) {
    let mut rest = steps.iter();
    for event in events {
        if let Event::Progress(progress) = event {
            assert!(rest.any(|step| *step == progress.step), "{events:?}");
        }
    }
}

/// Lets a step go on that waits at `/root/gate`, once it does.
fn open_gate(fleet: &Fleet) {
    fleet.shell(
        "a",
        "timeout 20 bash -c 'until test -p /root/gate; do sleep 0.05; done' && echo >/root/gate",
    );
}

fn end(events: &[Event]) -> &UnitState {
    match events.last() {
        Some(Event::Ended(status)) => &status.state,
        other => panic!("no end: {other:?}"),
    }
}

fn at(step: &str, index: u32, total: u32) -> Progress {
    Progress {
        step: step.into(),
        index,
        total,
    }
}

#[test]
#[ignore = "needs hosts"]
fn a_host_is_taken_once_and_its_units_are_followed_to_their_end() {
    let fleet = Fleet::new("ndproto", "10.61.0");
    fleet.start("a", 11, &[("VARIANT", "bare")]);
    taking(&fleet);
    succeeding(&fleet);
    failing(&fleet);
    attaching(&fleet);
    secrets(&fleet);
    ordering(&fleet);
    stray_processes(&fleet);
    power_cut(&fleet);
    stopping(&fleet);
    losing_the_host(&fleet);
    keys_that_a_unit_could_not_remove(&fleet);
}

fn taking(fleet: &Fleet) {
    let (ours, theirs) = (marker("m1"), marker("m2"));
    let before = fleet.observe("a");
    assert_eq!(before.owner, Ownership::Nobody);
    assert_eq!(before.occupied, []);
    assert_eq!(before.facts.os, "debian 12");
    assert_eq!(before.facts.addresses, [fleet.address(11)]);
    assert_eq!(before.facts.default_interface.as_deref(), Some("eth0"));
    assert!((before.clock - now().as_millisecond()).abs() < 2000);

    fleet.shell("a", "mkdir -p /var/lib/etcd/member");
    let Take::Occupied(findings) = fleet.take("a", &ours) else {
        panic!("took an occupied host");
    };
    assert!(findings[0].value.contains("/var/lib/etcd/member"));
    assert!(findings[0].remedy.contains("kubeadm reset"));
    assert_eq!(fleet.observe("a").owner, Ownership::Nobody);
    fleet.shell("a", "rm -r /var/lib/etcd");

    assert_eq!(fleet.take("a", &ours), Take::Taken);
    assert_eq!(fleet.take("a", &ours), Take::AlreadyOurs);
    let Take::OwnedBy(owner) = fleet.take("a", &theirs) else {
        panic!("took another's host");
    };
    assert_eq!(owner.of(&ours).map(|owner| owner.initialized), Some(false));
    assert_eq!(owner.of(&theirs), None);
    let modes = fleet.shell(
        "a",
        "stat -c '%a %U' /var/lib/tatara /var/lib/tatara/owner.json",
    );
    assert_eq!(modes, "700 root\n600 root\n");

    let refused = fleet.run_unit("a", &theirs, &unit(JobKind::Prepare, &[("one", "true")]));
    assert_eq!(refused, [Event::Refused(owner)]);
    assert_eq!(fleet.shell("a", "ls /var/lib/tatara/machines"), "");
}

fn succeeding(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Prepare,
        &[("one", "echo first >>/root/trace"), ("two", "echo it\\'s")],
    );
    #[allow(clippy::disallowed_methods)] // a bound on waiting, not a decision
    let started = Instant::now();
    let events = fleet.run_unit("a", &ours, &work);
    println!("a unit of two empty steps: {:?}", started.elapsed());
    assert_told(&events, &["one", "two"]);
    assert_eq!(end(&events), &UnitState::Succeeded);
    // again: nothing is run, the end is told
    let again = fleet.run_unit("a", &ours, &work);
    assert_eq!(again.len(), 1);
    assert_eq!(end(&again), &UnitState::Succeeded);
    assert_eq!(fleet.shell("a", "cat /root/trace"), "first\n");
    let text = lossy(&fleet.run("a", &log("m1", None).unwrap()));
    assert_eq!(
        text,
        "==> prepare: one (exit code 0)\n==> prepare: two (exit code 0)\nit's\n"
    );
    // with another identity it is other work
    let other = unit(JobKind::Prepare, &[("three", "echo second >>/root/trace")]);
    assert_eq!(
        end(&fleet.run_unit("a", &ours, &other)),
        &UnitState::Succeeded
    );
    assert_eq!(fleet.shell("a", "cat /root/trace"), "first\nsecond\n");
}

fn failing(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Prepare,
        &[
            ("one", "echo try >>/root/tries"),
            (
                "two",
                "echo 'finding: swap: /dev/sda2 is on; remedy: swapoff -a'; echo 'say \"why\" \\'; printf '\\xff\\n'; exit 3",
            ),
            ("three", "echo never >>/root/trace"),
        ],
    );
    let events = fleet.run_unit("a", &ours, &work);
    let UnitState::Failed(failure) = end(&events) else {
        panic!("{events:?}");
    };
    assert_eq!(failure.at, at("two", 2, 3));
    assert_eq!(failure.exit_code, 3);
    assert_eq!(failure.findings[0].code, "swap");
    assert_eq!(failure.findings[0].remedy, "swapoff -a");
    assert_eq!(failure.output, "say \"why\" \\\n\u{fffd}");
    let observed = fleet.observe("a");
    let status = observed.job(&Job::new(JobKind::Prepare, "m1")).unwrap();
    assert_eq!(&status.state, end(&events));
    assert_eq!(status.identity, work.identity());
    assert_eq!(fleet.shell("a", "cat /root/trace"), "first\nsecond\n");
    // a failed unit is tried again from its first step; its old log is gone
    let again = fleet.run_unit("a", &ours, &work);
    assert_told(&again, &["one", "two"]);
    assert_eq!(fleet.shell("a", "cat /root/tries"), "try\ntry\n");
    let text = lossy(&fleet.run("a", &log("m1", Some("two")).unwrap()));
    assert_eq!(text.matches("finding: swap").count(), 1, "{text}");
}

fn attaching(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Init,
        &[
            ("one", "true"),
            (
                "slow",
                "mkfifo /root/gate; read -r _ </root/gate; rm /root/gate",
            ),
            ("last", "echo done >>/root/trace"),
        ],
    );
    let script = start_and_follow(&ours, &work, now()).unwrap();
    let mut first = fleet.attach("a", &script);
    while first.next() != Some(Event::Progress(at("slow", 2, 3))) {}
    first.kill();
    let observed = fleet.observe("a");
    let running = &observed.job(&Job::new(JobKind::Init, "m1")).unwrap().state;
    assert_eq!(running, &UnitState::Running(at("slow", 2, 3)));
    // two attach again, one by the same script, one that only follows
    let mut second = fleet.attach("a", &script);
    let mut third = fleet.attach("a", &follow(&ours.job(JobKind::Init)).unwrap());
    assert_eq!(second.next(), Some(Event::Progress(at("slow", 2, 3))));
    assert_eq!(third.next(), Some(Event::Progress(at("slow", 2, 3))));
    open_gate(fleet);
    for attached in [second, third] {
        assert_eq!(end(&attached.rest()), &UnitState::Succeeded);
    }
    assert_eq!(
        fleet.shell("a", "tail -n 1 /root/trace; pgrep -c flock || true"),
        "done\n0\n"
    );
    let absent = fleet.attach("a", &follow(&ours.job(JobKind::Reset)).unwrap());
    assert_eq!(absent.rest(), [Event::Absent]);
}

fn secrets(fleet: &Fleet) {
    let ours = marker("m1");
    let mut work = unit(
        JobKind::Join,
        &[(
            "read",
            "stat -c '%a' \"$TATARA_SECRETS\" \"$TATARA_SECRETS/token\"; sha256sum <\"$TATARA_SECRETS/token\"; exit 1",
        )],
    );
    work.secrets = vec![SecretFile {
        name: "token".into(),
        content: "canary-5f1d".to_owned().into(),
    }];
    let script = start_and_follow(&ours, &work, now()).unwrap();
    assert!(!format!("{script:?} {work:?}").contains("canary"));
    let events = fleet.run_unit("a", &ours, &work);
    assert!(matches!(end(&events), UnitState::Failed(_)));
    let text = lossy(&fleet.run("a", &log("m1", Some("read")).unwrap()));
    assert!(text.contains("700\n600\n"), "{text}");
    // gone when the unit has ended, however it ended, and nowhere else
    let found = fleet.shell(
        "a",
        "ls /run/tatara 2>/dev/null; grep -rl -e canary -e Y2FuYXJ5 /var/lib/tatara /run/tatara /var/log /etc || true; journalctl --no-pager | grep -c canary || true",
    );
    assert_eq!(found, "0\n");
}

fn ordering(fleet: &Fleet) {
    let ours = marker("m1");
    let gate = "mkfifo /root/gate; read -r _ </root/gate; rm /root/gate";
    let first = unit(JobKind::Prepare, &[("slow", gate)]);
    let second = unit(JobKind::Init, &[("next", "test ! -e /root/gate")]);
    let mut one = fleet.attach("a", &start_and_follow(&ours, &first, now()).unwrap());
    assert_eq!(one.next(), Some(Event::Progress(at("slow", 1, 1))));
    let mut two = fleet.attach("a", &start_and_follow(&ours, &second, now()).unwrap());
    assert_eq!(two.next(), Some(Event::Progress(at("next", 1, 1))));
    open_gate(fleet);
    assert_eq!(end(&one.rest()), &UnitState::Succeeded);
    assert_eq!(end(&two.rest()), &UnitState::Succeeded);
    // the same unit with another identity waits as well
    let third = unit(JobKind::Prepare, &[("changed", "test ! -e /root/gate")]);
    let mut work = first.clone();
    work.steps[0].script += "# again\n";
    let mut one = fleet.attach("a", &start_and_follow(&ours, &work, now()).unwrap());
    assert_eq!(one.next(), Some(Event::Progress(at("slow", 1, 1))));
    let mut two = fleet.attach("a", &start_and_follow(&ours, &third, now()).unwrap());
    assert_eq!(two.next(), Some(Event::Progress(at("slow", 1, 1))));
    open_gate(fleet);
    one.rest(); // whichever unit it saw at its end
    let events = two.rest();
    assert_told(&events, &["slow", "changed"]);
    assert_eq!(end(&events), &UnitState::Succeeded);
}

fn stray_processes(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Prepare,
        &[("stray", "setsid sleep 1000 >/dev/null 2>&1 &")],
    );
    assert_eq!(
        end(&fleet.run_unit("a", &ours, &work)),
        &UnitState::Succeeded
    );
    // it is ended with its unit, and does not hold the host's lock
    let next = unit(JobKind::Init, &[("next", "! pgrep -x sleep")]);
    assert_eq!(
        end(&fleet.run_unit("a", &ours, &next)),
        &UnitState::Succeeded
    );
}

fn power_cut(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(JobKind::Init, &[("one", "true"), ("long", "sleep 1000")]);
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &work, now()).unwrap());
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    fleet.fleet(&["kill", "a"]);
    attached.kill();
    fleet.fleet(&["start", "a"]);
    fleet.fleet(&["wait", "a"]);
    let interrupted = UnitState::Interrupted(at("long", 2, 2));
    let observed = fleet.observe("a");
    assert_eq!(
        observed.job(&Job::new(JobKind::Init, "m1")).unwrap().state,
        interrupted
    );
    let events = fleet
        .attach("a", &follow(&ours.job(JobKind::Init)).unwrap())
        .rest();
    assert_eq!(end(&events), &interrupted);
    // killed while somebody follows: told at once
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &work, now()).unwrap());
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    fleet.shell("a", "systemctl kill --signal=KILL tatara-m1-init.service");
    assert_eq!(end(&attached.rest()), &interrupted);
}

/// As where the Cluster of the Machine is deleted: what needs it is interrupted, with all its processes, and the next unit starts.
fn stopping(fleet: &Fleet) {
    let ours = marker("m1");
    let waits = [("one", "true"), ("long", "sleep 1000")];
    let (upgrade, prepare) = (
        unit(JobKind::Upgrade, &waits),
        unit(JobKind::Prepare, &[("prepares", "sleep 1000")]),
    );
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &upgrade, now()).unwrap());
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    let waiting = fleet.attach("a", &start_and_follow(&ours, &prepare, now()).unwrap());
    let mut other = ours.clone();
    other.cluster = "another".into();
    for refused in [marker("m2"), other] {
        let refused = stop(&refused).unwrap();
        let output = fleet.feed_as("root", "a", &["bash", "-s"], refused.as_str());
        assert!(!output.status.success(), "{output:?}");
    }
    let running = |kind| {
        fleet
            .observe("a")
            .job(&ours.job(kind))
            .unwrap()
            .state
            .clone()
    };
    assert_eq!(
        running(JobKind::Upgrade),
        UnitState::Running(at("long", 2, 2))
    );
    // as often as wanted
    for _ in 0..2 {
        fleet.run("a", &stop(&ours).unwrap());
    }
    let interrupted = UnitState::Interrupted(at("long", 2, 2));
    assert_eq!(end(&attached.rest()), &interrupted);
    assert_eq!(running(JobKind::Upgrade), interrupted);
    // what ends by itself goes on
    let prepares = UnitState::Running(at("prepares", 1, 1));
    assert_eq!(running(JobKind::Prepare), prepares);
    fleet.shell("a", "systemctl stop tatara-m1-prepare.service");
    assert_eq!(
        end(&waiting.rest()),
        &UnitState::Interrupted(at("prepares", 1, 1))
    );
}

fn losing_the_host(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Init,
        &[
            ("one", "rm /var/lib/tatara/owner.json"),
            ("two", "echo never >/root/never"),
        ],
    );
    let events = fleet.run_unit("a", &ours, &work);
    let UnitState::Failed(failure) = end(&events) else {
        panic!("{events:?}");
    };
    assert_eq!((failure.exit_code, failure.at.step.as_str()), (78, "two"));
    fleet.shell("a", "test ! -e /root/never");
    // whoever takes the host next finds no trace of the Machine before
    assert_eq!(fleet.take("a", &marker("m3")), Take::Taken);
    assert_eq!(fleet.shell("a", "ls /var/lib/tatara/machines"), "");
    let script = take_host(&ours).unwrap();
    assert!(script.as_str().contains("quick-m1"));
}

/// A unit that does not start leaves no keys; those of one that is killed go with the reset, before the marker.
fn keys_that_a_unit_could_not_remove(fleet: &Fleet) {
    let ours = marker("m3");
    let mut work = unit(JobKind::Init, &[("long", "sleep 1000")]);
    work.secrets = vec![SecretFile {
        name: "root/etc/kubernetes/pki/ca.key".into(),
        content: "canary-77aa".to_owned().into(),
    }];
    let script = start_and_follow(&ours, &work, now()).unwrap();
    let find = "grep -rl canary-77aa /run/tatara /var/lib/tatara 2>/dev/null || true";

    let stand_in = "/usr/local/bin/systemd-run";
    fleet.shell(
        "a",
        &format!("printf '#!/bin/bash\nexit 9\n' >{stand_in}; chmod 755 {stand_in}"),
    );
    let output = fleet.feed_as("root", "a", &["bash", "-s"], script.as_str());
    assert_eq!(output.status.code(), Some(9), "{}", lossy(&output.stderr));
    assert_eq!(fleet.shell("a", find), "");
    fleet.shell("a", &format!("rm {stand_in}"));

    let mut attached = fleet.attach("a", &script);
    assert_eq!(attached.next(), Some(Event::Progress(at("long", 1, 1))));
    fleet.shell("a", "systemctl kill --signal=KILL tatara-m3-init.service");
    assert!(matches!(end(&attached.rest()), UnitState::Interrupted(_)));
    let left = fleet.shell("a", find);
    assert_eq!(left, "/run/tatara/m3/init/root/etc/kubernetes/pki/ca.key\n");
    let reset = tatara::core::node::reset(&tatara::core::node::Reset { pod_cidrs: &[] }).unwrap();
    assert_eq!(
        end(&fleet.run_unit("a", &ours, &reset)),
        &UnitState::Succeeded
    );
    assert_eq!(
        fleet.shell("a", &format!("{find}; ls -d /run/tatara || true")),
        ""
    );
    assert_eq!(fleet.observe("a").owner, Ownership::Nobody);
}
