//! The quickstart as a test's world: what `hack/quickstart` makes, under a name and a subnet of the test's own,
//! and taken away at its end.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tatara_core::api::{Host, Machine};

use super::audit::Mark;
use super::beside::Beside;
use super::commands::{both, done};
use super::conditions::{is_true, of_host, said};
use super::environment::{Of, surround};
use super::left;
use super::programs::kubectl;
use super::wait::within;

pub struct World {
    pub client: Client,
    name: &'static str,
    subnet: &'static str,
    state: tempfile::TempDir,
    /// Its hosts and its Kubernetes, as variables of hack/quickstart.
    of: Of,
    beside: Option<Beside>,
    /// Kernel settings of the machine before all this.
    settings: Vec<(&'static str, String)>,
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl World {
    /// The whole quickstart, to a cluster that is Ready.
    pub async fn with_cluster(name: &'static str, subnet: &'static str) -> Self {
        let world = Self::prepared(name, subnet).await;
        world.quickstart("up");
        world
    }

    /// Management plane, manager and three hosts that nobody has registered yet.
    pub async fn prepared(name: &'static str, subnet: &'static str) -> Self {
        Self::prepared_with(name, subnet, 3).await
    }

    /// The same with so many hosts, as `make quickstart HOSTS=` has them, and with no other world beside it.
    pub async fn prepared_with(name: &'static str, subnet: &'static str, hosts: usize) -> Self {
        let of = Of {
            hosts,
            ..Of::default()
        };
        Self::prepared_of(name, subnet, of).await
    }

    /// The same with manifests of the Kubernetes version before the newest, and a mirror that has both.
    pub async fn previous(name: &'static str, subnet: &'static str, hosts: usize) -> Self {
        let of = Of {
            hosts,
            previous: true,
            ..Of::default()
        };
        Self::prepared_of(name, subnet, of).await
    }

    /// The same with seven hosts, five of them for control planes.
    pub async fn with_five_control_hosts(name: &'static str, subnet: &'static str) -> Self {
        let of = Of {
            hosts: 7,
            control_hosts: Some(5),
            previous: true,
        };
        Self::prepared_of(name, subnet, of).await
    }

    async fn prepared_of(name: &'static str, subnet: &'static str, of: Of) -> Self {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let beside = Beside::with(of.hosts).await;
        let state = tempfile::tempdir().expect("a temporary folder");
        let settings = left::settings();
        let run = |script: &str, part: Option<&str>| {
            let mut command = Command::new(root().join("hack").join(script));
            surround(&mut command, (name, subnet, of), &state);
            command.args(part).output().expect("a script of hack/")
        };
        let made = run("quickstart", Some("prepare"));
        if !made.status.success() {
            run("quickstart-down", None);
            panic!("{}", both(&made));
        }
        let kubeconfig = state.path().join("quickstart/management/admin.kubeconfig");
        let client = client_of(&kubeconfig).await;
        Self {
            client,
            name,
            subnet,
            state,
            of,
            beside: Some(beside),
            settings,
        }
    }

    /// The others need not wait for its end: it has no three etcds any more.
    pub fn let_others_begin(&mut self) {
        self.beside = self.beside.take().map(Beside::with_others);
    }

    /// What it says on the way.
    pub fn quickstart(&self, part: &str) -> String {
        let output = self.hack("quickstart").arg(part).output();
        let output = output.expect("hack/quickstart");
        assert!(output.status.success(), "{part}: {}", both(&output));
        both(&output)
    }

    /// A script of hack/ in this world.
    pub fn hack(&self, script: &str) -> Command {
        let mut command = Command::new(root().join("hack").join(script));
        let world = (self.name, self.subnet, self.of);
        surround(&mut command, world, &self.state);
        command
    }

    pub fn fleet(&self, arguments: &[&str]) -> String {
        done(self.hack("fleet").args(arguments))
    }

    pub fn plane(&self, action: &str, arguments: &[&str]) -> String {
        let dir = self.run().join("management");
        done(
            self.hack("management-plane")
                .arg(action)
                .arg(dir)
                .args(arguments),
        )
    }

    /// Shell commands on a host as root.
    pub fn shell(&self, host: &str, text: &str) -> String {
        self.fleet(&["ssh", host, text])
    }

    /// Folder of the quickstart: manifests/, manager.log, manager.pid, management/.
    pub fn run(&self) -> PathBuf {
        self.state.path().join("quickstart")
    }

    pub fn subnet(&self) -> &str {
        self.subnet
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        done(self.kubectl_command().args(arguments))
    }

    /// `kubectl apply` of one object.
    pub fn apply(&self, object: &serde_json::Value) -> Output {
        let mut command = self.kubectl_command();
        command.args(["apply", "--server-side", "-f", "-"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl");
        let mut stdin = child.stdin.take().expect("its standard input");
        stdin
            .write_all(object.to_string().as_bytes())
            .expect("room in a pipe");
        drop(stdin);
        child.wait_with_output().expect("its end")
    }

    pub fn kubectl_command(&self) -> Command {
        self.kubectl_with("management/admin.kubeconfig")
    }

    /// `kubectl` as administrator of the cluster that was made.
    pub fn member_kubectl(&self) -> Command {
        self.kubectl_with("quickstart.kubeconfig")
    }

    fn kubectl_with(&self, kubeconfig: &str) -> Command {
        let mut command = kubectl();
        command.arg("--kubeconfig").arg(self.run().join(kubeconfig));
        command
    }

    /// Administrator of the cluster that was made.
    pub async fn member(&self) -> Client {
        client_of(&self.run().join("quickstart.kubeconfig")).await
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    pub async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api = self.api::<K>();
        // a kind that was defined a moment ago is answered with "try again" for a while
        within("a list", 60, async || {
            match api.list(&Default::default()).await {
                Ok(list) => Some(list.items),
                Err(kube::Error::Api(status)) if status.code == 429 => None,
                Err(error) => panic!("{error}"),
            }
        })
        .await
    }

    /// Hosts that are Available, by name.
    pub async fn available(&self) -> Vec<String> {
        let hosts = self.list::<Host>().await;
        let available = hosts
            .iter()
            .filter(|host| is_true(of_host(host), "Available"));
        available.map(ResourceExt::name_any).collect()
    }

    /// Message of a Machine's condition, "STATUS/REASON: MESSAGE"; empty without one.
    pub async fn machine_says(&self, machine: &str, type_: &str) -> String {
        let machine = self
            .api::<Machine>()
            .get_opt(machine)
            .await
            .expect("an answer");
        let status = machine.and_then(|machine| machine.status);
        said(
            status.map(|s| s.conditions).unwrap_or_default().as_slice(),
            type_,
        )
    }

    pub async fn host_says(&self, host: &str, type_: &str) -> String {
        let host = self.api::<Host>().get_opt(host).await.expect("an answer");
        said(host.as_ref().map(of_host).unwrap_or_default(), type_)
    }

    /// How often systemd of a host has started this unit of steps: prepare, init, join or reset.
    pub fn starts(&self, host: &str, unit: &str) -> usize {
        let command = format!(
            "journalctl -q -o cat _PID=1 | grep -c '^Started .*Tatara: {unit} of Machine' || true"
        );
        self.shell(host, &command).trim().parse().expect("a number")
    }

    /// Name of the host that a Machine has.
    pub async fn host_of(&self, machine: &str) -> String {
        let machine = self.api::<Machine>().get(machine).await.expect("a Machine");
        machine
            .status
            .and_then(|status| status.host)
            .expect("its host")
    }

    /// `kill -9` of the manager, and another one that leads at once: it has the same name in the election.
    pub async fn replace_manager(&self) {
        self.kill_manager().await;
        self.quickstart("manager");
    }

    pub fn manager_pid(&self) -> String {
        let text = std::fs::read_to_string(self.run().join("manager.pid"));
        text.expect("the manager's pid").trim().to_owned()
    }

    pub fn signal_manager(&self, signal: &str) {
        done(Command::new("kill").args([signal, &self.manager_pid()]));
    }

    /// From now on, what the management cluster is asked.
    pub fn audit(&self) -> Mark {
        Mark::end_of(&self.run().join("management/audit.log"))
    }

    pub fn manager_ended(&self) -> bool {
        let stat = PathBuf::from("/proc").join(self.manager_pid()).join("stat");
        // a zombie, whose parent has not asked for it yet, has ended
        std::fs::read_to_string(stat).map_or(true, |text| text.contains(") Z "))
    }

    /// `kill -9`, waited for.
    pub async fn kill_manager(&self) {
        self.signal_manager("-KILL");
        within("the end of the manager", 10, async || {
            self.manager_ended().then_some(())
        })
        .await;
    }

    /// Everything gone, and nothing left on the machine.
    pub fn leave(self) {
        let state = self.state.path().to_owned();
        let (name, settings) = (self.name, self.settings.clone());
        drop(self);
        assert_eq!(left::of(name, &state, &settings), Vec::<String>::new());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.explain();
        }
        if std::env::var_os("KEEP_WORLD").is_some() {
            self.state.disable_cleanup(true);
            eprintln!("kept: {}", self.state.path().display());
            return;
        }
        let status = self.hack("quickstart-down").status();
        assert!(std::thread::panicking() || status.is_ok_and(|status| status.success()));
    }
}

impl World {
    /// What a person would look at after a failure.
    fn explain(&self) {
        let is_started = self.run().join("manager.pid").exists();
        if is_started && self.manager_ended() {
            eprintln!("the manager does not run");
        }
        for arguments in [
            &["get", "cluster-api", "-o", "wide"][..],
            &["get", "machines", "-o", "yaml"],
        ] {
            let output = self.kubectl_command().args(arguments).output();
            let output = output.map(|output| output.stdout).unwrap_or_default();
            eprintln!("{}", String::from_utf8_lossy(&output));
        }
        let log = std::fs::read_to_string(self.run().join("manager.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        eprintln!("{}", lines[lines.len().saturating_sub(60)..].join("\n"));
    }
}

pub async fn client_of(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let config = tatara::workload::client_config(config.expect("a configuration"));
    Client::try_from(config).expect("a client")
}
