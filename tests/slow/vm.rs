//! `make quickstart PROVIDER=libvirt`, with one worker: real virtual machines that boot, are joined by kubeadm, and go.
//! Where there is no KVM the processors are emulated in software, the control plane is a host, and this is slow.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::commands::both;
use crate::support::programs::program;
use k8s_openapi::jiff::Timestamp;

const HYPERVISOR: &str = "vmjoin";
const SUBNET: &str = "10.68.0";
/// Hosts, where the control plane cannot be a virtual machine. They are in the network after that.
const FLEET: &str = "vmjoin";

struct Quickstart {
    state: tempfile::TempDir,
    started: Timestamp,
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("hack")
        .join(name)
}

impl Quickstart {
    fn run(&self, name: &str, arguments: &[&str]) -> Output {
        Command::new(script(name))
            .args(arguments)
            .env("PROVIDER", "libvirt")
            .env("HYPERVISOR", HYPERVISOR)
            .env("SUBNET", SUBNET)
            .env("FLEET", FLEET)
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", self.state.path())
            .env("TATARA_BINARY", env!("CARGO_BIN_EXE_tatara"))
            .output()
            .expect("a script of hack/")
    }

    fn hack(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.run(name, arguments);
        assert!(
            output.status.success(),
            "{name} {arguments:?}: {}",
            both(&output)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.state.path().join("quickstart").join(path)
    }

    fn ask(&self, kubeconfig: &str, arguments: &[&str]) -> Output {
        Command::new(program("kubectl"))
            .arg("--kubeconfig")
            .arg(self.path(kubeconfig))
            .args(arguments)
            .output()
            .expect("kubectl")
    }

    fn kubectl(&self, kubeconfig: &str, arguments: &[&str]) -> String {
        let output = self.ask(kubeconfig, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", both(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn admin(&self, arguments: &[&str]) -> String {
        self.kubectl("management/admin.kubeconfig", arguments)
    }

    fn domains(&self) -> Vec<String> {
        let uri = self.hack("libvirt", &["uri", HYPERVISOR]);
        let output = Command::new("virsh")
            .args(["-q", "-c", &uri, "list", "--all", "--name"])
            .output()
            .expect("virsh");
        let names = String::from_utf8_lossy(&output.stdout);
        names.split_whitespace().map(str::to_owned).collect()
    }

    fn volumes(&self) -> Vec<String> {
        let pool = self
            .state
            .path()
            .join(format!("virt.{HYPERVISOR}"))
            .join("pool");
        let entries = std::fs::read_dir(pool).expect("the pool");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    fn says(&self, what: &str) {
        let seconds = tatara::clock::now().duration_since(self.started).as_secs();
        println!("{seconds:4} s: {what}");
    }
}

impl Drop for Quickstart {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (kubeconfig, what) in [
                ("management/admin.kubeconfig", "cluster-api"),
                ("quickstart.kubeconfig", "nodes,pods"),
            ] {
                let told = Command::new(program("kubectl"))
                    .arg("--kubeconfig")
                    .arg(self.path(kubeconfig))
                    .args(["get", what, "-A", "-o", "wide"])
                    .output();
                println!("{}", told.map(|told| both(&told)).unwrap_or_default());
            }
            println!("{}", both(&self.run("quickstart-down", &[])));
            return;
        }
        // fails, and says what, when something is left
        self.hack("quickstart-down", &[]);
    }
}

#[test]
#[ignore = "slow: boots virtual machines, emulated where there is no KVM"]
fn virtual_machines_boot_join_and_leave_nothing_behind() {
    let world = Quickstart {
        state: tempfile::tempdir().expect("a temporary folder"),
        started: tatara::clock::now(),
    };
    world.hack("quickstart", &["prepare"]);
    let manifests = world.path("manifests/30-machines.yaml");
    let text = std::fs::read_to_string(&manifests).expect("the manifests");
    let one = text.replace("replicas: 2", "replicas: 1");
    assert_ne!(one, text);
    std::fs::write(&manifests, one).expect("a file");
    world.says("prepared");

    world.hack("quickstart", &["apply"]);
    world.admin(&[
        "wait",
        "--for=condition=Ready",
        "cluster.cluster.k8s.io/quickstart",
        "--timeout=3600s",
    ]);
    world.says("the cluster is Ready");
    world.hack("quickstart", &["member"]);
    let nodes = world.kubectl(
        "quickstart.kubeconfig",
        &["get", "nodes", "-o", "jsonpath={.items[*].spec.providerID}"],
    );
    let machines = "jsonpath={.items[*].spec.providerID}";
    let machines = world.admin(&["get", "machines", "-o", machines]);
    let mut nodes: Vec<_> = nodes.split_whitespace().map(str::to_owned).collect();
    let mut machines: Vec<_> = machines.split_whitespace().map(str::to_owned).collect();
    nodes.sort();
    machines.sort();
    assert_eq!(nodes, machines, "a Node for each Machine");
    let virtual_machines = machines
        .iter()
        .filter(|id| id.starts_with("tatara://libvirt/"))
        .count();
    // without KVM the control plane is a host
    assert!(virtual_machines >= 1);
    assert_eq!(world.domains().len(), virtual_machines);
    let seeds: Vec<_> = world
        .volumes()
        .into_iter()
        .filter(|name| name.ends_with("-seed.img"))
        .collect();
    assert!(seeds.is_empty(), "keys that stayed: {seeds:?}");

    a_worker_comes_back_from_a_reset(&world);

    let workers = "machinedeployment/quickstart-workers";
    world.admin(&["scale", workers, "--replicas=0"]);
    let only = "--selector=!cluster.k8s.io/control-plane";
    world.admin(&["wait", "--for=delete", "machines", only, "--timeout=1200s"]);
    assert_eq!(
        world.domains().len(),
        virtual_machines - 1,
        "the worker's virtual machine is gone"
    );
    world.says("the worker is gone");

    world.admin(&[
        "delete",
        "cluster.cluster.k8s.io/quickstart",
        "--timeout=1200s",
    ]);
    assert_eq!(world.domains(), [""; 0]);
    let left = world.volumes();
    assert!(
        left.iter().all(|name| name.starts_with("tatara-image-")),
        "{left:?}"
    );
    world.says("the cluster is gone");
}

/// It shows the key that is pinned, and its Node is Ready again: what cloud-init did at its first boot holds, although
/// the seed is gone.
fn a_worker_comes_back_from_a_reset(world: &Quickstart) {
    let only = "--selector=!cluster.k8s.io/control-plane";
    let worker = world.admin(&["get", "machines", only, "-o", "name"]);
    let field = |path: &str| world.admin(&["get", &worker, "-o", &format!("jsonpath={{{path}}}")]);
    let (node, domain) = (field(".status.nodeRef.name"), field(".status.host"));
    let path = "jsonpath={.status.nodeInfo.bootID}";
    let boot = || world.ask("quickstart.kubeconfig", &["get", "node", &node, "-o", path]);
    let before = boot().stdout;
    let uri = world.hack("libvirt", &["uri", HYPERVISOR]);
    let reset = Command::new("virsh")
        .args(["-q", "-c", &uri, "reset", &domain])
        .status();
    assert!(reset.expect("virsh").success());
    let has_booted = (0..240).any(|_| {
        std::thread::sleep(std::time::Duration::from_secs(5));
        let now = boot();
        now.status.success() && now.stdout != before
    });
    assert!(has_booted, "it does not boot again within 20 min");
    world.says("the worker has booted again");
    let (ready, limit) = ("--for=condition=Ready", "--timeout=1200s");
    world.kubectl(
        "quickstart.kubeconfig",
        &["wait", ready, "node", &node, limit],
    );
    world.admin(&["wait", ready, &worker, limit]);
    let (_, name) = worker.split_once('/').expect("KIND/NAME");
    let logs = Command::new(env!("CARGO_BIN_EXE_tatara"))
        .args(["logs", "machine", name])
        .env("KUBECONFIG", world.path("management/admin.kubeconfig"))
        .output()
        .expect("tatara");
    assert!(logs.status.success(), "{}", both(&logs));
}
