//! Operating systems of real hosts are installed. BMC and installer are simulated: the installer reads its image over
//! HTTP as a BMC does, runs the scripts that are in it, and gives the host a new disk. The hosts are real.

use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tatara_core::api::{Host, Machine};

use crate::life::simulated_installer::{Fleet, address, curl, simulated_installer};
use crate::support::bmc::{OnImage, OnPower, PASSWORD, SimulatedBmc, State, USER};
use crate::support::commands::both;
use crate::support::image::{Origin, image};
use crate::support::wait::within;
use crate::support::world::World;

pub const NAME: &str = "rein";
pub const SUBNET: &str = "10.62.0";
const DISK: &str = "S3Z9NB0K";
pub const HOST: &str = "host-b";

/// A shim that has outlived its pod: containerd knows no task of it. It logs into the pipe.
const SHIM_WITHOUT_A_POD: &str = "mkdir /run/left && cd /run/left && echo {} >config.json && mkfifo log && \
    { setsid cat log >/dev/null 2>&1 & } ; \
    containerd-shim-runc-v2 -namespace k8s.io -id left -address /run/containerd/containerd.sock start >/dev/null && \
    timeout 10 bash -c 'until pgrep -xf \"[^ ]*containerd-shim.* -id left .*\"; do sleep 0.1; done'";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_host_is_installed_when_asked_and_when_released_by_a_simulated_installer_and_retained_where_wanted()
 {
    let world = World::prepared(NAME, SUBNET).await;
    let origin = Origin::start(image(true)).await;
    let disks = Arc::new(Mutex::new(vec![DISK, DISK]));
    let bmc = bmc_of(&world, disks.clone()).await;
    register(&world, &bmc, &origin);

    nothing_is_written_before_one_disk_is_named(&world, &bmc).await;
    *disks.lock().expect("the disks") = vec!["OTHER", DISK];
    installed_when_asked(&world, &bmc).await;
    world.quickstart("apply");
    world.until_ready(3, 600).await;
    world.quickstart("up");
    installed_when_released(&world, &bmc).await;
    retained_when_released(&world).await;
    assert_eq!(origin.asked(), 1, "the image is fetched once");
    drop(bmc);
    world.leave();
}

/// A BMC whose power is that of the host, and whose CD holds a simulated installer for a host with these disks.
async fn bmc_of(world: &World, disks: Arc<Mutex<Vec<&'static str>>>) -> SimulatedBmc {
    let fleet = Fleet {
        state: world.run().parent().expect("a folder").to_owned(),
    };
    let runner = fleet.clone();
    let on_power: OnPower = Box::new(move |power| match power {
        "On" => drop(runner.run(&["start", HOST, &address()])),
        _ => drop(runner.run(&["kill", HOST])),
    });
    let bmc = SimulatedBmc::start(State {
        power: "On".into(),
        on_power: Some(on_power),
        keeps_once: true,
        ..State::default()
    })
    .await;
    let state = bmc.state.clone();
    let on_image: OnImage = Box::new(move |image| {
        let (fleet, image, state) = (fleet.clone(), image.to_owned(), state.clone());
        let disks = disks.lock().expect("the disks").clone();
        std::thread::spawn(move || {
            simulated_installer(&fleet, &image, &disks);
            state.lock().expect("the BMC").power = "Off".into();
        });
    });
    bmc.state().on_image = Some(on_image);
    bmc
}

/// The quickstart's Hosts, of which one has a BMC, and no host key.
fn register(world: &World, bmc: &SimulatedBmc, origin: &Origin) {
    let secret = |name: &str, of: &str, data: &Value| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": format!("kubernetes.io/{of}"),
            "metadata": {"name": name, "namespace": "default"}, "stringData": data});
        applied(world, &secret);
    };
    secret(
        "bmc",
        "basic-auth",
        &json!({"username": USER, "password": PASSWORD}),
    );
    let key = crate::life::hosts::right_key(world);
    secret("hosts-ssh", "ssh-auth", &json!({"ssh-privatekey": key}));
    let manifests = world.run().join("manifests/10-hosts.yaml");
    let text = std::fs::read_to_string(&manifests).expect("the manifests of the hosts");
    let mut all = Vec::new();
    for part in text.split("\n---\n") {
        let mut host: Value = serde_saphyr::from_str(part).expect("a Host");
        if host["metadata"]["name"] == HOST {
            host["spec"]["ssh"]["hostKeys"] = json!([]);
            host["spec"]["ssh"]
                .as_object_mut()
                .expect("an object")
                .remove("hostKeys");
            host["spec"]["bmc"] = json!({"address": bmc.address(), "credentialsRef": {"name": "bmc"},
                "tls": {"fingerprint": bmc.certificate.1}});
            host["spec"]["rootDeviceHints"] = json!({"serialNumber": DISK});
            host["spec"]["installation"] = json!({"iso": origin.iso, "timeoutSeconds": 600});
            host["spec"]["wipePolicy"] = "reinstall".into();
        }
        applied(world, &host);
        all.push(host.to_string());
    }
    std::fs::write(manifests, all.join("\n---\n")).expect("the manifests of the hosts");
}

