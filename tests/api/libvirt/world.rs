//! A management plane, the manager at work on it, and a hypervisor with its gateway.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::support::commands::{both, done, values};
use crate::support::plane::Plane;
use crate::support::programs::kubectl;
use crate::support::wait::{pause, until_true};

/// Name of the Hypervisor object, and of the Secret beside it.
pub const HYPERVISOR: &str = "hypervisor-a";

pub struct World {
    name: &'static str,
    subnet: &'static str,
    dir: tempfile::TempDir,
    manager: Child,
    plane: Plane,
    /// What `hack/gateway up` printed.
    gateway: BTreeMap<String, String>,
    /// URL and SHA-256 of an image: a few bytes that start nothing.
    pub image: (String, String),
}

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl World {
    /// A Cluster `c`, and a Hypervisor that is Available.
    pub async fn new(name: &'static str, subnet: &'static str) -> Self {
        let plane = Plane::with_tatara();
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut world = Self {
            name,
            subnet,
            manager: manage(&plane, &dir),
            dir,
            plane,
            gateway: BTreeMap::new(),
            image: Default::default(),
        };
        world.hack("libvirt", &["up", name]);
        world.gateway = values(&world.hack("gateway", &["up", name]));
        world.image = world.serve("image.raw", &vec![7; 1 << 20]);
        world.cluster();
        world.register();
        world
            .until_says("hypervisor/hypervisor-a", "Available", ".status.state")
            .await;
        world
    }

    /// A script of hack/ in this world; what it printed.
    pub fn hack(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(repository("hack").join(script));
        command
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", self.dir.path())
            .env("SUBNET", self.subnet);
        done(command.args(arguments))
    }

    /// URL and SHA-256 of a file that the hypervisor can fetch.
    pub fn serve(&self, file: &str, content: &[u8]) -> (String, String) {
        let path = self.dir.path().join(file);
        fs::write(&path, content).expect("a file");
        let sum = done(Command::new("sha256sum").arg(&path));
        let path = path.to_str().expect("text");
        let url = self.hack("libvirt", &["serve", self.name, path]);
        (url, sum[..64].to_owned())
    }

    /// Folder of a pool that `hack/libvirt pool` made.
    pub fn pool(&self, pool: &str) -> PathBuf {
        let hypervisor = self.dir.path().join(format!("virt.{}", self.name));
        hypervisor.join("pools").join(pool)
    }

    /// `virsh ARGUMENTS` at the hypervisor; what it printed.
    pub fn virsh(&self, arguments: &[&str]) -> String {
        let uri = self.hack("libvirt", &["uri", self.name]);
        done(
            Command::new("virsh")
                .args(["-q", "-c", &uri])
                .args(arguments),
        )
    }

    /// A signal to the gateway, such as STOP.
    pub fn gateway_signal(&self, signal: &str) {
        let run = self.dir.path().join(format!("virt.{}/run", self.name));
        let pid = fs::read_to_string(run.join("gateway.pid")).expect("its process");
        done(Command::new("kill").args([&format!("-{signal}"), pid.trim()]));
    }

    /// Names of all domains and of all volumes, sorted.
    pub fn domains_and_volumes(&self) -> Vec<String> {
        let domains = self.virsh(&["list", "--all", "--name"]);
        self.virsh(&["pool-refresh", "default"]);
        let volumes = self.virsh(&["vol-list", "default"]);
        let volumes = volumes
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let mut all: Vec<String> = domains
            .split_whitespace()
            .chain(volumes)
            .map(str::to_owned)
            .collect();
        all.sort();
        all
    }

    fn cluster(&self) {
        self.apply(&json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {
                "clusterNetwork": {
                    "services": {"cidrBlocks": ["10.96.0.0/16"]}, "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                    "serviceDomain": "cluster.local",
                },
                "providerSpec": {"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec"}},
            },
        }));
    }

    /// The Hypervisor, and what its gateway is reached with.
    fn register(&self) {
        let token = fs::read_to_string(&self.gateway["TOKEN_FILE"]).expect("a token");
        self.credentials(&self.authority(), token.trim());
        self.register_as(HYPERVISOR);
    }

    /// A Hypervisor of this name, with the one gateway that there is.
    pub fn register_as(&self, name: &str) {
        self.apply(&json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor",
            "metadata": {"name": name, "labels": {"site": "here"}},
            "spec": {"url": self.gateway["GATEWAY"], "credentialsRef": {"name": "gateway"}},
        }));
    }

    /// The authority of the gateway's certificate, as PEM.
    pub fn authority(&self) -> String {
        fs::read_to_string(&self.gateway["CA"]).expect("an authority")
    }

    /// The gateway's token file.
    pub fn token_file(&self) -> &str {
        &self.gateway["TOKEN_FILE"]
    }

    /// The Secret that the gateway is reached with.
    pub fn credentials(&self, authority: &str, token: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway"}, "type": "tatara.dev/gateway",
            "stringData": {"ca.crt": authority, "token": token},
        }));
    }

    /// A worker Machine that is a virtual machine. `change` is merged into its provider spec.
    pub fn machine(&self, name: &str, change: &Value) {
        let (url, sha256) = &self.image;
        let mut value = json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "LibvirtMachineProviderSpec",
            "cpus": 1, "memory": "128Mi",
            "rootDisk": {"size": "64Mi", "image": {"url": url, "sha256": sha256, "format": "raw"}},
        });
        merge(&mut value, change);
        self.apply(&json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": name, "labels": {"cluster.k8s.io/cluster-name": "c"}},
            "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": value}},
        }));
    }

    /// Waits until the virtual machine of a Machine runs and has no address: nothing runs in it.
    pub async fn until_running(&self, name: &str) {
        self.until_reason(name, "WaitingForAddress").await;
    }

    /// Waits until the Machine's condition `InfrastructureReady` has this reason.
    pub async fn until_reason(&self, name: &str, reason: &str) {
        let field = r#".status.conditions[?(@.type=="InfrastructureReady")].reason"#;
        self.until_says(&format!("machine/{name}"), reason, field)
            .await;
    }

    /// The message of the Machine's condition `InfrastructureReady`.
    pub fn message(&self, name: &str) -> String {
        let field = r#".status.conditions[?(@.type=="InfrastructureReady")].message"#;
        self.says(&format!("machine/{name}"), field)
    }

    /// Waits until that message has this in it. What is tried again says so in between.
    pub async fn until_message(&self, name: &str, part: &str) {
        until_true(&format!("{part:?} in what Machine {name} says"), || {
            self.message(name).contains(part)
        })
        .await;
    }

    /// All that is told where people and programs may look: by place.
    pub fn told(&self) -> Vec<(String, String)> {
        let read = |path: &Path| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut told = vec![(
            "manager.log".to_owned(),
            read(&self.dir.path().join("manager.log")),
        )];
        for kind in ["events", "machines", "hypervisors", "clusters"] {
            let objects = self.kubectl(&["get", kind, "-A", "-o", "yaml"]);
            told.push((kind.to_owned(), objects));
        }
        let hypervisor = self.dir.path().join(format!("virt.{}", self.name));
        for folder in ["log", "log/qemu"] {
            for entry in fs::read_dir(hypervisor.join(folder)).expect("its logs") {
                let path = entry.expect("an entry").path();
                told.push((path.display().to_string(), read(&path)));
            }
        }
        for domain in self.virsh(&["list", "--all", "--name"]).split_whitespace() {
            told.push((domain.to_owned(), self.virsh(&["dumpxml", domain])));
        }
        for entry in fs::read_dir("/proc").expect("processes").flatten() {
            let arguments = read(&entry.path().join("cmdline"));
            told.push((entry.path().display().to_string(), arguments));
        }
        told
    }

    /// Name of the domain of a Machine.
    pub fn domain(&self, name: &str) -> String {
        self.says(&format!("machine/{name}"), ".status.host")
    }

    /// `kubectl apply` of one object.
    pub fn apply(&self, object: &Value) {
        let mut command = self.command(&["apply", "--server-side", "--force-conflicts", "-f", "-"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(object.to_string().as_bytes())
            .expect("written");
        let output = child.wait_with_output().expect("kubectl");
        assert!(output.status.success(), "{}", both(&output));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = kubectl();
        command
            .arg("--kubeconfig")
            .arg(self.plane.dir().join("admin.kubeconfig"))
            .args(arguments);
        command
    }

    /// `kubectl ARGUMENTS`, which must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        done(&mut self.command(arguments))
    }

    /// A field of an object; empty without one.
    pub fn says(&self, what: &str, field: &str) -> String {
        let path = format!("jsonpath={{{field}}}");
        self.kubectl(&["get", what, "--ignore-not-found", "-o", &path])
    }

    pub async fn until_says(&self, what: &str, text: &str, field: &str) {
        let mut said = String::new();
        let asking = async {
            loop {
                let asked = Instant::now();
                said = self.says(what, field);
                if said == text {
                    return;
                }
                pause(asked).await;
            }
        };
        if tokio::time::timeout(Duration::from_mins(3), asking)
            .await
            .is_err()
        {
            panic!(
                "{text:?} in {field} of {what}: not within 180 s, but {said:?}: {}",
                self.kubectl(&["describe", what])
            );
        }
    }

    pub async fn until_gone(&self, what: &str) {
        until_true(&format!("the end of {what}"), || {
            self.kubectl(&["get", what, "--ignore-not-found", "-o", "name"])
                .is_empty()
        })
        .await;
    }

    /// `kill -9` of the manager, and a new one.
    pub fn restart_manager(&mut self) {
        self.kill_manager();
        self.manager = manage(&self.plane, &self.dir);
    }

    /// A client with the manager's account.
    pub async fn manager_client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.dir.path().join("kubeconfig"));
        let kubeconfig = kubeconfig.expect("the manager's kubeconfig");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        kube::Client::try_from(config.expect("a configuration")).expect("a client")
    }

    pub fn kill_manager(&mut self) {
        self.manager.kill().expect("a signal");
        self.manager.wait().expect("its end");
    }
}

fn merge(into: &mut Value, change: &Value) {
    let Some(fields) = change.as_object() else {
        *into = change.clone();
        return;
    };
    for (name, field) in fields {
        merge(&mut into[name], field);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.manager.kill().ok();
        self.manager.wait().ok();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.dir.path().join("manager.log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
        // fails, and says what, when something is left
        self.hack("libvirt", &["down", self.name]);
    }
}

/// The manager, as its service account.
fn manage(plane: &Plane, dir: &tempfile::TempDir) -> Child {
    let account = ["tatara-manager", "tatara-system"];
    let kubeconfig = done(&mut plane.command(&["kubeconfig"], &account));
    fs::write(dir.path().join("kubeconfig"), kubeconfig).expect("a file");
    let log = File::options()
        .create(true)
        .append(true)
        .open(dir.path().join("manager.log"));
    Command::new(env!("CARGO_BIN_EXE_tatara"))
        .args([
            "manager",
            "--allow-local-endpoints",
            "--http-address",
            "127.0.0.1:0",
        ])
        .env("KUBECONFIG", dir.path().join("kubeconfig"))
        .env("POD_NAME", "manager")
        .stdin(Stdio::null())
        .stderr(log.expect("a file"))
        .spawn()
        .expect("the manager")
}
