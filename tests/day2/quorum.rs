//! Two of three control machines are lost for good: etcd is made anew from the third, by the commands of the page.

use kube::ResourceExt;
use tatara_core::api::Machine;

use crate::observed::{etcd_is, place, writes};
use crate::page::Page;
use crate::support::commands::done;
use crate::support::etcd::members;
use crate::support::wait::within;
use crate::support::world::World;
use crate::three::control_planes;

const SECTION: &str = "A lost quorum";

/// `survivor`: the Machine that is left. Their hosts come back later, with the data of the etcd that lost its quorum.
pub async fn is_lost_and_made_again(world: &World, page: &Page, survivor: &str) {
    in_cluster(
        world,
        &["create", "configmap", "before", "--from-literal=kept=yes"],
    );
    let host = world.host_of(survivor).await;
    let mut lost = control_planes(world).await;
    lost.retain(|machine| machine != survivor);
    let mut hosts = Vec::new();
    for machine in &lost {
        hosts.push(place(world, machine).await);
    }
    for (host, _) in &hosts {
        world.fleet(&["kill", host]);
    }
    etcd_is(world, "False/QuorumLost").await;
    assert!(!writes(world), "one of three takes no writes");
    world.kubectl(&[
        "annotate",
        "cluster",
        "quickstart",
        "cluster.k8s.io/paused=",
    ]);
    let commands = [page.block("Asking etcd", 0), page.block(SECTION, 0)];
    // its second command needs a quorum
    let ctl = commands[0].lines().next().expect("a function").to_owned();
    let text = format!("{ctl}\n{}", commands[1]);
    println!("{}", world.shell(&host, &text));
    world.kubectl(&[
        "annotate",
        "cluster",
        "quickstart",
        "cluster.k8s.io/paused-",
    ]);
    for machine in &lost {
        world.kubectl(&["delete", "machine", machine, "--wait=false"]);
        let uid = uid(world, machine).await;
        let gone = format!("tatara.dev/host-is-gone={uid}");
        world.kubectl(&["annotate", "machine", machine, &gone]);
    }
    within("the lost Machines to go", 120, async || {
        let left = control_planes(world).await;
        lost.iter().all(|lost| !left.contains(lost)).then_some(())
    })
    .await;
    etcd_is(world, "True/MembersHealthy").await;
    // others are made on the hosts that are free
    world.until_ready(5, 300).await;
    assert!(writes(world), "it takes writes");
    let kept = ["get", "configmap", "before", "-o", "jsonpath={.data.kept}"];
    assert_eq!(in_cluster(world, &kept), "yes", "written before the loss");
    for (host, address) in &hosts {
        world.fleet(&["start", host, address]);
    }
    within("their hosts to be reset", 300, async || {
        let free = world.available().await;
        hosts
            .iter()
            .all(|(host, _)| free.contains(host))
            .then_some(())
    })
    .await;
    let listed = members(world, &host);
    let voters = listed.iter().filter(|(_, votes)| *votes).count();
    assert_eq!((listed.len(), voters), (3, 3), "{listed:?}");
}

/// kubectl, asked of the cluster that was made.
fn in_cluster(world: &World, arguments: &[&str]) -> String {
    done(world.member_kubectl().args(arguments))
}

async fn uid(world: &World, machine: &str) -> String {
    let machine = world.api::<Machine>().get(machine).await;
    machine.expect("a Machine").uid().expect("a UID")
}
