//! Leader election.

use std::process::{Child, Command, ExitStatus};

use crate::manager::world::World;

const LEASE: &str = "lease/tatara";
const HOLDER: &str = ".spec.holderIdentity";

fn ended_by(signal: &str, mut manager: Child) -> ExitStatus {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &manager.id().to_string()]);
    assert!(kill.status().expect("a signal").success());
    manager.wait().expect("its end")
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_manager_that_is_stopped_gives_the_lease_back_and_one_that_waits_leads_at_once() {
    let mut world = World::new("leader").await;
    assert_eq!(world.system_says(LEASE, HOLDER), "manager");
    assert!(world.stop_manager().await.success(), "an orderly end");
    assert_eq!(world.system_says(LEASE, HOLDER), "");
    world.start_manager();
    world.until_leading().await;
    let leader = world.start_standby().await;
    assert_eq!(world.system_says(LEASE, HOLDER), "manager");
    assert!(ended_by("TERM", leader).success(), "an orderly end");
    world.until_leading().await;
    assert_eq!(world.system_says(LEASE, HOLDER), "standby");
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_killed_manager_leads_again_under_its_name_and_another_once_the_lease_has_run_out() {
    let mut world = World::new("killed").await;
    world.kill_manager();
    world.start_manager();
    world.until_leading().await;
    assert_eq!(world.system_says(LEASE, ".spec.leaseTransitions"), "0");
    let leader = world.start_standby().await;
    assert!(!ended_by("KILL", leader).success());
    world.until_leading().await;
    assert_eq!(world.system_says(LEASE, HOLDER), "standby");
    assert_eq!(world.system_says(LEASE, ".spec.leaseTransitions"), "1");
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_leader_that_cannot_renew_the_lease_ends_though_nobody_tells_it() {
    let mut world = World::new("silent").await;
    let mut pause = world.pause_etcd(60);
    let end = world.manager_ends().await;
    assert!(!end.success());
    assert!(world.log().contains("leadership lost"), "{}", world.log());
    assert!(
        pause.try_wait().expect("its state").is_none(),
        "the Lease cannot be read yet"
    );
    pause.wait().expect("its end");
}
