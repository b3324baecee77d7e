//! Five control machines: two of their hosts lose power at once and the API takes writes, all serve again, three are left. Then
//! two of these are lost for good.

use kube::ResourceExt;
use tatara_core::api::Machine;

use crate::observed::{etcd_is, place, writes};
use crate::page::Page;
use crate::quorum;
use crate::support::etcd::members;
use crate::support::wait::within;
use crate::support::world::World;
use crate::three::{DEPLOYMENT, FIRST, THREE, comes_to_rest, control_planes, rolled_out};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn five_control_planes_outlive_two_power_cuts_and_become_three() {
    let world = World::with_five_control_hosts("five", "10.117.0").await;
    let page = Page::begin(&world);
    page.run(THREE, 0);
    scale(&world, 5).await;
    let host = world.host_of(FIRST).await;
    all_vote(&world, &host, 5);
    comes_to_rest(&world).await;
    two_hosts_lose_their_power(&world).await;
    all_vote(&world, &host, 5);
    scale(&world, 3).await;
    let left = control_planes(&world).await;
    let left = left.first().expect("a Machine");
    all_vote(&world, &world.host_of(left).await, 3);
    quorum::is_lost_and_made_again(&world, &page, left).await;
    world.leave();
}

async fn scale(world: &World, replicas: usize) {
    let of = format!("machinedeployment/{DEPLOYMENT}");
    world.kubectl(&["scale", &of, &format!("--replicas={replicas}")]);
    rolled_out(world, DEPLOYMENT, 600).await;
    within("as many control machines", 300, async || {
        (control_planes(world).await.len() == replicas).then_some(())
    })
    .await;
}

fn all_vote(world: &World, host: &str, count: usize) {
    let listed = members(world, host);
    let voters = listed.iter().filter(|(_, votes)| *votes).count();
    assert_eq!((listed.len(), voters), (count, count), "{listed:?}");
}

/// The holder of the virtual IP among them; the others are a majority.
async fn two_hosts_lose_their_power(world: &World) {
    let mut machines = world.list::<Machine>().await;
    machines.retain(Machine::is_control_plane);
    let mut hosts = Vec::new();
    for machine in &machines {
        hosts.push(place(world, &machine.name_any()).await);
    }
    let holds = |host: &str| {
        let show = format!("ip -o addr show to {}.100", world.subnet());
        !world.shell(host, &show).trim().is_empty()
    };
    let (held, others): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|(host, _)| holds(host));
    assert_eq!(held.len(), 1, "one holds the address: {held:?}");
    let hosts: Vec<_> = held.into_iter().chain(others).take(2).collect();
    println!("power cut of {hosts:?}");
    for (host, _) in &hosts {
        world.fleet(&["kill", host]);
    }
    etcd_is(world, "False/").await;
    within("a write", 60, async || writes(world).then_some(())).await;
    for (host, address) in &hosts {
        world.fleet(&["start", host, address]);
    }
    etcd_is(world, "True/MembersHealthy").await;
    world.until_ready(7, 300).await;
}
