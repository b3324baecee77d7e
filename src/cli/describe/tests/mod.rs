//! What people see of a cluster, from its first minute to its last.

mod annotations;
mod each_kind;
mod fixture;

use insta::assert_snapshot;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;
use serde_json::json;

use self::fixture::{Fixture, NOW, bootstrapping, condition, ready, rolling};
use super::changes::Changes;
use super::render::{Style, render};
use super::snapshot::Snapshot;

const UTF8: Style = Style {
    unicode: true,
    colour: false,
    width: None,
};

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

fn shown(snapshot: &Snapshot, style: Style) -> String {
    render(snapshot, now(), style).join("\n")
}

#[test]
fn a_cluster_that_no_controller_has_seen_says_so() {
    let mut fixture = Fixture::default();
    fixture.cluster(json!({}), &[]);
    assert_snapshot!(shown(&fixture.snapshot, UTF8));
}

#[test]
fn a_cluster_on_its_way_names_the_step_that_it_waits_for() {
    assert_snapshot!(shown(&bootstrapping().snapshot, UTF8));
}

#[test]
fn a_ready_cluster_shows_where_its_machines_run_and_which_hosts_are_free() {
    assert_snapshot!(shown(&ready().snapshot, UTF8));
}

#[test]
fn a_roll_shows_the_old_set_beside_the_new_one() {
    assert_snapshot!(shown(&rolling().snapshot, UTF8));
}

#[test]
fn a_failed_machine_comes_before_those_that_only_wait() {
    let mut fixture = bootstrapping();
    let message =
        "3/5 kubeadm-join failed with exit code 1: \u{1b}[2Jerror: port 10250 is taken\nby pid 77";
    let failed = condition("Ready", "False", "KubeadmJoinFailed", message, 40);
    fixture.machine(
        "web-1",
        "set-web",
        json!({"phase": "Bootstrapping", "lastUpdated": fixture::ago(7)}),
        &[failed],
    );
    assert_snapshot!(shown(&fixture.snapshot, UTF8));
}

#[test]
fn a_narrow_terminal_without_utf8_gets_every_line_cut_to_fit() {
    let style = Style {
        unicode: false,
        colour: false,
        width: Some(72),
    };
    let shown = shown(&bootstrapping().snapshot, style);
    assert!(shown.lines().all(|line| line.len() <= 72), "{shown}");
    assert!(shown.lines().all(str::is_ascii), "{shown}");
    assert_snapshot!(shown);
}

#[test]
fn colours_do_not_change_what_is_cut() {
    let style = Style {
        colour: true,
        width: Some(60),
        ..UTF8
    };
    let coloured = shown(&bootstrapping().snapshot, style);
    let bare = strip(&coloured);
    let plain = shown(
        &bootstrapping().snapshot,
        Style {
            colour: false,
            ..style
        },
    );
    assert_eq!(bare, plain);
    assert!(coloured.contains("\u{1b}[33m…\u{1b}[0m"), "{coloured:?}");
}

fn strip(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn a_paused_cluster_says_how_it_goes_on() {
    let mut fixture = bootstrapping();
    let paused = condition(
        "Paused",
        "True",
        "Paused",
        "nothing is done to the Cluster or below it",
        90,
    );
    fixture.cluster(json!({"phase": "Provisioning"}), &[paused]);
    assert_snapshot!(shown(&fixture.snapshot, UTF8));
}

#[test]
fn a_host_that_its_machine_left_stays_in_sight_until_it_is_clean() {
    let mut fixture = ready();
    let machines = fixture.snapshot.machines.sorted();
    let gone = (*machines.last().expect("a machine")).clone();
    fixture.snapshot.machines.take(Event::Delete(gone));
    let resetting = condition(
        "Available",
        "False",
        "Resetting",
        "reset: 2/4 kubeadm-reset",
        5,
    );
    fixture.host("c", Some("web-1"), "Releasing", &[resetting]);
    assert_snapshot!(shown(&fixture.snapshot, UTF8));
}

#[test]
fn hosts_that_are_not_free_say_why_in_the_line_of_the_free_ones() {
    let mut fixture = ready();
    let occupied = condition(
        "Available",
        "False",
        "Occupied",
        "it runs a Kubernetes that is not Tatara's",
        60,
    );
    fixture.host("d", None, "Quarantined", &[occupied]);
    fixture.host("e", None, "Registering", &[]);
    let shown = shown(&fixture.snapshot, UTF8);
    let line = shown
        .lines()
        .find(|line| line.contains("host"))
        .expect("a line");
    assert_eq!(
        line,
        "no free host; 1 Quarantined: d (Occupied); 1 Registering: e"
    );
}

#[test]
fn plain_lines_tell_each_change_once() {
    let mut fixture = bootstrapping();
    let mut changes = Changes::since(now());
    let mut after = |fixture: &Fixture, seconds| {
        let at = now() + SignedDuration::from_millis(seconds);
        changes.lines(&fixture.snapshot, at, UTF8).join("\n")
    };
    let first = after(&fixture, 0);
    assert_eq!(after(&fixture, 5_000), "", "ages alone are no change");
    let message = "4/9 kubelet";
    let progress = condition("Ready", "False", "Preparing", message, 40);
    fixture.machine(
        "web-0",
        "set-web",
        json!({"phase": "Bootstrapping"}),
        &[progress],
    );
    let second = after(&fixture, 12_345);
    let machines = fixture.snapshot.machines.sorted();
    let last = (*machines.last().expect("a machine")).clone();
    fixture.snapshot.machines.take(Event::Delete(last));
    let third = after(&fixture, 125_000);
    assert_snapshot!([first, second, third].join("\n--\n"));
}

#[test]
fn a_host_that_was_freed_is_not_called_deleted() {
    for (is_deleted, expected) in [
        (false, "  0.0s    Host/c  no longer used by this Cluster"),
        (true, "  0.0s    Host/c  deleted"),
    ] {
        let mut fixture = ready();
        let machines = fixture.snapshot.machines.sorted();
        let gone = (*machines.last().expect("a machine")).clone();
        fixture.snapshot.machines.take(Event::Delete(gone));
        let mut changes = Changes::since(now());
        changes.lines(&fixture.snapshot, now(), UTF8);
        fixture.host("c", None, "Available", &[]);
        if is_deleted {
            let host = fixture.snapshot.hosts.get("c").expect("a host").clone();
            fixture.snapshot.hosts.take(Event::Delete(host));
        }
        let lines = changes.lines(&fixture.snapshot, now(), UTF8);
        let line = lines.iter().find(|line| line.contains("Host/c"));
        assert_eq!(line.map(|line| line.trim()), Some(expected.trim()));
    }
}

#[test]
fn a_cluster_is_ready_only_when_that_was_said_of_its_newest_spec() {
    let mut fixture = ready();
    assert!(super::is_ready(&fixture.snapshot));
    let mut cluster = fixture
        .snapshot
        .clusters
        .get("demo")
        .expect("a cluster")
        .clone();
    cluster.metadata.generation = Some(2);
    fixture.snapshot.clusters.take(Event::Apply(cluster));
    assert!(!super::is_ready(&fixture.snapshot));
    assert!(!super::is_ready(&bootstrapping().snapshot));
}
