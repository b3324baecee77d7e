//! Debian's own installer, booted through the virtual CD drive of a BMC that we did not write, puts an operating system
//! on servers of both firmwares. Servers are virtual machines, emulated in software where there is no KVM; packages
//! come from Debian's mirror.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::commands::{done, values};
use crate::support::kubectl::{installed, repository};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

const NAME: &str = "inst";
const SUBNET: &str = "10.69.0";
/// Name, firmware and address.
const SERVERS: [(&str, &str, &str); 2] = [
    ("bios", "bios", "10.69.0.201"),
    ("uefi", "uefi", "10.69.0.202"),
];

struct World {
    dir: tempfile::TempDir,
    manager: Option<Child>,
    started: Timestamp,
}

impl World {
    fn hack(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(repository(&format!("hack/{script}")));
        command
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", self.dir.path())
            .env("SUBNET", SUBNET);
        done(command.args(arguments))
    }

    fn virsh(&self, arguments: &[&str]) -> String {
        let uri = self.hack("libvirt", &["uri", NAME]);
        done(
            Command::new("virsh")
                .args(["-q", "-c", &uri])
                .args(arguments),
        )
    }

    /// The manager, which serves installers in the servers' network.
    fn manage(&mut self) {
        let address = format!("{SUBNET}.254:8090");
        let log = File::create(self.dir.path().join("manager.log")).expect("a file");
        let manager = Command::new(env!("CARGO_BIN_EXE_tatara"))
            .args([
                "manager",
                "--allow-local-endpoints",
                "--http-address",
                "127.0.0.1:0",
            ])
            .args(["--media-address", &address])
            .args(["--media-url", &format!("http://{address}")])
            .arg("--media-folder")
            .arg(self.dir.path().join("media"))
            .env("KUBECONFIG", installed().kubeconfig())
            .stdin(Stdio::null())
            .stderr(log)
            .spawn();
        self.manager = Some(manager.expect("the manager"));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("manager.log")).unwrap_or_default()
    }

    /// What the servers say on their consoles.
    fn console(&self, server: &str) -> String {
        let path = format!("virt.{NAME}/log/{server}-console.log");
        let bytes = fs::read(self.dir.path().join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn says(&self, what: &str) {
        let seconds = tatara::clock::now().duration_since(self.started).as_secs();
        println!("{seconds:5} s: {what}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut manager) = self.manager.take() {
            manager.kill().ok();
            manager.wait().ok();
        }
        if std::thread::panicking() {
            let log = self.log();
            let consoles = SERVERS.map(|(server, _, _)| self.console(server));
            for text in [&log, &consoles[0], &consoles[1]] {
                let lines: Vec<_> = text.lines().collect();
                println!("{}\n", lines[lines.len().saturating_sub(40)..].join("\n"));
            }
        }
        // fails, and says what, when something is left
        self.hack("libvirt", &["down", NAME]);
    }
}

fn applied(object: &Value) {
    let arguments = ["--server-side", "-f", "-"];
    installed()
        .run_with("apply", &arguments, &object.to_string())
        .out();
}

fn secret(name: &str, of: &str, data: &Value) {
    applied(
        &json!({"apiVersion": "v1", "kind": "Secret", "type": format!("kubernetes.io/{of}"),
        "metadata": {"name": name, "namespace": "default"}, "stringData": data}),
    );
}

/// Status and reason of a condition of a Host, and its message.
fn condition(host: &str, condition: &str) -> String {
    let path = format!(
        r#"jsonpath={{range .status.conditions[?(@.type=="{condition}")]}}{{.status}}/{{.reason}}: {{.message}}{{end}}"#
    );
    installed().run("get", &["host", host, "-o", &path]).out()
}

/// The installer is small: most of it comes from the mirror, which a copy of packages alone does not have. Without, it
/// asks a question that nobody answers.
fn the_mirror_has_installer_components() {
    let first = "set -o pipefail
        mirror=http://deb.debian.org/debian
        list=$mirror/dists/bookworm/main/debian-installer/binary-amd64/Packages.xz
        for name in $(curl -fsS $list | xz -d | sed -n 's,^Filename: \\(.*/apt-mirror-setup_.*\\),\\1,p'); do
          curl -fsS -o /dev/null $mirror/$name || { echo $mirror/$name; exit 1; }
        done";
    done(Command::new("bash").args(["-c", first]));
}

/// Follows the installations, saying what changes, until both have ended.
fn until_installed(world: &mut World) {
    let mut said: BTreeMap<&str, String> = BTreeMap::new();
    while said.len() < SERVERS.len() || !said.values().all(|now| now.starts_with("True/")) {
        for (server, _, _) in SERVERS {
            let now = condition(server, "Installed");
            if said.get(server) != Some(&now) {
                world.says(&format!("{server}: {now}"));
                let failed = ["annotate host", "ReinstallRefused"];
                assert!(!failed.iter().any(|text| now.contains(text)), "{now}");
                said.insert(server, now);
            }
        }
        let manager = world.manager.as_mut().expect("the manager");
        let end = manager.try_wait().expect("its state");
        assert!(end.is_none(), "the manager has ended: {end:?}");
        std::thread::sleep(Duration::from_secs(2));
    }
}

#[test]
#[ignore = "slow: installs operating systems on virtual machines, emulated where there is no KVM"]
fn a_real_installer_puts_an_operating_system_on_servers_of_both_firmwares() {
    let mut world = World {
        dir: tempfile::tempdir().expect("a temporary folder"),
        manager: None,
        started: tatara::clock::now(),
    };
    the_mirror_has_installer_components();
    world.hack("libvirt", &["up", NAME]);
    let bmc = values(&world.hack("redfish", &["up", NAME]));
    let iso = values(&world.hack("image/installer", &[]));
    let url = world.hack("libvirt", &["serve", NAME, &iso["ISO"]]);
    let key = world.dir.path().join("key");
    done(
        Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key),
    );
    let key = fs::read_to_string(&key).expect("a key");
    secret("ssh", "ssh-auth", &json!({ "ssh-privatekey": key }));
    let login = json!({"username": bmc["USERNAME"], "password": bmc["PASSWORD"]});
    secret("bmc", "basic-auth", &login);
    world.manage();
    for (server, firmware, address) in SERVERS {
        let system = world.hack("redfish", &["system", NAME, server, firmware, address]);
        let system = values(&system);
        applied(&json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"name": server, "namespace": "default",
                "annotations": {"tatara.dev/reinstall": system["SERIAL"]}},
            "spec": {
                "ssh": {"address": address, "user": "debian", "privilege": "sudo", "credentialsRef": {"name": "ssh"}},
                "bmc": {"address": bmc["REDFISH"], "systemID": system["SYSTEM"], "credentialsRef": {"name": "bmc"},
                    "tls": {"fingerprint": bmc["FINGERPRINT"]}},
                "rootDeviceHints": {"serialNumber": system["SERIAL"]},
                "installation": {"iso": {"url": url, "sha256": iso["SHA256"]}, "timeoutSeconds": 14_400},
            },
        }));
    }
    world.says("asked for");
    until_installed(&mut world);
    for (server, _, _) in SERVERS {
        let timeout = "--timeout=300s";
        let arguments = ["--for=condition=Available", timeout, "host", server];
        installed().run("wait", &arguments).out();
        // ejecting takes the whole drive away
        let definition = world.virsh(&["dumpxml", server]);
        assert!(
            !definition.contains("device='cdrom'"),
            "the CD drive is empty: {definition}"
        );
        assert_eq!(world.virsh(&["domstate", server]), "running");
        let facts = ["host", server, "-o", "jsonpath={.status.facts}"];
        let facts = installed().run("get", &facts).out();
        world.says(&format!("{server}: {facts}"));
        assert!(facts.contains("Debian GNU/Linux 12"), "{facts}");
    }
    let told = world.log()
        + &installed()
            .run("get", &["hosts,events", "-A", "-o", "json"])
            .out();
    assert!(!told.contains("PRIVATE KEY"));
}
