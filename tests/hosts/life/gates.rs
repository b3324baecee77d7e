//! Steps that wait to be let go on, so that a test can act before any of them does anything: a program before
//! `timeout`, through which each step of Tatara is run on a host.

use std::collections::BTreeSet;

use crate::support::world::World;

const HOSTS: [&str; 3] = ["host-a", "host-b", "host-c"];

/// `timeout --kill-after=30 SECONDS bash /var/lib/tatara/machines/UID/UNIT/NN-STEP.sh` waits for
/// `/var/lib/gates/UNIT/STEP`, or for `/var/lib/gates/UNIT/any`, which outlive a loss of power.
const GATE: &str = r#"#!/bin/bash
script=${!#} unit=${script%/*} step=${script##*/}
step=${step#*-} gates=/var/lib/gates/${unit##*/}
case $script in
  */reset/*) ;;
  /var/lib/tatara/machines/*) until [[ -e $gates/${step%.sh} || -e $gates/any ]]; do sleep 0.1; done ;;
esac
exec /usr/bin/timeout "$@"
"#;

/// From now on every step waits, on all hosts.
pub fn close(world: &World) {
    close_at(world, &HOSTS);
}

/// From now on every step waits, on these hosts.
pub fn close_at(world: &World, hosts: &[&str]) {
    for host in hosts {
        let write = format!(
            "cat >/usr/local/sbin/timeout <<'EOF'\n{GATE}EOF\nchmod 755 /usr/local/sbin/timeout"
        );
        world.shell(host, &write);
    }
}

/// Lets a step, `UNIT/STEP`, go on.
pub fn open(world: &World, host: &str, step: &str) {
    let gate = format!("/var/lib/gates/{step}");
    world.shell(
        host,
        &format!("mkdir -p \"$(dirname {gate})\" && touch {gate}"),
    );
}

/// Lets all steps of a unit go on, on all hosts: the one that waits as well.
pub fn open_all(world: &World, unit: &str) {
    for host in HOSTS {
        open(world, host, &format!("{unit}/any"));
    }
}

/// Takes the gates away, where nothing waits at one: what waits would do so for ever.
pub fn remove(world: &World) {
    remove_at(world, &HOSTS);
}

/// The same on these hosts.
pub fn remove_at(world: &World, hosts: &[&str]) {
    for host in hosts {
        world.shell(host, "rm -r /usr/local/sbin/timeout /var/lib/gates");
    }
}

/// The steps that a host's Machine has had, as `UNIT/STEP`.
pub fn steps(world: &World, host: &str) -> BTreeSet<String> {
    let list =
        "cd /var/lib/tatara/machines/*/ && ls -d {prepare,init,join}/*.sh 2>/dev/null || true";
    let list = world.shell(host, list);
    let names = list.lines().filter_map(|line| {
        let (unit, file) = line.split_once('/')?;
        let (_, name) = file.strip_suffix(".sh")?.split_once('-')?;
        Some(format!("{unit}/{name}"))
    });
    names.collect()
}

/// Waits for a worker whose join waits at its gate, and lets it go on; returns the worker. A join that nothing holds takes
/// seconds, and may be over before a test sees it.
pub async fn until_a_join_goes_on(world: &World, seconds: u64) -> String {
    let worker = world.until_one_says("False/KubeadmJoin", seconds).await;
    open_all(world, "join");
    worker
}

/// Lets a step, `UNIT/STEP`, go on, and returns once kubeadm runs. It may run for seconds, so the host itself looks.
pub fn open_until_kubeadm_runs(world: &World, host: &str, step: &str) {
    let gate = format!("/var/lib/gates/{step}");
    let script = format!(
        "mkdir -p \"$(dirname {gate})\" && touch {gate} && timeout 60 bash -c 'until pgrep -x kubeadm; do sleep 0.05; done'"
    );
    world.shell(host, &script);
}
