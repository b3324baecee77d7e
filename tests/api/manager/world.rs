//! A namespace with everything that a cluster has, and the manager at work on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use serde_json::{Value, json};

use crate::manager::process::{manage, manage_guarded, manage_packed};
use crate::support::commands::{both, done};
use crate::support::plane::Plane;
use crate::support::programs::kubectl;
use crate::support::wait::until_true;

/// The Secrets that the manager makes for a cluster.
pub const CLUSTER_SECRETS: [&str; 5] = [
    "secret/c-ca",
    "secret/c-etcd",
    "secret/c-proxy",
    "secret/c-sa",
    "secret/c-kubeconfig",
];

/// What the manager is called in the leader election.
const MANAGER: &str = "manager";

const OBJECTS: &str = r"
apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  clusterNetwork:
    services: {cidrBlocks: [10.96.0.0/16]}
    pods: {cidrBlocks: [10.244.0.0/16]}
    serviceDomain: cluster.local
  providerSpec:
    value:
      apiVersion: tatara.dev/v1alpha1
      kind: ClusterProviderSpec
      controlPlaneEndpoint: {host: 127.0.0.1, port: 1}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineClass
metadata: {name: pool}
providerSpec:
  value: {apiVersion: tatara.dev/v1alpha1, kind: SSHMachineProviderSpec}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: {name: first, labels: {cluster.k8s.io/cluster-name: c}}
spec:
  versions: {kubelet: v1.36.3, controlPlane: v1.36.3}
  providerSpec:
    value: {apiVersion: tatara.dev/v1alpha1, kind: SSHMachineProviderSpec}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: workers, labels: {cluster.k8s.io/cluster-name: c}}
spec:
  replicas: 1
  selector: {matchLabels: {pool: workers}}
  template:
    metadata: {labels: {pool: workers, cluster.k8s.io/cluster-name: c}}
    spec:
      versions: {kubelet: v1.36.3}
      providerSpec: {valueFrom: {machineClass: {name: pool}}}
";

pub struct World {
    namespace: &'static str,
    dir: tempfile::TempDir,
    manager: Child,
    identity: &'static str,
    plane: Plane,
}

pub fn repository(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(path).to_str().expect("text").to_owned()
}

impl World {
    /// A Cluster, a control-plane Machine, a worker of a MachineDeployment and a class; each Machine holds
    /// a Host that does not answer.
    pub async fn new(namespace: &'static str) -> Self {
        let plane = Plane::with_tatara();
        let dir = tempfile::tempdir().expect("a temporary folder");
        let world = Self {
            namespace,
            manager: manage(&plane, dir.path(), MANAGER),
            identity: MANAGER,
            dir,
            plane,
        };
        world.kubectl(&["create", "namespace", namespace]);
        world.fill().await;
        world
    }

    async fn fill(&self) {
        let key = self.dir.path().join("key");
        let kind = ["-q", "-t", "ed25519", "-N", "", "-f"];
        done(Command::new("ssh-keygen").args(kind).arg(&key));
        let file = format!("--from-file=ssh-privatekey={}", key.display());
        let secret = ["secret", "generic", "ssh", "--type=kubernetes.io/ssh-auth"];
        self.kubectl(&[&["create"], &secret[..], &[&file]].concat());
        let public = fs::read_to_string(key.with_extension("pub")).expect("a public key");
        self.create("objects.yaml", OBJECTS);
        let held = ".metadata.finalizers[*]";
        for what in &CLUSTER_SECRETS[..4] {
            self.until_says(what, "tatara.dev/in-use", held).await;
        }
        self.initialize();
        let worker = self.worker().await;
        let hosts = [("first", "machine/first", 1), ("worker", &worker, 2)];
        for (name, machine, port) in hosts {
            let host = self.host(name, machine, public.trim(), port);
            self.create(&format!("{name}.yaml"), &host.to_string());
        }
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh"}});
        fs::write(self.manifests().join("ssh.yaml"), secret.to_string()).expect("a file");
        for what in ["secret/ssh", "secret/c-kubeconfig", "machineclass/pool"] {
            self.until_says(what, "tatara.dev/in-use", held).await;
        }
        for machine in ["machine/first", &worker] {
            let adopted = "machine.cluster.k8s.io";
            self.until_says(machine, adopted, held).await;
        }
    }

