//! `tatara describe`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use tatara_core::api::{Cluster, Machine};

use super::{Site, make, prepared, run};
use crate::support::plane::Plane;

pub fn tatara(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
    command
        .args(["describe", "cluster", "demo", "-n", namespace])
        .args(arguments);
    prepared(command, kubeconfig)
}

/// Reads lines until one contains `text`.
fn read_until(lines: &mut impl Iterator<Item = std::io::Result<String>>, text: &str) -> String {
    let found = lines
        .map(|line| line.expect("a line"))
        .find(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("the output ended without {text:?}"))
}

fn output(child: &mut Child) -> impl Iterator<Item = std::io::Result<String>> + use<> {
    BufReader::new(child.stdout.take().expect("stdout")).lines()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_cluster_is_shown_as_a_tree_with_what_it_waits_for() {
    let site = Site::new("tree").await;
    site.cluster("False", "Initializing").await;
    site.machine("Bootstrapping", "False", "KubeadmInit", "2/3 kubeadm-init")
        .await;
    let (code, out, error) = run(site.tatara(&[]));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let notice = "Lease tatara-system/tatara does not exist: no manager is running, or its Lease is in another namespace (--lease-namespace). The state below is the last one reported";
    let mut lines: Vec<&str> = out.lines().collect();
    assert!(lines.remove(0).starts_with(notice), "{out}");
    assert!(lines[0].starts_with("… Cluster/demo "), "{out}");
    assert!(
        lines[1].starts_with("└─ … Machine/demo-0  Bootstrapping "),
        "{out}"
    );
    assert!(
        lines[1].ends_with("on a · KubeadmInit: 2/3 kubeadm-init"),
        "{out}"
    );
    assert_eq!(lines[2], "1 free host: b");
    assert!(
        lines[3].starts_with("waiting for Machine demo-0: 2/3 kubeadm-init (for "),
        "{out}"
    );
    assert!(lines.contains(&"conditions:"), "{out}");
    let command = "  tatara describe machine demo-0 -n tree   # why it is Bootstrapping";
    assert!(lines.contains(&command), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn every_kind_is_described_by_the_names_that_kubectl_takes() {
    let site = Site::new("kinds").await;
    site.cluster("False", "Initializing").await;
    site.machine("Bootstrapping", "False", "KubeadmInit", "2/3 kubeadm-init")
        .await;
    let machine = site.api::<Machine>().get("demo-0").await;
    let uid = machine.expect("the Machine").uid().expect("a UID");
    let event = json!({"metadata": {"name": "demo-0.1"}, "reason": "KubeadmInit", "type": "Normal",
        "message": "1/3 images", "lastTimestamp": "2026-01-01T00:00:00Z",
        "involvedObject": {"kind": "Machine", "name": "demo-0", "namespace": "kinds", "uid": uid}});
    make(site.api::<Event>(), event).await;
    let described = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
        command
            .arg("describe")
            .args(arguments)
            .args(["-n", "kinds"]);
        let kubeconfig = site.plane.dir().join("admin.kubeconfig");
        run(prepared(command, &kubeconfig))
    };
    for (arguments, says) in [
        (
            &["machine", "demo-0"][..],
            &[
                "└─ … Machine/demo-0  Bootstrapping ",
                "   └─ ✓ Host/a       Claimed ",
                "events:",
                "KubeadmInit: 1/3 images",
                "next:\n  tatara describe cluster demo -n kinds ",
            ][..],
        ),
        (&["MA/demo-0"], &["└─ … Machine/demo-0  Bootstrapping "]),
        (&["Hosts", "a"], &["   └─ ✓ Host/a       Claimed "]),
        (&["ho/b"], &["✓ Host/b  Available "]),
    ] {
        let (code, out, error) = described(arguments);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments:?}");
        for part in says {
            assert!(out.contains(part), "{arguments:?}: no {part:?} in {out}");
        }
    }
    for (arguments, says) in [
        (
            &["machine", "none"][..],
            "error: Machine none does not exist in namespace kinds; the Machines are demo-0\n",
        ),
        (
            &["md"],
            "error: which MachineDeployment? In namespace kinds, there are no MachineDeployments: create one",
        ),
        (
            &["mc/small"],
            "error: MachineClass small does not exist in namespace kinds; there are no MachineClasses: ",
        ),
        (&["hv/a", "b"], "error: Hypervisor/a and b are two names; "),
        (
            &["pod", "a"],
            "error: \"pod\" is not a kind of Tatara; use one of cluster, machine, machineset, ",
        ),
    ] {
        let (code, out, error) = described(arguments);
        assert_ne!(code, Some(0), "{arguments:?}");
        assert_eq!(out, "");
        assert!(error.starts_with(says), "{arguments:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_watch_tells_changes_and_ends_with_the_cluster_ready() {
    let site = Site::new("live").await;
    site.cluster("False", "Initializing").await;
    let mut child = site
        .tatara(&["--watch", "--until-ready"])
        .spawn()
        .expect("tatara");
    let mut lines = output(&mut child);
    read_until(&mut lines, "Cluster/demo  Provisioning  Initializing");
    site.machine("Bootstrapping", "False", "KubeadmInit", "2/3 kubeadm-init")
        .await;
    read_until(
        &mut lines,
        "Machine/demo-0  Bootstrapping  on a · KubeadmInit: 2/3 kubeadm-init",
    );
    site.machine("Running", "True", "NodeReady", "").await;
    read_until(&mut lines, "✓ Machine/demo-0  Running  on a");
    site.cluster("True", "Ready").await;
    read_until(&mut lines, "the Cluster is ready");
    assert!(child.wait().expect("an end").success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_watch_of_a_deletion_ends_when_the_cluster_is_gone() {
    let site = Site::new("deleted").await;
    site.cluster("True", "Ready").await;
    let mut child = site.tatara(&["--watch"]).spawn().expect("tatara");
    let mut lines = output(&mut child);
    read_until(&mut lines, "✓ Cluster/demo");
    let deleted = site
        .api::<Cluster>()
        .delete("demo", &DeleteParams::default())
        .await;
    deleted.expect("a deletion");
    read_until(&mut lines, "the Cluster was deleted");
    assert!(child.wait().expect("an end").success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_timeout_says_what_was_waited_for() {
    let site = Site::new("late").await;
    site.cluster("False", "Initializing").await;
    site.machine("Bootstrapping", "False", "KubeadmInit", "2/3 kubeadm-init")
        .await;
    let (code, _, error) = run(site.tatara(&["--watch", "--until-ready", "--timeout", "1"]));
    assert_eq!(code, Some(1));
    let wanted = "error: Cluster demo is not ready after 1 s; waiting for Machine demo-0: 2/3 kubeadm-init (for ";
    assert!(error.starts_with(wanted), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_missing_cluster_and_refused_access_each_give_one_sentence_with_the_remedy() {
    let site = Site::new("empty").await;
    let (code, out, error) = run(site.tatara(&[]));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let wanted = "error: Cluster demo does not exist in namespace empty; there are no Clusters: create one, or select another namespace with --namespace\n";
    assert_eq!(error, wanted);

    let mut kubeconfig_of = site.plane.command(&["kubeconfig"], &["default", "empty"]);
    let made = kubeconfig_of.output().expect("a kubeconfig");
    assert!(made.status.success());
    let kubeconfig: PathBuf = site.plane.dir().join("nobody.kubeconfig");
    std::fs::write(&kubeconfig, made.stdout).expect("a file");
    let (code, _, error) = run(tatara(&kubeconfig, "empty", &["--watch"]));
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("error: you are not allowed to read "),
        "{error}"
    );
    assert!(
        error.contains("kubectl -n empty create rolebinding NAME --clusterrole=view --user=YOU"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_server_without_our_kinds_and_one_that_is_down_are_told_apart() {
    let plane = Plane::own();
    let kubeconfig = plane.dir().join("admin.kubeconfig");
    let (code, _, error) = run(tatara(&kubeconfig, "default", &[]));
    assert_eq!(code, Some(1));
    assert!(error.contains("does not serve "), "{error}");
    assert!(
        error.contains("tatara crds | kubectl apply --server-side --field-manager=tatara -f -"),
        "{error}"
    );
    plane.run(&["down"], &[]);
    let (code, _, error) = run(tatara(&kubeconfig, "default", &[]));
    assert_eq!(code, Some(1));
    assert!(
        error.contains("does not answer; check that it is running and that KUBECONFIG names"),
        "{error}"
    );
}
