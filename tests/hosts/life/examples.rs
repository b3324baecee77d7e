//! templates/examples/ as its page says, on three hosts: the files as they are, with the blanks filled in.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tatara_core::api::Cluster;

use crate::life::hosts::right_key;
use crate::support::commands::done;
use crate::support::conditions::is_true;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::{World, root};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn the_examples_make_a_cluster_after_three_blanks_and_give_its_kubeconfig() {
    let world = World::prepared("own", "10.82.0").await;
    let examples = filled(&world);
    let apply = |file: &str| {
        let file = examples.join(file);
        let file = file.to_str().expect("a path");
        world.kubectl(&["apply", "--server-side", "-f", file]);
    };
    step_2_the_key(&world);
    step_3_the_network(&world);
    apply("10-hosts.yaml");
    within("hosts that are Available", 60, async || {
        (world.available().await.len() == 3).then_some(())
    })
    .await;
    apply("20-cluster.yaml");
    what_these_hosts_need(&world);
    apply("30-machines.yaml");
    tatara(
        &world,
        &[
            "describe",
            "cluster",
            "example",
            "--watch",
            "--until-ready",
            "--timeout",
            "400",
        ],
    );
    world.until_ready(3, 60).await;
    step_6_the_kubeconfig(&world);

    a_failed_command_after_kubeadm_is_said_and_tried_again(&world).await;

    world.kubectl(&["delete", "cluster/example"]);
    within("all hosts back", 180, async || {
        (world.available().await.len() == 3).then_some(())
    })
    .await;
}

/// The files of templates/examples, each blank filled in where it is one.
fn filled(world: &World) -> PathBuf {
    let folder = world.run().join("examples");
    std::fs::create_dir_all(&folder).expect("a folder");
    let at = |last: u8| format!("{}.{last}", world.subnet());
    let mut blanks = vec![("ENDPOINT".to_owned(), at(100))];
    for (letter, last) in [("A", 11), ("B", 12), ("C", 13)] {
        let host = format!("host-{}", letter.to_lowercase());
        let keys = world.fleet(&["hostkey", &host]);
        let mut key = keys.lines().next().expect("a key").split(' ');
        let key = [key.next(), key.next()].map(|word| word.expect("a word"));
        blanks.push((format!("ADDRESS-{letter}"), at(last)));
        blanks.push((format!("KEY-{letter}"), key.join(" ")));
    }
    for file in ["10-hosts.yaml", "20-cluster.yaml", "30-machines.yaml"] {
        let text = std::fs::read_to_string(root().join("templates/examples").join(file));
        let text = text.expect("an example");
        let is_read = |line: &&str| !line.trim_start().starts_with('#');
        let lines = text.lines().filter(is_read).map(|line| {
            blanks.iter().fold(line.to_owned(), |line, (blank, value)| {
                line.replace(blank, value)
            })
        });
        let lines: Vec<_> = lines.collect();
        std::fs::write(folder.join(file), lines.join("\n")).expect("a file");
    }
    folder
}

fn step_2_the_key(world: &World) {
    let file = world.run().join("key");
    std::fs::write(&file, right_key(world)).expect("a file");
    let from = format!("--from-file=ssh-privatekey={}", file.display());
    let create = ["create", "secret", "generic", "hosts-ssh"];
    world.kubectl(&[&create[..], &["--type=kubernetes.io/ssh-auth", &from]].concat());
}

/// There is no way out of this test: the manifest is the quickstart's, whose images the hosts have.
fn step_3_the_network(world: &World) {
    let manifest = std::fs::read_to_string(root().join("templates/quickstart/flannel.yaml"));
    let manifest = manifest.expect("the manifest");
    let vip = format!("{}.100", world.subnet());
    let file = world.run().join("kube-flannel.yml");
    std::fs::write(&file, manifest.replace("@VIP@", &vip)).expect("a file");
    let from = format!("--from-file={}", file.display());
    world.kubectl(&["create", "configmap", "example-cni", &from]);
}