    /// The record that the first Machine has run `kubeadm init`.
    fn initialize(&self) {
        let uid = self.says("machine/first", ".metadata.uid");
        let record = format!("tatara.dev/control-plane-initialized={uid}");
        self.kubectl(&["annotate", "cluster/c", &record]);
    }

    /// A Cluster whose kubeconfig a user gave: that of this plane.
    pub fn external_cluster(&self, name: &str, addons: &Value) {
        let file = format!("--from-file=value={}", self.kubeconfig().display());
        let secret = format!("{name}-kubeconfig");
        self.kubectl(&["create", "secret", "generic", &secret, &file]);
        self.plain_cluster(name, addons);
    }

    /// The administrator's kubeconfig of this plane.
    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.dir().join("admin.kubeconfig")
    }

    /// The present end of the audit log of this plane.
    pub fn audit(&self) -> crate::support::audit::Mark {
        crate::support::audit::Mark::end_of(&self.plane.dir().join("audit.log"))
    }

    /// How many requests the API server of this plane was asked whose line in its audit log has all of this.
    pub fn asked(&self, parts: &[&str]) -> usize {
        let log = fs::read_to_string(self.plane.dir().join("audit.log")).expect("an audit log");
        let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
        log.lines().filter(has_all).count()
    }

    /// A Cluster without Machines.
    pub fn plain_cluster(&self, name: &str, addons: &Value) {
        let cluster = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name},
            "spec": {
                "clusterNetwork": {
                    "services": {"cidrBlocks": ["10.96.0.0/16"]},
                    "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                    "serviceDomain": "cluster.local",
                },
                "providerSpec": {"value": {
                    "apiVersion": "tatara.dev/v1alpha1",
                    "kind": "ClusterProviderSpec",
                    "addons": addons,
                }},
            },
        });
        self.create(&format!("{name}.yaml"), &cluster.to_string());
    }

    /// A Host as its claim by a Machine leaves it. Nobody listens at these ports.
    fn host(&self, name: &str, machine: &str, key: &str, port: u16) -> Value {
        let holder = machine.trim_start_matches("machine/");
        let key: Vec<_> = key.split_whitespace().take(2).collect();
        json!({
            "apiVersion": "tatara.dev/v1alpha1",
            "kind": "Host",
            "metadata": {"name": name, "finalizers": ["tatara.dev/in-use"]},
            "spec": {
                "ssh": {
                    "address": "127.0.0.1",
                    "port": port,
                    "credentialsRef": {"name": "ssh"},
                    "hostKeys": [key.join(" ")],
                },
                "consumerRef": {
                    "name": holder,
                    "uid": self.says(machine, ".metadata.uid"),
                    "cluster": "c",
                },
            },
        })
    }

    pub fn create(&self, file: &str, text: &str) {
        fs::create_dir_all(self.manifests()).expect("a folder");
        let path = self.manifests().join(file);
        fs::write(&path, text).expect("a file");
        self.kubectl(&["create", "-f", path.to_str().expect("text")]);
    }

    /// The folder with all that was made.
    pub fn manifests(&self) -> PathBuf {
        self.dir.path().join("manifests")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = kubectl();
        let kubeconfig = self.plane.dir().join("admin.kubeconfig");
        command.arg("--kubeconfig").arg(kubeconfig);
        command.args(["-n", self.namespace]).args(arguments);
        command
    }

    /// `kubectl ARGUMENTS`, which must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        done(&mut self.command(arguments))
    }

    /// Everything that kubectl prints, whether it succeeds or not.
    pub fn kubectl_says(&self, arguments: &[&str]) -> String {
        both(&self.command(arguments).output().expect("kubectl"))
    }

    pub fn patch(&self, what: &str, change: &Value) {
        self.kubectl(&["patch", what, "--type=merge", "-p", &change.to_string()]);
    }

    pub fn exists(&self, what: &str) -> bool {
        !self
            .kubectl(&["get", what, "--ignore-not-found", "-o", "name"])
            .is_empty()
    }

    /// A field of an object; empty without one.
    pub fn says(&self, what: &str, field: &str) -> String {
        let path = format!("jsonpath={{{field}}}");
        self.kubectl(&["get", what, "--ignore-not-found", "-o", &path])
    }

    pub async fn until_says(&self, what: &str, text: &str, field: &str) {
        until_true(&format!("{text:?} in {field} of {what}"), || {
            self.says(what, field) == text
        })
        .await;
    }

    /// As `until_says`, whatever follows the text.
    pub async fn until_begins(&self, what: &str, text: &str, field: &str) {
        until_true(
            &format!("{text:?} at the start of {field} of {what}"),
            || self.says(what, field).starts_with(text),
        )
        .await;
    }

    pub async fn until_gone(&self, what: &str) {
        until_true(&format!("the end of {what}"), || !self.exists(what)).await;
    }

    /// A field of an object in the manager's own namespace.
    pub fn system_says(&self, what: &str, field: &str) -> String {
        let path = format!("jsonpath={{{field}}}");
        self.kubectl(&["-n", "tatara-system", "get", what, "-o", &path])
    }

    /// SIGTERM, and the manager's end.
    pub async fn stop_manager(&mut self) -> ExitStatus {
        done(Command::new("kill").arg(self.manager.id().to_string()));
        self.manager_ends().await
    }

    /// `kill -9`.
    pub fn kill_manager(&mut self) {
        self.manager.kill().expect("a signal");
        self.manager.wait().expect("its end");
    }

    pub fn start_manager(&mut self) {
        self.manager = manage(&self.plane, self.dir.path(), self.identity);
    }

    /// The manager without leave to go to loopback addresses.
    pub fn start_guarded_manager(&mut self) {
        self.manager = manage_guarded(&self.plane, self.dir.path(), self.identity);
    }

    /// The manager of an image that is unpacked at `root`.
    pub fn start_packed_manager(&mut self, root: &Path) {
        self.manager = manage_packed(root, &self.plane, self.dir.path(), self.identity);
    }

    /// Another manager, with another identity, beside the one that leads; it waits to.
    pub async fn start_standby(&mut self) -> Child {
        self.identity = "standby";
        let standby = manage(&self.plane, self.dir.path(), self.identity);
        let waits = || self.log().contains("waiting to lead");
        until_true("a manager that waits", waits).await;
        std::mem::replace(&mut self.manager, standby)
    }

    /// etcd stands still until the returned process has ended.
    pub fn pause_etcd(&self, seconds: u32) -> Child {
        let mut pause = self.plane.command(&["pause-etcd"], &[&seconds.to_string()]);
        pause.spawn().expect("a pause")
    }

    /// The most memory that the manager has had, in MiB.
    pub fn peak(&self) -> u64 {
        let status = format!("/proc/{}/status", self.manager.id());
        let status = fs::read_to_string(status).expect("its status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.split_whitespace().next());
        peak.and_then(|peak| peak.parse::<u64>().ok())
            .expect("a size")
            / 1024
    }

    pub fn log(&self) -> String {
        let log = format!("{}.log", self.identity);
        fs::read_to_string(self.dir.path().join(log)).expect("a log")
    }

    /// Waits until the manager ends by itself.
    pub async fn manager_ends(&mut self) -> ExitStatus {
        let mut end = None;
        until_true("the end of the manager", || {
            end = self.manager.try_wait().expect("its state");
            end.is_some()
        })
        .await;
        end.expect("its end")
    }

    /// Waits until the manager that was started last leads.
    pub async fn until_leading(&self) {
        until_true("a leader", || self.log().contains("leading")).await;
    }

    /// The worker, once it is there: `machine/NAME`.
    pub async fn worker(&self) -> String {
        let name = || self.kubectl(&["get", "machines", "-l", "pool=workers", "-o", "name"]);
        until_true("a worker", || !name().is_empty()).await;
        name().replace("machine.cluster.k8s.io/", "machine/")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.manager.kill().ok();
        self.manager.wait().ok();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
