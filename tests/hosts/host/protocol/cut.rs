//! Units that do not end by themselves: cut, stopped, killed, or on a host that was lost.

use tatara_core::node::{
    Event, Job, JobKind, Ownership, SecretFile, Take, UnitState, follow, start_and_follow, stop,
    take_host,
};

use super::{at, end, open_gate, unit};
use crate::host::fleet::{EPOCH, Fleet, lossy, marker, now};

pub fn power_cut(fleet: &Fleet) {
    let ours = marker("m1");
    let work = unit(JobKind::Init, &[("one", "true"), ("long", "sleep 1000")]);
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &work, EPOCH, now()).unwrap());
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
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &work, EPOCH, now()).unwrap());
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    fleet.shell("a", "systemctl kill --signal=KILL tatara-m1-init.service");
    assert_eq!(end(&attached.rest()), &interrupted);
    // a step outlives the process of its unit by some seconds: the end comes with the last of them
    let lingers = "trap 'sleep 3' TERM; sleep 1000 & wait";
    let work = unit(JobKind::Init, &[("one", "true"), ("long", lingers)]);
    let mut attached = fleet.attach("a", &start_and_follow(&ours, &work, EPOCH, now()).unwrap());
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    fleet.shell(
        "a",
        "systemctl kill --kill-whom=main --signal=KILL tatara-m1-init.service",
    );
    assert_eq!(end(&attached.rest()), &interrupted);
}

/// As where the Cluster of the Machine is deleted: what needs it is interrupted, with all its processes, and the next unit starts.
pub fn stopping(fleet: &Fleet) {
    let ours = marker("m1");
    let waits = [("one", "true"), ("long", "sleep 1000")];
    let (upgrade, prepare) = (
        unit(JobKind::Upgrade, &waits),
        unit(JobKind::Prepare, &[("prepares", "sleep 1000")]),
    );
    let mut attached = fleet.attach(
        "a",
        &start_and_follow(&ours, &upgrade, EPOCH, now()).unwrap(),
    );
    while attached.next() != Some(Event::Progress(at("long", 2, 2))) {}
    let waiting = fleet.attach(
        "a",
        &start_and_follow(&ours, &prepare, EPOCH, now()).unwrap(),
    );
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

pub fn losing_the_host(fleet: &Fleet) {
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
pub fn keys_that_a_unit_could_not_remove(fleet: &Fleet) {
    let ours = marker("m3");
    let mut work = unit(JobKind::Init, &[("long", "sleep 1000")]);
    work.secrets = vec![SecretFile {
        name: "root/etc/kubernetes/pki/ca.key".into(),
        content: "canary-77aa".to_owned().into(),
    }];
    let script = start_and_follow(&ours, &work, EPOCH, now()).unwrap();
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
    let reset = tatara_core::node::reset(&tatara_core::node::Reset { pod_cidrs: &[] })
        .render()
        .unwrap();
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

/// As where a manager of another version follows the reset that the one before it has begun: what it would start instead leaves the
/// record that the host is clean.
pub fn freed_meanwhile(fleet: &Fleet) {
    let ours = marker("m4");
    assert_eq!(fleet.take("a", &ours), Take::Taken);
    let waits = "mkfifo /root/gate; read -r _ </root/gate; rm /root/gate";
    let steps = [
        ("gate", waits),
        ("release", "rm /var/lib/tatara/owner.json"),
    ];
    let (before, later) = (
        unit(JobKind::Reset, &steps),
        unit(JobKind::Reset, &[("other", "true")]),
    );
    let start = |unit| fleet.attach("a", &start_and_follow(&ours, unit, EPOCH, now()).unwrap());
    let mut runs = start(&before);
    let gate = Some(Event::Progress(at("gate", 1, 2)));
    while runs.next() != gate {}
    let mut follows = start(&later);
    assert_eq!(follows.next(), gate);
    open_gate(fleet);
    assert_eq!(end(&runs.rest()), &UnitState::Succeeded);
    let refused = Event::Refused(Ownership::Nobody);
    assert_eq!(follows.rest().last(), Some(&refused));
    let observed = fleet.observe("a");
    let record = observed.job(&ours.job(JobKind::Reset)).unwrap();
    assert_eq!(record.state, UnitState::Succeeded);
}