/// Hosts that are namespaces of one machine, on a kernel and a disk that they share, and without a registry: settings that
/// no server needs, given beside the example as any user gives settings.
fn what_these_hosts_need(world: &World) {
    let is_v2 = std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let mut registration = json!({"imagePullPolicy": "Never"});
    let mut kubelet = json!({
        "evictionHard": {"imagefs.available": "0%", "nodefs.available": "0%", "memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
    });
    if !is_v2 {
        registration["ignorePreflightErrors"] = json!(["SystemVerification"]);
        kubelet["cgroupDriver"] = json!("cgroupfs");
        kubelet["failCgroupV1"] = json!(false);
    }
    let registration = json!({"nodeRegistration": registration});
    let value = json!({
        "kubeadm": {"initConfiguration": registration, "joinConfiguration": registration},
        "kubeletConfiguration": kubelet,
        "kubeProxyConfiguration": {"conntrack": {"maxPerCore": 0, "min": 0}},
    });
    let patch = json!({"spec": {"providerSpec": {"value": value}}}).to_string();
    world.kubectl(&["patch", "cluster/example", "--type=merge", "-p", &patch]);
}

pub fn tatara(world: &World, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
    let kubeconfig = world.run().join("management/admin.kubeconfig");
    done(command.args(arguments).env("KUBECONFIG", kubeconfig))
}

fn step_6_the_kubeconfig(world: &World) {
    let file = world.run().join("example.kubeconfig");
    let name = file.to_str().expect("a path");
    tatara(world, &["kubeconfig", "example", "-o", name]);
    let mut nodes = world.kubectl_command();
    let nodes = done(nodes.args(["--kubeconfig", name, "get", "nodes", "-o", "name"]));
    assert_eq!(nodes, "node/host-a\nnode/host-b\nnode/host-c");

    let text = std::fs::read_to_string(&file).expect("a file");
    let text = text.trim();
    assert_eq!(tatara(world, &["kubeconfig", "example"]), text);
    let secret = ["get", "secret", "example-kubeconfig", "-o"];
    let template = "go-template={{.data.value | base64decode}}";
    assert_eq!(world.kubectl(&[&secret[..], &[template]].concat()), text);
}

/// The Node is there, and Ready, while the command fails; also for a manager that starts anew.
async fn a_failed_command_after_kubeadm_is_said_and_tried_again(world: &World) {
    let scale = ["scale", "machinedeployment/example-workers", "--replicas=1"];
    world.kubectl(&scale);
    within("a host that is free", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let value = json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
        "hostSelector": {"matchLabels": {"role": "worker"}},
        "node": {"postKubeadmCommands": ["echo tried >>/root/tried; test -e /root/licence"]},
    });
    let late: Value = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "late", "namespace": "default", "labels": {"cluster.k8s.io/cluster-name": "example"}},
        "spec": {"versions": {"kubelet": pinned("KUBERNETES")}, "providerSpec": {"value": value}},
    });
    assert!(world.apply(&late).status.success());
    let fails = "False/PostKubeadmCommandsFailed: ";
    let says = async |condition: &str, text: &str| {
        within(text, 120, async || {
            let said = world.machine_says("late", condition).await;
            said.contains(text).then_some(said)
        })
        .await
    };
    says("Ready", fails).await;
    says("NodeHealthy", "True/NodeReady").await;
    let said = says("BootstrapReady", fails).await;
    assert!(said.contains("command 1 of postKubeadmCommands"), "{said}");
    world.replace_manager().await;
    says("BootstrapReady", fails).await;

    let host = world.host_of("late").await;
    world.shell(&host, "touch /root/licence");
    says("Ready", "True/NodeReady").await;
    let tries = || world.shell(&host, "grep -c tried /root/tried");
    let before = tries();
    let cluster = world.api::<Cluster>().get("example").await;
    let status = cluster.expect("the Cluster").status.expect("a status");
    assert!(is_true(&status.conditions, "ControlPlaneHealthy"));
    assert_eq!(tries(), before, "commands that succeeded are not run again");
}
