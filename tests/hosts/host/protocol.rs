//! Taking a host, starting, following and observing units, with steps made for the purpose.

mod cut;

use std::time::Instant;

use tatara_core::node::{
    Event, Job, JobKind, Ownership, Progress, SecretFile, Step, Take, Unit, UnitState, follow, log,
    start_and_follow,
};

use crate::host::fleet::{EPOCH, Fleet, lossy, marker, now};

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
    looked_since(&fleet);
    cut::power_cut(&fleet);
    cut::stopping(&fleet);
    cut::losing_the_host(&fleet);
    cut::keys_that_a_unit_could_not_remove(&fleet);
    cut::freed_meanwhile(&fleet);
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
    let script = start_and_follow(&ours, &work, EPOCH, now()).unwrap();
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
    let script = start_and_follow(&ours, &work, EPOCH, now()).unwrap();
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
    let mut one = fleet.attach("a", &start_and_follow(&ours, &first, EPOCH, now()).unwrap());
    assert_eq!(one.next(), Some(Event::Progress(at("slow", 1, 1))));
    let mut two = fleet.attach(
        "a",
        &start_and_follow(&ours, &second, EPOCH, now()).unwrap(),
    );
    assert_eq!(two.next(), Some(Event::Progress(at("next", 1, 1))));
    open_gate(fleet);
    assert_eq!(end(&one.rest()), &UnitState::Succeeded);
    assert_eq!(end(&two.rest()), &UnitState::Succeeded);
    // the same unit with another identity waits as well
    let third = unit(JobKind::Prepare, &[("changed", "test ! -e /root/gate")]);
    let mut work = first.clone();
    work.steps[0].script += "# again\n";
    let mut one = fleet.attach("a", &start_and_follow(&ours, &work, EPOCH, now()).unwrap());
    assert_eq!(one.next(), Some(Event::Progress(at("slow", 1, 1))));
    let mut two = fleet.attach("a", &start_and_follow(&ours, &third, EPOCH, now()).unwrap());
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

/// What a former leader has sent comes late: nothing is started once a later one has looked, and what runs is followed.
fn looked_since(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(
        JobKind::Kubelet,
        &[(
            "one",
            "echo >>/root/started; timeout 60 bash -c 'until test -e /root/seen; do sleep 0.05; done'",
        )],
    );
    let start = |epoch| {
        let script = start_and_follow(&ours, &work, epoch, now()).unwrap();
        fleet.attach("a", &script).rest()
    };
    let shown = |seen: &tatara_core::node::Observation| {
        let job = seen.job(&ours.job(JobKind::Kubelet));
        job.map(|status| status.state.clone())
    };
    fleet.observe_as("a", 5);
    assert_eq!(shown(&fleet.observe_as("a", 6)), None);
    // a look that comes late changes nothing
    fleet.observe_as("a", 5);
    assert_eq!(start(5), [Event::Superseded]);
    assert_eq!(shown(&fleet.observe_as("a", 6)), None);
    // whose start was on its way when a later one looked is seen by it
    std::thread::scope(|scope| {
        let run = scope.spawn(|| start(6));
        fleet.shell(
            "a",
            "timeout 20 bash -c 'until test -e /root/started; do sleep 0.05; done'",
        );
        let seen = fleet.observe_as("a", 7);
        fleet.shell("a", "touch /root/seen");
        assert_eq!(shown(&seen), Some(UnitState::Running(at("one", 1, 1))));
        assert_eq!(end(&run.join().unwrap()), &UnitState::Succeeded);
    });
    // it has succeeded, so that nothing is started: its end is told
    assert_eq!(end(&start(5)), &UnitState::Succeeded);
    assert_eq!(fleet.shell("a", "wc -l </root/started"), "1\n");
    // on the host of another's Machine nothing is noted, and one whose marker was edited by hand is still ours
    fleet.shell(
        "a",
        r#"cd /var/lib/tatara; rm /run/tatara-looked; cp owner.json kept; sed -i 's/"default"/"other"/' owner.json"#,
    );
    fleet.observe_as("a", 8);
    assert_eq!(
        fleet.shell("a", "cat /run/tatara-looked 2>/dev/null || true"),
        ""
    );
    fleet.shell(
        "a",
        r#"cd /var/lib/tatara; mv kept owner.json; sed -i 's/":"/": "/g' owner.json"#,
    );
    fleet.observe_as("a", 8);
    assert_eq!(fleet.shell("a", "cat /run/tatara-looked"), "8\n");
    fleet.shell(
        "a",
        r#"rm /root/started /run/tatara-looked; sed -i 's/": "/":"/g' /var/lib/tatara/owner.json"#,
    );
}
