//! Two management planes, and the manager between them.

use std::fmt::Debug;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara_core::api::Machine;
use tatara_core::api::conditions::{ConditionType, is_true};

use crate::perturbed::proxy::Proxy;
use crate::support::audit::{MANAGER, Mark};
use crate::support::plane::Plane;
use crate::support::ports;
use crate::support::wait::eventually;

pub struct Site {
    client: Client,
    member: Client,
    manager: Option<Child>,
    /// Of the second plane.
    version: String,
    /// Of the management plane.
    url: String,
    /// Where the manager serves its metrics.
    http: String,
    /// Where the manager reaches the API server, if not there.
    through: Option<String>,
    management: Plane,
    other: Plane,
}

impl Site {
    /// To a Cluster whose control plane is the second plane.
    pub async fn new() -> Self {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let (management, other) = (Plane::with_tatara(), Plane::own());
        let member = other.client().await;
        let version = member.apiserver_version().await.expect("a version");
        let mut site = Self {
            client: management.client().await,
            member,
            manager: None,
            version: version.git_version,
            url: management
                .config()
                .await
                .cluster_url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            http: String::new(),
            through: None,
            management,
            other,
        };
        site.start_manager();
        site.give_kubeconfig("simulated");
        site.cluster(&json!({}));
        site
    }

    /// The kubeconfig of the second plane.
    pub fn kubeconfig(&self) -> Vec<u8> {
        std::fs::read(self.other.dir().join("admin.kubeconfig")).expect("a kubeconfig")
    }

    /// A client of the management plane that the manager's proxy does not disturb.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of the second plane, as that of a Cluster of this name.
    pub fn give_kubeconfig(&self, cluster: &str) {
        let kubeconfig = self.other.dir().join("admin.kubeconfig");
        let from = format!("--from-file=value={}", kubeconfig.display());
        let secret = format!("{cluster}-kubeconfig");
        self.kubectl(&["create", "secret", "generic", &secret, &from], "");
    }

    /// The Cluster, with this provider spec.
    pub fn cluster(&self, provider_spec: &Value) {
        let cluster = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "simulated", "namespace": "default"},
            "spec": {"providerSpec": provider_spec,
                "clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}});
        self.apply(&cluster.to_string());
    }

    /// The manager's account and what it may do, as they are shipped.
    pub fn install_rights(&self) {
        let root = env!("CARGO_MANIFEST_DIR");
        for file in [
            "00-namespace.yaml",
            "10-service-account.yaml",
            "20-controller-roles.yaml",
            "21-role-bindings.yaml",
            "30-admission.yaml",
            "if-missing/clusterprofiles.multicluster.x-k8s.io.yaml",
        ] {
            let text = std::fs::read_to_string(format!("{root}/templates/install/{file}"));
            self.apply(&text.expect("a manifest"));
        }
    }

    fn start_manager(&mut self) {
        self.http = ports::free().to_string();
        let kubeconfig = self.management.dir().join("manager.kubeconfig");
        let account = ["tatara-manager", "tatara-system"];
        let made = self.management.command(&["kubeconfig"], &account).output();
        let made = String::from_utf8(made.expect("a kubeconfig").stdout).expect("text");
        let made = match &self.through {
            Some(url) => made.replace(&self.url, url),
            None => made,
        };
        std::fs::write(&kubeconfig, made).expect("a file");
        let log = self.management.dir().join("manager.log");
        let log = File::options().create(true).append(true).open(log);
        let manager = Command::new(env!("CARGO_BIN_EXE_tatara"))
            .args([
                "manager",
                "--allow-local-endpoints",
                "--log-json",
                "--http-address",
                &self.http,
            ])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stderr(log.expect("a log"))
            .spawn();
        self.manager = Some(manager.expect("a manager"));
    }

