//! Where failures are made: the quickstart, with one more server for what happens before a Machine has a Node.

use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tatara_core::api::conditions::{ConditionType, find};

use std::process::Command;

use crate::support::commands::{both, done};
use crate::support::versions::pinned;
use crate::support::world::World;

/// The further server, and its Host, pool, class and MachineDeployment.
pub const SPARE: &str = "spare";
const LAST: u8 = 14;

pub struct Stage {
    world: World,
}

impl std::ops::Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Stage {
    pub async fn new(name: &'static str, subnet: &'static str) -> Self {
        let world = World::with_cluster(name, subnet).await;
        let stage = Self { world };
        // a disk of its own, which can be filled; what is tried on it needs no images
        stage.start_spare();
        stage.spare_class(&json!({}));
        stage.apply_all(&json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": {"name": SPARE, "namespace": "default", "labels": {"cluster.k8s.io/cluster-name": "quickstart"}},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"pool": SPARE}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "template": {
                    "metadata": {"labels": {"pool": SPARE, "cluster.k8s.io/cluster-name": "quickstart"}},
                    "spec": {"versions": {"kubelet": pinned("KUBERNETES")},
                        "providerSpec": {"valueFrom": {"machineClass": {"name": SPARE}}}}}}}));
        stage
    }

    pub fn leave(self) {
        self.world.leave();
    }

    /// Switches the further server on.
    pub fn start_spare(&self) {
        let mut fleet = self.hack("fleet");
        fleet.args(["start", SPARE, &self.spare_address()]);
        done(fleet.env("DISK_MB", "900"));
        self.fleet(&["wait", SPARE]);
    }

    pub fn spare_address(&self) -> String {
        format!("{}.{LAST}", self.subnet())
    }

    /// Host keys of a server, as `hostKeys` has them.
    pub fn keys(&self, host: &str) -> Vec<String> {
        let printed = self.fleet(&["hostkey", host]);
        let words = printed.lines().map(|line| line.split(' ').take(2));
        words
            .map(|words| words.collect::<Vec<_>>().join(" "))
            .collect()
    }

    /// Registers the further server as a Host; `ssh` is merged into what is right for it.
    pub fn register(&self, ssh: &Value) {
        let mut right = json!({"address": self.spare_address(), "user": "root", "privilege": "root",
            "hostKeys": self.keys(SPARE), "credentialsRef": {"name": "hosts-ssh"}});
        for (field, value) in ssh.as_object().expect("an object") {
            right[field] = value.clone();
        }
        self.apply_all(&json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"name": SPARE, "namespace": "default", "labels": {"pool": SPARE}},
            "spec": {"ssh": right}}));
    }

    /// The class of the further server's Machines; `node` is what they have of their own.
    pub fn spare_class(&self, node: &Value) {
        self.apply_all(
            &json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineClass",
            "metadata": {"name": SPARE, "namespace": "default"},
            "providerSpec": {"value": provider_spec(node)}}),
        );
    }

    pub fn scale(&self, pool: &str, replicas: u32) {
        self.kubectl(&[
            "scale",
            &format!("machinedeployment/{pool}"),
            &format!("--replicas={replicas}"),
        ]);
    }

    /// A Machine is wanted on the further server, which is registered last.
    pub fn want_spare(&self, ssh: &Value) {
        self.scale(SPARE, 1);
        self.register(ssh);
    }

    /// As a person who has mended something on it, and does not wait.
    pub fn look_again(&self, what: &str) {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time");
        let retry = format!("tatara.dev/retry={}", now.as_millis());
        self.kubectl(&["annotate", what, "--overwrite", &retry]);
    }

    /// No Machine has the further server any more, and it is registered nowhere.
    pub fn clear(&self) {
        self.scale(SPARE, 0);
        let machines = ["machine", "-l", "pool=spare"];
        self.kubectl(&[&["wait", "--for=delete", "--timeout=180s"][..], &machines].concat());
        self.kubectl(&[
            "delete",
            "host",
            SPARE,
            "--ignore-not-found",
            "--timeout=180s",
        ]);
    }

    /// The quickstart's workers are all there, and well.
    pub fn whole(&self) {
        let wanted = "--for=jsonpath={.status.availableReplicas}=2";
        self.kubectl(&[
            "wait",
            wanted,
            "machinedeployment/quickstart-workers",
            "--timeout=300s",
        ]);
        self.kubectl(&[
            "wait",
            "--for=condition=Ready",
            "cluster/quickstart",
            "--timeout=300s",
        ]);
    }

    /// Shell commands on the further server, not as root over SSH: what root may is a part of what is tried.
    pub fn as_debian(&self, text: &str) {
        let mut fleet = self.hack("fleet");
        fleet.args(["ssh", SPARE, &format!("sudo bash -c '{text}'")]);
        done(fleet.env("LOGIN", "debian"));
    }

    pub fn apply_all(&self, object: &Value) {
        let output = self.apply(object);
        assert!(output.status.success(), "{}", both(&output));
    }

    pub fn patch(&self, what: &str, patch: &Value) {
        let patch = patch.to_string();
        self.kubectl(&["patch", what, "--type=merge", "-p", &patch]);
    }

    /// kubectl as administrator of the cluster.
    pub fn member(&self, arguments: &[&str]) -> String {
        done(self.member_kubectl().args(arguments))
    }

    /// Message of the condition Ready where it is not True; nothing of what is well, or is not there.
    pub async fn ready_says(&self, on: &str) -> String {
        let found = self.find(on).await.into_iter();
        let texts = found.filter_map(|object| {
            let conditions = object.data["status"]["conditions"].clone();
            let conditions: Vec<_> = serde_json::from_value(conditions).ok()?;
            let ready = find(&conditions, ConditionType::Ready)?;
            (ready.status != "True").then(|| format!("{}: {}", ready.reason, ready.message))
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// What `tatara describe` prints of it.
    pub async fn described(&self, on: &str) -> String {
        let (kind, _) = on.split_once('/').expect("KIND/NAME");
        let mut text = String::new();
        for object in self.find(on).await {
            let mut describe = Command::new(env!("CARGO_BIN_EXE_tatara"));
            describe.args(["describe", kind, &object.name_any()]);
            let kubeconfig = self.run().join("management/admin.kubeconfig");
            text += &done(describe.env("KUBECONFIG", kubeconfig));
        }
        text
    }

    async fn find(&self, on: &str) -> Vec<DynamicObject> {
        let (kind, name) = on.split_once('/').expect("KIND/NAME");
        let (group, kind) = match kind {
            "host" => ("tatara.dev", "Host"),
            "machine" => ("cluster.k8s.io", "Machine"),
            "machinedeployment" => ("cluster.k8s.io", "MachineDeployment"),
            "cluster" => ("cluster.k8s.io", "Cluster"),
            other => panic!("{other}"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), "default", &resource);
        let mut found = api.list(&Default::default()).await.expect("a list").items;
        found.retain(|object| match name.strip_suffix('*') {
            Some(start) => object.name_any().starts_with(start),
            None => object.name_any() == name,
        });
        found
    }
}

/// Of a Machine on the further server, with settings of its own if it has any.
pub fn provider_spec(node: &Value) -> Value {
    let mut spec = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
        "hostSelector": {"matchLabels": {"pool": SPARE}}});
    if *node != json!({}) {
        spec["node"] = node.clone();
    }
    spec
}
