//! Components of control planes: each is asked on its own machine, and an update waits until they serve.

use std::collections::BTreeMap;

use tatara_core::api::Machine;

use crate::life::gates;
use crate::support::conditions::said;
use crate::support::wait::within;
use crate::support::world::World;

const MANIFEST: &str = "/etc/kubernetes/manifests/kube-scheduler.yaml";

/// What a condition says of the component of each control plane, by the name of its host.
async fn component(world: &World, condition: &str) -> BTreeMap<String, String> {
    let mut machines = world.list::<Machine>().await;
    machines.retain(Machine::is_control_plane);
    let said = |machine: Machine| {
        let status = machine.status.unwrap_or_default();
        (
            status.host.unwrap_or_default(),
            said(&status.conditions, condition),
        )
    };
    machines.into_iter().map(said).collect()
}

/// Waits until all components of three control planes serve, in the version that each Machine has in its spec.
pub async fn all_serve(world: &World) {
    within("components that serve", 120, async || {
        for condition in [
            "APIServerHealthy",
            "ControllerManagerHealthy",
            "SchedulerHealthy",
            "EtcdMemberHealthy",
        ] {
            let all = component(world, condition).await;
            if all.len() != 3 || all.values().any(|said| said != "True/Answers: ") {
                return None;
            }
        }
        Some(())
    })
    .await;
    for machine in world.list::<Machine>().await {
        let wanted = machine.versions().expect("versions").control_plane.clone();
        let status = machine.status.and_then(|status| status.versions);
        assert_eq!(status.and_then(|is| is.control_plane), wanted);
    }
}

/// The last job of an update waits at its gate on one of `hosts`. The manager dies, the update ends, its scheduler breaks, and the next manager
/// finds all of that: no other control plane begins until the scheduler serves again.
pub async fn one_that_breaks_as_its_update_ends_holds_the_others(world: &World, hosts: &[&str]) {
    let updates = |host: &str| {
        let list = "systemctl list-units --plain --no-legend 'tatara-*-kubelet.service'";
        !world.shell(host, list).trim().is_empty()
    };
    for host in hosts {
        gates::open(world, host, "upgrade/any");
    }
    let host = within("an update", 120, async || {
        hosts.iter().copied().find(|host| updates(host))
    })
    .await;
    world.kill_manager().await;
    gates::open(world, host, "kubelet/any");
    within("the end of the update", 120, async || {
        (!updates(host)).then_some(())
    })
    .await;
    world.shell(host, &format!("mv {MANIFEST} /root/"));
    within("the end of the scheduler", 60, async || {
        let runs = world.shell(host, "pgrep -x kube-scheduler || true");
        runs.is_empty().then_some(())
    })
    .await;
    world.quickstart("manager");
    let machines = world.list::<Machine>().await;
    let is_there = |machine: &&Machine| {
        let status = machine.status.as_ref();
        status.and_then(|status| status.host.as_deref()) == Some(host)
    };
    let machine = machines.iter().find(is_there).expect("its Machine");
    let machine = machine.metadata.name.as_deref().expect("a name");
    within("what the update waits for", 120, async || {
        let updating = world.machine_says(machine, "Updating").await;
        let all = component(world, "SchedulerHealthy").await;
        let is = all.get(host)?;
        let fails = is.starts_with(&format!(
            "False/ComponentUnhealthy: kube-scheduler on {host} does not serve"
        ));
        let others = all.values().filter(|said| *said == "True/Answers: ");
        let waits = updating.contains("kube-scheduler");
        (waits && fails && others.count() == 2).then_some(())
    })
    .await;
    let others: Vec<_> = hosts.iter().copied().filter(|one| *one != host).collect();
    assert_eq!(world.starts(host, "upgrade"), 1, "{host}: updates");
    for other in &others {
        assert_eq!(world.starts(other, "upgrade"), 0, "{other}: updates");
    }
    world.shell(host, &format!("mv /root/kube-scheduler.yaml {MANIFEST}"));
    for other in others {
        gates::open(world, other, "kubelet/any");
    }
}