fn applied(world: &World, object: &Value) {
    let output = world.apply(object);
    assert!(output.status.success(), "{}", both(&output));
}

async fn until_host_says(world: &World, condition: &str, text: &str, seconds: u64) -> String {
    within(
        &format!("{HOST}: {condition} {text}"),
        seconds,
        async || {
            let said = world.host_says(HOST, condition).await;
            said.starts_with(text).then_some(said)
        },
    )
    .await
}

fn ask(world: &World, disk: &str) {
    let annotation = format!("tatara.dev/reinstall={disk}");
    world.kubectl(&["annotate", "--overwrite", "host", HOST, &annotation]);
}

async fn keys(world: &World) -> Vec<String> {
    let host = world.api::<Host>().get(HOST).await.expect("a Host");
    host.spec.ssh.host_keys
}

/// What a command on the host says, which shows the key that is pinned and no other.
async fn says(world: &World, text: &str) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let known = dir.path().join("known");
    let lines: Vec<_> = keys(world)
        .await
        .iter()
        .map(|key| format!("{} {key}\n", address()))
        .collect();
    std::fs::write(&known, lines.concat()).expect("a file");
    let env = world.fleet(&["env"]);
    let key = env
        .lines()
        .find_map(|line| line.strip_prefix("KEY="))
        .expect("a key");
    let mut ssh = Command::new("ssh");
    ssh.args([
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "BatchMode=yes",
        "-o",
        "LogLevel=ERROR",
        "-i",
        key,
    ]);
    ssh.arg("-o")
        .arg(format!("UserKnownHostsFile={}", known.display()));
    let output = ssh
        .arg(format!("root@{}", address()))
        .arg(text)
        .output()
        .expect("ssh");
    assert!(output.status.success(), "{}", both(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

async fn nothing_is_written_before_one_disk_is_named(world: &World, bmc: &SimulatedBmc) {
    world.shell(HOST, "touch /root/before");
    until_host_says(world, "Reachable", "False/HostKeyMissing", 120).await;
    ask(world, "OTHER");
    let refused = until_host_says(world, "Installed", "False/ReinstallRefused", 60).await;
    assert!(refused.contains("\"OTHER\""), "{refused}");
    assert_eq!(bmc.state().images.len(), 0);
    ask(world, DISK);
    let refused = until_host_says(world, "Installed", "False/SeveralMatchingDisks", 180).await;
    assert!(refused.contains(DISK), "{refused}");
    within("the end of it", 60, async || {
        let host = world.api::<Host>().get(HOST).await.expect("a Host");
        let record = &host.metadata.annotations?["tatara.dev/installation"];
        record.contains("\"failed\"").then_some(())
    })
    .await;
    let (power, image, _) = bmc.looks();
    assert_eq!((power.as_str(), image), ("Off", None));
    // what was on the host is there as it was
    world.fleet(&["start", HOST, &address()]);
    world.fleet(&["wait", HOST]);
    world.shell(HOST, "test -e /root/before");
    bmc.state().power = "On".into();
}

async fn installed_when_asked(world: &World, bmc: &SimulatedBmc) {
    ask(world, DISK);
    until_host_says(world, "Installed", "True/", 300).await;
    until_host_says(world, "Available", "True/", 60).await;
    assert_eq!(
        says(world, "ls /root/before 2>/dev/null || echo gone").await,
        "gone"
    );
    let id = says(world, "cat /etc/tatara-installation").await;
    assert_eq!(id.len(), 32);
    assert_eq!(keys(world).await.len(), 1);
    closed_and_never_told(world, bmc);
}

/// The image is out of the drive and closed, the host boots from its disk, and nobody has learnt a secret.
fn closed_and_never_told(world: &World, bmc: &SimulatedBmc) {
    let state = bmc.state();
    assert_eq!((state.power.as_str(), state.image.as_ref()), ("On", None));
    assert_eq!(
        state.boot.1, "Hdd",
        "not the CD that its BMC would keep for ever"
    );
    assert_eq!(state.open_sessions(), 0);
    let mut told = std::fs::read_to_string(world.run().join("manager.log")).expect("a log");
    told.push_str(&world.kubectl(&["get", "hosts,events,machines", "-A", "-o", "json"]));
    assert!(!told.contains("PRIVATE KEY"));
    for image in &state.images {
        let code = curl(&["-o", "/dev/null", "-w", "%{http_code}", "--no-fail", image]);
        assert_eq!(code, b"404");
        let token = image.split('/').rev().nth(1).expect("a token");
        assert!(!told.contains(&token[..16]), "a token was told");
    }
}

async fn machine_on(world: &World, host: &str) -> String {
    let host = world.api::<Host>().get(host).await.expect("a Host");
    host.spec.consumer_ref.expect("a claim").name
}

/// The worker on this host goes; answers its name when it is gone.
async fn remove_worker_on(world: &World, host: &str) -> String {
    let machine = machine_on(world, host).await;
    let first = "cluster.k8s.io/delete-machine=true";
    world.kubectl(&["annotate", &format!("machine/{machine}"), first]);
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=1",
    ]);
    within("the end of the Machine", 300, async || {
        let machine = world
            .api::<Machine>()
            .get_opt(&machine)
            .await
            .expect("an answer");
        machine.is_none().then_some(())
    })
    .await;
    machine
}