    /// The version of the Cluster's API server.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What the manager counted, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(&self.http).expect("the manager's port");
        let request = b"GET /metrics HTTP/1.0\r\n\r\n";
        stream.write_all(request).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
        answer
    }

    /// What the manager logged.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(self.management.dir().join("manager.log"));
        let mut log = log.expect("a log");
        // the last line may be half written
        log.truncate(log.rfind('\n').map_or(0, |end| end + 1));
        log
    }

    pub fn stop_manager(&mut self) {
        if let Some(mut manager) = self.manager.take() {
            manager.kill().expect("a signal");
            manager.wait().expect("an end");
        }
    }

    /// `kill -9`, and another one that leads at once.
    pub fn restart_manager(&mut self) {
        self.stop_manager();
        // a dead leader's Lease would be waited for; one that was killed at once has none yet
        let lease = ["lease", "tatara", "--namespace=tatara-system"];
        let delete = [&["delete", "--ignore-not-found"], &lease[..]].concat();
        self.kubectl(&delete, "");
        self.start_manager();
    }

    /// A proxy to the management plane; the manager goes through it from now on.
    pub async fn go_through_proxy(&mut self) -> Proxy {
        let authority = self.management.dir().join("pki/ca.crt");
        let authority = std::fs::read(authority).expect("a CA");
        let proxy = Proxy::to(&self.url, &authority).await;
        self.through = Some(proxy.url.clone());
        self.restart_manager();
        proxy
    }

    pub fn kubectl(&self, arguments: &[&str], input: &str) {
        assert!(self.try_kubectl(arguments, input), "{arguments:?}");
    }

    /// Whether kubectl succeeds.
    pub fn try_kubectl(&self, arguments: &[&str], input: &str) -> bool {
        let path = self.management.dir().join("run/kubectl.path");
        let kubectl = std::fs::read_to_string(path).expect("the path of kubectl");
        let mut child = Command::new(kubectl.trim())
            .arg("--kubeconfig")
            .arg(self.management.dir().join("admin.kubeconfig"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("kubectl");
        let mut stdin = child.stdin.take().expect("its standard input");
        stdin.write_all(input.as_bytes()).expect("room in a pipe");
        drop(stdin);
        child.wait().expect("its end").success()
    }

    /// `tatara` with the caller's rights: whether it succeeds, its output, and its error.
    pub fn tatara(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_tatara"))
            .args(arguments)
            .env("KUBECONFIG", self.management.dir().join("admin.kubeconfig"))
            .output()
            .expect("tatara");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    pub fn apply(&self, manifest: &str) {
        self.kubectl(&["apply", "--server-side", "-f", "-"], manifest);
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, kind: &str, name: &str, change: &Value) {
        let change = change.to_string();
        self.kubectl(&["patch", kind, name, "--type=merge", "-p", &change], "");
    }

    /// A MachineDeployment of simulated machines with these settings.
    pub fn deployment(&self, name: &str, replicas: u32, settings: Value) {
        let mut value = settings;
        value["apiVersion"] = json!("tatara.dev/v1alpha1");
        value["kind"] = json!("SimulatedMachineProviderSpec");
        let labels = json!({"pool": name, "cluster.k8s.io/cluster-name": "simulated"});
        let deployment = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": {"name": name, "namespace": "default",
                "labels": {"cluster.k8s.io/cluster-name": "simulated"}},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"pool": name}},
                "template": {"metadata": {"labels": labels}, "spec": {
                    "versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": value}}}}});
        self.apply(&deployment.to_string());
    }

    pub fn scale(&self, name: &str, replicas: u32) {
        let replicas = format!("--replicas={replicas}");
        self.kubectl(&["scale", "machinedeployment", name, &replicas], "");
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Of the API server that simulated machines register their Nodes in.
    pub fn member(&self) -> &Client {
        &self.member
    }

    pub async fn machines(&self, pool: &str) -> Vec<Machine> {
        let parameters = ListParams::default().labels(&format!("pool={pool}"));
        listed(self.api(), &parameters).await
    }

    pub async fn nodes(&self) -> Vec<Node> {
        listed(Api::all(self.member.clone()), &ListParams::default()).await
    }

    /// Waits until there are `count` Machines in a pool, and all are Ready.
    pub async fn until_ready(&self, pool: &str, count: usize) {
        eventually("Machines that are Ready", async || {
            let machines = self.machines(pool).await;
            (machines.len() == count && machines.iter().all(ready)).then_some(())
        })
        .await;
    }

    /// From now on, what the management plane is asked.
    pub fn audit(&self) -> Mark {
        Mark::end_of(&self.management.dir().join("audit.log"))
    }

    /// Waits for three seconds in which the manager asks nothing.
    pub async fn until_quiet(&self) {
        let mut mark = self.audit();
        let mut since = Instant::now();
        eventually("rest", async || {
            if !mark.requests_of(MANAGER).is_empty() {
                (mark, since) = (self.audit(), Instant::now());
            }
            (since.elapsed() > Duration::from_secs(3)).then_some(())
        })
        .await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop_manager();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(60)..].join("\n"));
        }
    }
}

pub fn ready(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| is_true(&status.conditions, ConditionType::Ready))
}

/// All of them. A kind that was defined a moment ago is answered with "try again" for a while.
async fn listed<K: Clone + Debug + DeserializeOwned>(
    api: Api<K>,
    parameters: &ListParams,
) -> Vec<K> {
    eventually("a list", async || match api.list(parameters).await {
        Ok(list) => Some(list.items),
        Err(kube::Error::Api(status)) if status.code == 429 => None,
        Err(error) => panic!("{error}"),
    })
    .await
}

/// Waits until one of its conditions has this reason.
pub async fn until<F>(what: &str, reason: &str, ask: F)
where
    F: AsyncFn() -> Option<Vec<Condition>>,
{
    eventually(&format!("{reason} of {what}"), async || {
        let conditions = ask().await?;
        conditions.iter().any(|c| c.reason == reason).then_some(())
    })
    .await;
}
