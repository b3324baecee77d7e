//! A real libvirtd with QEMU, of one test: hack/libvirt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::gateway::Gateway;

const HACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hack");

/// A hypervisor. Dropped, it is taken down, and nothing of it is left.
pub struct Hypervisor {
    name: String,
    subnet: String,
    pub folder: PathBuf,
}

/// What a hypervisor has, to be counted before and after.
#[derive(Debug, PartialEq, Eq)]
pub struct Inventory {
    pub domains: Vec<String>,
    pub files: Vec<String>,
    pub consoles: Vec<String>,
}

impl Hypervisor {
    /// A name of at most 8 letters and digits, and the last number of a network that no other test
    /// uses (10.80 to 10.99 belong to hosts of hack/fleet).
    pub fn up(name: &str, network: u8) -> Self {
        let subnet = format!("10.61.{network}");
        let mut hypervisor = Self {
            name: name.to_owned(),
            subnet,
            folder: PathBuf::new(),
        };
        let environment = hypervisor.hack(&["up"], &[]);
        let folder = environment
            .lines()
            .find_map(|line| line.strip_prefix("DIR="));
        hypervisor.folder = folder.expect("its folder").into();
        hypervisor
    }

    fn hack(&self, command: &[&str], arguments: &[&str]) -> String {
        let output = Command::new(format!("{HACK}/libvirt"))
            .args(command)
            .arg(&self.name)
            .args(arguments)
            .env("SUBNET", &self.subnet)
            .output()
            .expect("hack/libvirt runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "hack/libvirt {command:?}: {words}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Restarts libvirtd; machines run on.
    pub fn restart(&self) {
        self.hack(&["restart"], &[]);
    }

    /// Sends a signal to libvirtd.
    pub fn signal(&self, name: &str) {
        let process = fs::read_to_string(self.folder.join("run/libvirtd.pid")).expect("a process");
        let sent = Command::new("kill")
            .args(["-s", name, process.trim()])
            .status();
        assert!(sent.expect("kill runs").success(), "{name} to {process}");
    }

    /// A power cut, and on again.
    pub fn reboot(&self) {
        self.hack(&["kill"], &[]);
        self.hack(&["up"], &[]);
    }

    /// One more pool, full after so many MB.
    pub fn pool(&self, pool: &str, megabytes: u32) -> PathBuf {
        self.hack(&["pool"], &[pool, &megabytes.to_string()]);
        self.folder.join("pools").join(pool)
    }

    /// The machine's own address in the hypervisor's network.
    pub fn outside(&self) -> String {
        format!("{}.254", self.subnet)
    }

    pub fn virsh(&self, arguments: &[&str]) -> String {
        let socket = self.folder.join("sock/libvirt-sock");
        let uri = format!("qemu+unix:///system?socket={}", socket.display());
        let output = Command::new("virsh")
            .args(["-q", "-c", &uri])
            .args(arguments)
            .output();
        let output = output.expect("virsh runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "virsh {arguments:?}: {words}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs a command with its network and files.
    pub fn inside(&self, command: &[&str]) {
        self.hack(&["in"], command);
    }

    /// A gateway on it, with its network and files.
    pub fn gateway(&self, arguments: &[&str]) -> Gateway {
        let holder = fs::read_to_string(self.folder.join("run/hypervisor.pid")).expect("a process");
        let enter = [
            "nsenter",
            "--target",
            holder.trim(),
            "--net",
            "--mount",
            "--uts",
            "--",
        ];
        let folder = tempfile::tempdir().expect("a folder");
        Gateway::within(&enter, "qemu:///system", folder, arguments)
    }

    pub fn pool_folder(&self) -> PathBuf {
        self.folder.join("pool")
    }

    pub fn inventory(&self) -> Inventory {
        let domains = self.virsh(&["list", "--all", "--name"]);
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        let mut consoles = names(&self.folder.join("log/qemu"));
        consoles.retain(|name| name.starts_with("tatara-"));
        Inventory {
            domains: domains
                .lines()
                .filter(|l| !l.is_empty())
                .map(str::to_owned)
                .collect(),
            files: names(&self.pool_folder()),
            consoles,
        }
    }
}

impl Drop for Hypervisor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.join("log/libvirtd.log"));
            eprintln!("--- libvirtd's log\n{}", log.unwrap_or_default());
        }
        let down = Command::new(format!("{HACK}/libvirt"))
            .args(["down", &self.name])
            .output();
        if let Ok(output) = down
            && !output.status.success()
        {
            eprintln!(
                "hack/libvirt down: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}