fn nodes(world: &World) -> usize {
    let output = world
        .member_kubectl()
        .args(["get", "nodes", "-o", "name"])
        .output();
    String::from_utf8_lossy(&output.expect("kubectl").stdout)
        .lines()
        .count()
}

async fn installed_when_released(world: &World, bmc: &SimulatedBmc) {
    let (id, key) = (
        says(world, "cat /etc/tatara-installation").await,
        keys(world).await,
    );
    let machine = remove_worker_on(world, HOST).await;
    // the Machine did not wait for the installation
    let said = world.host_says(HOST, "Available").await;
    assert!(said.starts_with("False/"), "{said}");
    assert_eq!(nodes(world), 2, "the Node of {machine} is gone");
    until_host_says(world, "Available", "True/", 300).await;
    until_host_says(world, "Installed", "True/", 10).await;
    assert_ne!(says(world, "cat /etc/tatara-installation").await, id);
    assert_ne!(
        keys(world).await,
        key,
        "each installation has a key of its own"
    );
    assert_eq!(
        says(
            world,
            "ls /var/lib/tatara /etc/kubernetes/kubelet.conf 2>/dev/null | wc -l"
        )
        .await,
        "0"
    );
    closed_and_never_told(world, bmc);
    let resets = bmc.state().count("ComputerSystem.Reset");
    eprintln!("power actions in three installations: {resets}");
    // and it serves again
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=2",
    ]);
    world.until_ready(3, 600).await;
    assert!(!machine_on(world, HOST).await.is_empty());
}

async fn retained_when_released(world: &World) {
    let host = "host-c";
    world.kubectl(&[
        "patch",
        "host",
        host,
        "--type=merge",
        "-p",
        "{\"spec\":{\"wipePolicy\":\"retain\"}}",
    ]);
    world.shell(host, SHIM_WITHOUT_A_POD);
    remove_worker_on(world, host).await;
    assert_eq!(nodes(world), 2);
    let said = world.host_says(host, "Available").await;
    assert!(said.starts_with("False/Retained"), "{said}");
    let left = world.shell(host, "systemctl is-active kubelet; ls /etc/kubernetes/kubelet.conf; ls /var/lib/tatara/owner.json");
    assert!(
        left.starts_with("inactive")
            && left.contains("kubelet.conf")
            && left.contains("owner.json"),
        "{left}"
    );
    // nothing of a pod runs, and nothing brings one back; what containerd has of it stays. [c]: not the shell that looks
    let pods = "ctr --namespace k8s.io tasks ls --quiet | wc -l; pgrep -fc '[c]ontainerd-shim.* -namespace k8s.io' || true; \
        [[ -n $(ctr --namespace k8s.io containers ls --quiet) ]] && echo kept";
    assert_eq!(world.shell(host, pods), "0\n0\nkept");
    world.shell(host, "systemctl restart containerd");
    assert_eq!(world.shell(host, pods), "0\n0\nkept");
    world.kubectl(&[
        "patch",
        "host",
        host,
        "--type=merge",
        "-p",
        "{\"spec\":{\"wipePolicy\":\"reset\"}}",
    ]);
    within("a free host", 300, async || {
        world
            .host_says(host, "Available")
            .await
            .starts_with("True/")
            .then_some(())
    })
    .await;
    assert_eq!(nodes(world), 2, "its Node does not come back");
}
