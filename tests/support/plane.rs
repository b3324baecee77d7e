//! A real management plane (etcd, kube-apiserver, kube-controller-manager) for tests: made by
//! `hack/management-plane`, shared by the tests that run at the same time, taken down by the last.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;

static SHARED: Mutex<Weak<Plane>> = Mutex::new(Weak::new());

pub struct Plane {
    dir: TempDir,
}

impl Plane {
    /// The one that is shared: for tests that keep to their own namespace and names.
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let plane = Arc::new(Self::own());
            *shared = Arc::downgrade(&plane);
            plane
        })
    }

    /// One for this test alone, which may break it.
    pub fn own() -> Self {
        let plane = Self {
            dir: TempDir::new().expect("a temporary folder"),
        };
        plane.run(&["up"], &[]);
        plane
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

impl Drop for Plane {
    fn drop(&mut self) {
        self.run(&["down"], &["--erase"]);
    }
}
