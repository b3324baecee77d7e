//! The manager dies, its API server goes away, others write to its objects: nothing is lost, and nothing is
//! done twice.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tatara_core::api::{Cluster, Host, Machine};

use super::{deletion, gates};
use crate::support::wait::within;
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_manager_that_dies_at_any_step_goes_on_and_does_nothing_twice() {
    let world = World::prepared("life3", "10.93.0").await;
    gates::close(&world);
    world.quickstart("apply");
    let deaths = dies_at_each_step(&world).await;
    for machine in world.list::<Machine>().await {
        let machine = machine.name_any();
        let steps = gates::steps(&world, &world.host_of(&machine).await);
        let died: BTreeSet<_> = deaths.iter().filter(|at| at.machine == machine).collect();
        let died: BTreeSet<_> = died.iter().map(|at| at.step()).collect();
        assert_eq!(died, steps, "{machine}");
    }
    gates::remove(&world);
    world.quickstart("up");
    bootstrapped_once(&world, "quickstart-control-plane", "init").await;
    for machine in world.list::<Machine>().await {
        if !machine.is_control_plane() {
            bootstrapped_once(&world, &machine.name_any(), "join").await;
        }
    }
    a_machine_is_made_through_a_restart_a_pause_and_a_conflicting_writer(&world).await;
    an_old_leader_that_wakes_up_does_nothing_and_ends(&world).await;
    world.quickstart("manager");
    deletion::resets_every_host(&world, &deletion::HOSTS, |world| {
        let foreground = "--cascade=foreground";
        world.kubectl(&[
            "delete",
            "cluster",
            "quickstart",
            foreground,
            "--wait=false",
        ]);
    })
    .await;
}

/// A step of a Machine that is under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnderWay {
    pub machine: String,
    pub unit: &'static str,
    name: String,
}

impl UnderWay {
    /// Of a line of progress, "MACHINE False/KubeadmInit: 2/6 init".
    pub fn of(line: &str) -> Option<Self> {
        let (machine, rest) = line.split_once(" False/")?;
        let (reason, message) = rest.split_once(": ")?;
        let unit = match reason {
            "Preparing" => "prepare",
            "KubeadmInit" => "init",
            "KubeadmJoin" => "join",
            _ => return None,
        };
        let (count, name) = message.split_once(' ')?;
        count.contains('/').then(|| Self {
            machine: machine.into(),
            unit,
            name: name.into(),
        })
    }

    pub fn step(&self) -> String {
        format!("{}/{}", self.unit, self.name)
    }

    fn is_kubeadm(&self) -> bool {
        self.unit != "prepare" && self.name == self.unit
    }
}

/// Kills the manager at each step of each Machine before the step does anything, and once more while kubeadm runs.
async fn dies_at_each_step(world: &World) -> BTreeSet<UnderWay> {
    let mut deaths = BTreeSet::new();
    within("three Machines that are Ready", 480, async || {
        let lines = world.progress().await;
        let ready = lines.iter().filter(|line| line.contains(" True/")).count();
        if lines.len() == 3 && ready == 3 {
            return Some(());
        }
        for at in lines.iter().filter_map(|line| UnderWay::of(line)) {
            if deaths.insert(at.clone()) {
                world.replace_manager().await;
                let host = world.host_of(&at.machine).await;
                if at.is_kubeadm() {
                    gates::open_until_kubeadm_runs(world, &host, &at.step());
                    world.replace_manager().await;
                } else {
                    gates::open(world, &host, &at.step());
                }
            }
        }
        None
    })
    .await;
    deaths
}

async fn bootstrapped_once(world: &World, machine: &str, unit: &str) {
    let host = world.host_of(machine).await;
    assert_eq!(world.starts(&host, "prepare"), 1, "{host}: preparations");
    assert_eq!(world.starts(&host, unit), 1, "{host}: {unit}");
    let other = if unit == "init" { "join" } else { "init" };
    assert_eq!(world.starts(&host, other), 0, "{host}: {other}");
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

/// Writes to every Machine, Host and Cluster, over and over, until it is dropped.
struct Writer(tokio::task::JoinHandle<()>);

impl Writer {
    fn start(world: &World) -> Self {
        let (machines, hosts, clusters) = (
            world.api::<Machine>(),
            world.api::<Host>(),
            world.api::<Cluster>(),
        );
        Self(tokio::spawn(async move {
            let mut count = 0_u64;
            loop {
                count += 1;
                write_all(&machines, count).await;
                write_all(&hosts, count).await;
                write_all(&clusters, count).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn write_all<K>(api: &Api<K>, count: u64)
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let patch = json!({"metadata": {"annotations": {"example.com/touched": count.to_string()}}});
    // the API server may be away
    let Ok(list) = api.list(&Default::default()).await else {
        return;
    };
    for object in list {
        let patch = Patch::Merge(&patch);
        api.patch(&object.name_any(), &PatchParams::default(), &patch)
            .await
            .ok();
    }
}

async fn a_machine_is_made_through_a_restart_a_pause_and_a_conflicting_writer(world: &World) {
    let writer = Writer::start(world);
    scale(world, 1);
    within("a Machine in deletion", 60, async || {
        let machines = world.list::<Machine>().await;
        machines
            .iter()
            .any(|m| m.metadata.deletion_timestamp.is_some())
            .then_some(())
    })
    .await;
    world.plane("restart-apiserver", &[]);
    within("a free host", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let host = world.available().await.remove(0);
    assert_eq!(world.starts(&host, "reset"), 1);
    gates::close(world);
    gates::open_all(world, "prepare");
    scale(world, 2);
    gates::until_a_join_goes_on(world, 120).await;
    world.plane("pause-etcd", &["20"]);
    world.until_ready(3, 180).await;
    gates::remove(world);
    drop(writer);
    assert_eq!(
        world.starts(&host, "join"),
        2,
        "one for each of its Machines"
    );
}

/// A second manager with the same rights.
fn second_manager(world: &World) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tatara"))
        .args([
            "manager",
            "--allow-local-endpoints",
            "--http-address",
            "127.0.0.1:0",
        ])
        .env("KUBECONFIG", world.run().join("manager.kubeconfig"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a second manager")
}

async fn an_old_leader_that_wakes_up_does_nothing_and_ends(world: &World) {
    let mut second = second_manager(world);
    world.signal_manager("-STOP");
    scale(world, 1);
    within("a free host by the second manager", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let host = world.available().await.remove(0);
    let before = ["prepare", "join", "reset"].map(|unit| world.starts(&host, unit));
    world.signal_manager("-CONT");
    within("the end of the old leader", 30, async || {
        world.manager_ended().then_some(())
    })
    .await;
    let after = ["prepare", "join", "reset"].map(|unit| world.starts(&host, unit));
    assert_eq!(before, after);
    assert_eq!(world.available().await, [host]);
    scale(world, 2);
    world.until_ready(3, 180).await;
    second.kill().expect("the second manager");
    second.wait().expect("its end");
}
