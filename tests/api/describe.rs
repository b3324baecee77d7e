//! `tatara describe` and `tatara kubeconfig` on a real API server. No controllers run: the statuses that they would
//! write are written by hand.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara::api::{Cluster, Host, Machine};

use crate::support::kinds::{self, apply, condition};
use crate::support::plane::Plane;

/// A namespace of its own on the shared plane, with our kinds installed.
struct Site {
    plane: Arc<Plane>,
    client: Client,
    namespace: &'static str,
}

impl Site {
    async fn new(namespace: &'static str) -> Self {
        let plane = Plane::shared();
        let client = plane.client().await;
        kinds::install(&client).await;
        kinds::make_namespace(&client, namespace).await;
        Self {
            plane,
            client,
            namespace,
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    async fn cluster(&self, ready: &str, reason: &str) {
        let object = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "demo"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}});
        let status =
            json!({"phase": "Provisioning", "conditions": [condition("Ready", ready, reason, "")]});
        apply(&self.api::<Cluster>(), object, status).await;
    }

    async fn machine(&self, phase: &str, ready: &str, reason: &str, message: &str) {
        let object = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "demo-0", "labels": {"cluster.k8s.io/cluster-name": "demo"}},
            "spec": {"versions": {"kubelet": "v1.36.3", "controlPlane": "v1.36.3"}}});
        let status =
            json!({"phase": phase, "conditions": [condition("Ready", ready, reason, message)]});
        let machine = apply(&self.api::<Machine>(), object, status).await;
        let host = |name: &str, consumer: Option<Value>| {
            let mut spec = json!({"ssh": {"address": format!("{name}.test"),
                "credentialsRef": {"name": "key"}, "trustOnFirstUse": true}});
            if let Some(consumer) = consumer {
                spec["consumerRef"] = consumer;
            }
            json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
                "metadata": {"name": name}, "spec": spec})
        };
        let claim = json!({"name": "demo-0", "uid": machine.uid(), "cluster": "demo"});
        apply(
            &self.api::<Host>(),
            host("a", Some(claim)),
            json!({"state": "Claimed"}),
        )
        .await;
        apply(
            &self.api::<Host>(),
            host("b", None),
            json!({"state": "Available"}),
        )
        .await;
    }

    fn tatara(&self, arguments: &[&str]) -> Command {
        tatara(
            &self.plane.dir().join("admin.kubeconfig"),
            self.namespace,
            arguments,
        )
    }
}

fn tatara(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
    command
        .args(["describe", "cluster", "demo", "-n", namespace])
        .args(arguments);
    prepared(command, kubeconfig)
}

