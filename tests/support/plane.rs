//! A real management plane (etcd, kube-apiserver, kube-controller-manager) for tests: made by
//! `hack/management-plane`, shared by the tests that run at the same time, taken down by the last,
//! and also when the tests are killed. One of a test alone begins as a copy of one that was made for
//! all and stopped: that takes half the processor time.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;

use super::commands::done;
use super::programs::kubectl;

static SHARED: Mutex<Weak<Plane>> = Mutex::new(Weak::new());
/// Stopped, with nothing in it, and with Tatara.
static EMPTY: OnceLock<Plane> = OnceLock::new();
static WITH_TATARA: OnceLock<Plane> = OnceLock::new();

pub struct Plane {
    dir: TempDir,
    /// Waits for the end of this process, however it comes, and takes the plane down.
    _reaper: Child,
}

impl Plane {
    /// The one that is shared: for tests that keep to their own namespace and names.
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let plane = Arc::new(Self::up(TempDir::new()));
            *shared = Arc::downgrade(&plane);
            plane
        })
    }

    /// One for this test alone, which may break it.
    pub fn own() -> Self {
        Self::like(EMPTY.get_or_init(|| Self::stopped(|_| ())))
    }

    /// The same with the definitions and the manager's rights, as the README installs them.
    pub fn with_tatara() -> Self {
        Self::like(WITH_TATARA.get_or_init(|| Self::stopped(Self::install)))
    }

    fn up(dir: std::io::Result<TempDir>) -> Self {
        let dir = dir.expect("a temporary folder");
        let plane = Self {
            _reaper: reaper(dir.path()),
            dir,
        };
        plane.run(&["up"], &[]);
        plane
    }

    fn stopped(fill: impl FnOnce(&Self)) -> Self {
        let plane = Self::up(TempDir::new());
        fill(&plane);
        plane.run(&["down"], &[]);
        plane
    }

    /// With the keys and the state of another one.
    fn like(other: &Self) -> Self {
        let dir = TempDir::new();
        if let Ok(dir) = &dir {
            let mut copy = Command::new("cp");
            copy.args(["-a", "--sparse=always"]);
            copy.args(["etcd", "pki"].map(|part| other.dir().join(part)));
            done(copy.arg(dir.path()));
        }
        Self::up(dir)
    }

    fn install(&self) {
        for path in ["templates/install/if-missing", "crds", "templates/install"] {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
            let mut apply = kubectl();
            apply
                .arg("--kubeconfig")
                .arg(self.dir().join("admin.kubeconfig"));
            done(apply.args(["apply", "--server-side", "-f"]).arg(path));
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub async fn config(&self) -> Config {
        let kubeconfig = Kubeconfig::read_from(self.dir().join("admin.kubeconfig"));
        let kubeconfig = kubeconfig.expect("the plane's kubeconfig");
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .expect("a client configuration")
    }

    pub async fn client(&self) -> Client {
        let config = tatara::workload::client_config(self.config().await);
        Client::try_from(config).expect("a client")
    }

    /// `hack/management-plane ACTION DIR ARGUMENTS`, to its end.
    pub fn run(&self, action: &[&str], arguments: &[&str]) {
        let status = self.command(action, arguments).status();
        assert!(
            status.expect("hack/management-plane").success(),
            "{action:?}"
        );
    }

    pub fn command(&self, action: &[&str], arguments: &[&str]) -> Command {
        let tool = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("hack/management-plane");
        let mut command = Command::new(tool);
        command.args(action).arg(self.dir()).args(arguments);
        command
    }
}

/// A process of its own group, so that ^C does not reach it. Its standard input ends with ours.
fn reaper(dir: &Path) -> Child {
    let tool = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("hack/management-plane");
    let script = r#"cat; [ ! -d "$2" ] || { "$1" down "$2" --erase; rm -rf "$2"; }"#;
    Command::new("sh")
        .args(["-c", script, "reaper"])
        .args([tool.as_path(), dir])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("sh")
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.run(&["down"], &["--erase"]);
    }
}