/// With this kubeconfig, and output that is read.
fn prepared(mut command: Command, kubeconfig: &Path) -> Command {
    command
        .env("KUBECONFIG", kubeconfig)
        .env("LC_ALL", "C.UTF-8");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("tatara");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
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
    let notice = "Lease tatara-system/tatara does not exist: no manager runs, or its Lease is in another namespace (--lease-namespace). What follows is as last reported";
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
    assert_eq!(lines[2], "1 host free: b");
    assert!(
        lines[3].starts_with("waiting for Machine demo-0: 2/3 kubeadm-init, for "),
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
            "error: namespace kinds has no Machine none; the Machines are demo-0\n",
        ),
        (
            &["md"],
            "error: which MachineDeployment? In namespace kinds, there are no MachineDeployments: apply one",
        ),
        (
            &["mc/small"],
            "error: namespace kinds has no MachineClass small; there are no MachineClasses: ",
        ),
        (&["hv/a", "b"], "error: Hypervisor/a and b are two names; "),
        (
            &["pod", "a"],
            "error: \"pod\" is no kind of Tatara's; name one of cluster, machine, machineset, ",
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
    let wanted = "error: Cluster demo is not ready after 1 s; waiting for Machine demo-0: 2/3 kubeadm-init, for ";
    assert!(error.starts_with(wanted), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_missing_cluster_and_refused_access_each_give_one_sentence_with_the_remedy() {
    let site = Site::new("empty").await;
    let (code, out, error) = run(site.tatara(&[]));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let wanted = "error: namespace empty has no Cluster demo; there are no Clusters: apply one, or name another namespace with --namespace\n";
    assert_eq!(error, wanted);

    let mut kubeconfig_of = site.plane.command(&["kubeconfig"], &["default", "empty"]);
    let made = kubeconfig_of.output().expect("a kubeconfig");
    assert!(made.status.success());
    let kubeconfig: PathBuf = site.plane.dir().join("nobody.kubeconfig");
    std::fs::write(&kubeconfig, made.stdout).expect("a file");
    let (code, _, error) = run(tatara(&kubeconfig, "empty", &["--watch"]));
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: you may not read "), "{error}");
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
        error.contains("does not answer; check that it runs, and that KUBECONFIG names"),
        "{error}"
    );
}

async fn make<K>(api: Api<K>, object: Value)
where
    K: Resource + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("an object");
    let made = api.create(&PostParams::default(), &object).await;
    made.expect("it is made");
}

fn kubeconfig(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
    command.args(["kubeconfig", "demo", "-n", namespace]);
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    command
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_kubeconfig_is_had_once_there_is_a_control_plane_by_those_who_may_read_its_secret() {
    const NAMESPACE: &str = "access";
    let site = Site::new(NAMESPACE).await;
    let admin = site.plane.dir().join("admin.kubeconfig");
    let refused = |kubeconfig_of: &Path, wanted: &str| {
        let (code, out, error) = run(kubeconfig(kubeconfig_of, NAMESPACE, &[]));
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert!(error.starts_with(&format!("error: {wanted}")), "{error}");
    };
    refused(
        &admin,
        "namespace access has no Cluster demo; these there are: kubectl -n access get clusters",
    );
    site.cluster("False", "Initializing").await;
    refused(
        &admin,
        "Cluster demo has no control plane yet (Initializing); wait for it: tatara describe cluster demo -n access --watch --until-ready",
    );

    let status = json!({"status": {"conditions": [condition("ControlPlaneInitialized", "True", "Initialized", "")]}});
    let api = site.api::<Cluster>();
    let (params, patch) = (PatchParams::default(), Patch::Merge(status));
    let patched = api.patch_status("demo", &params, &patch).await;
    patched.expect("a status");
    refused(
        &admin,
        "Secret demo-kubeconfig in namespace access holds no kubeconfig (key value)",
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "demo-kubeconfig"},
        "stringData": {"value": "kind: Config\n"}});
    make(site.api::<Secret>(), secret).await;
    let (code, out, error) = run(kubeconfig(&admin, NAMESPACE, &[]));
    assert_eq!(
        (code, out.as_str(), error.as_str()),
        (Some(0), "kind: Config\n", "")
    );
    let file = site.plane.dir().join("demo.kubeconfig");
    let name = file.to_str().expect("a path");
    let (code, out, error) = run(kubeconfig(&admin, NAMESPACE, &["-o", name]));
    assert_eq!((code, out.as_str(), error.as_str()), (Some(0), "", ""));
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "kind: Config\n"
    );

    // who may look at Clusters need not be their administrator
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks-at-clusters"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "looks-at-clusters"},
        "rules": [{"apiGroups": ["cluster.k8s.io"], "resources": ["clusters"], "verbs": ["get", "list"]}]});
    make(Api::<ClusterRole>::all(site.client.clone()), role).await;
    make(site.api::<RoleBinding>(), binding).await;
    let mut command = site.plane.command(&["kubeconfig"], &["default", NAMESPACE]);
    let viewer = site.plane.dir().join("viewer.kubeconfig");
    std::fs::write(&viewer, command.output().expect("a kubeconfig").stdout).expect("a file");
    refused(
        &viewer,
        "you may not read secrets in namespace access; ask an administrator for: kubectl -n access create rolebinding NAME --clusterrole=edit --user=YOU",
    );
}
