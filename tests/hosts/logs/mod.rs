//! `tatara logs machine` against a real API server and a real host.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tatara_core::api::{Host, Machine};
use tatara_core::node::{JobKind, Step, Take, Unit, start_and_follow};

use crate::host::fleet::{self, EPOCH, Fleet, marker, now};
use crate::support::kinds;
use crate::support::plane::Plane;
use crate::support::versions::pinned;

const NAMESPACE: &str = "logs";

struct Site {
    plane: Arc<Plane>,
    client: Client,
    fleet: Fleet,
}

impl Site {
    async fn new() -> Self {
        let plane = Plane::shared();
        let client = plane.client().await;
        kinds::install(&client).await;
        kinds::make_namespace(&client, NAMESPACE).await;
        let fleet = Fleet::new("logs", "10.86.0");
        fleet.start("a", 11, &[]);
        fleet.fleet(&["uplink"]);
        Self {
            plane,
            client,
            fleet,
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn secret(&self) {
        let environment = self.fleet.fleet(&["env"]);
        let key = environment
            .lines()
            .find_map(|line| line.strip_prefix("KEY="));
        let key = std::fs::read(key.expect("a key").trim_matches('\'')).expect("a key");
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some("key".into()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/ssh-auth".into()),
            data: Some([("ssh-privatekey".to_owned(), ByteString(key))].into()),
            ..Secret::default()
        };
        let made = self.api().create(&PostParams::default(), &secret).await;
        made.expect("a Secret");
    }

    async fn machine(&self) -> String {
        let machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "m", "labels": {"cluster.k8s.io/cluster-name": "c"}},
            "spec": {"versions": {"kubelet": pinned("KUBERNETES")}}});
        let why = kinds::condition("Ready", "False", "NoHostAvailable", "all are claimed");
        let status = json!({"phase": "Pending", "conditions": [why]});
        let machine = kinds::apply(&self.api::<Machine>(), machine, status).await;
        machine.uid().expect("a UID")
    }

    async fn host(&self, uid: &str, keys: &[String]) {
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"name": "a"},
            "spec": {"consumerRef": {"name": "m", "uid": uid}, "ssh": {
                "address": self.fleet.address(11), "credentialsRef": {"name": "key"},
                "hostKeys": keys}}});
        kinds::apply(&self.api::<Host>(), host, json!({"state": "Claimed"})).await;
    }

    fn tatara(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
        command
            .args(["logs", "machine", "m", "-n", NAMESPACE])
            .args(arguments);
        command.env("KUBECONFIG", self.plane.dir().join("admin.kubeconfig"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.tatara(arguments).output().expect("tatara");
        (
            output.status.code(),
            fleet::lossy(&output.stdout),
            fleet::lossy(&output.stderr),
        )
    }
}

fn prepare() -> Unit {
    let step = |name, script: &str| Step {
        name,
        title: "A step",
        script: script.into(),
    };
    Unit {
        kind: JobKind::Prepare,
        steps: vec![
            step("one", "echo first\n"),
            step(
                "two",
                "echo waiting\nread -r line </root/go\necho \"got $line\"\n",
            ),
        ],
        secrets: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn logs_of_a_machine_are_read_and_followed_on_its_host() {
    let site = Site::new().await;
    let (code, _, error) = site.output(&[]);
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("error: Machine m does not exist in namespace logs; "),
        "{error}"
    );

    let uid = site.machine().await;
    let (_, _, error) = site.output(&[]);
    let wanted =
        "error: Machine m has no host yet, so it has no logs: NoHostAvailable: all are claimed\n";
    assert_eq!(error, wanted);

    let key = site.fleet.fleet(&["hostkey", "a"]);
    let keys: Vec<String> = key.lines().map(str::to_owned).collect();
    site.host(&uid, &keys).await;
    let (_, _, error) = site.output(&[]);
    assert!(
        error.contains("credentialsRef names Secret key, and logs has none"),
        "{error}"
    );

    site.secret().await;
    let (_, _, error) = site.output(&[]);
    let wanted = "error: Host a has no logs of Machine m; to see its state: tatara describe cluster c -n logs\n";
    assert_eq!(error, wanted);

    follow(&site, &uid);
    let (code, out, error) = site.output(&[]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let wanted =
        "==> prepare: one (exit code 0)\nfirst\n==> prepare: two (exit code 0)\nwaiting\ngot it\n";
    assert_eq!(out, wanted);
    assert_eq!(site.output(&["--follow"]).1, wanted);
    assert_eq!(
        site.output(&["--step", "one"]).1,
        "==> prepare: one (exit code 0)\nfirst\n"
    );

    changed_host_key(&site).await;
}

/// A unit that waits in its second step is followed to its end.
fn follow(site: &Site, uid: &str) {
    let marker = marker(uid);
    assert_eq!(site.fleet.take("a", &marker), Take::Taken);
    site.fleet.shell("a", "mkfifo /root/go");
    let script = start_and_follow(&marker, &prepare(), EPOCH, now()).expect("a script");
    let mut unit = site.fleet.attach("a", &script);
    unit.next();
    let mut child = site.tatara(&["--follow"]).spawn().expect("tatara");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut next = || lines.next().expect("a line").expect("a line");
    while next() != "waiting" {}
    site.fleet.shell("a", "echo it >/root/go");
    assert_eq!(next(), "got it");
    assert!(child.wait().expect("an end").success());
    unit.rest();
}

async fn changed_host_key(site: &Site) {
    let other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEWTwO0OqDtjwTvJwRv2LMKPRPYk5sDgZmqqgC1ZwLRZ";
    let patch = Patch::Merge(json!({"spec": {"ssh": {"hostKeys": [other]}}}));
    let patched = site
        .api::<Host>()
        .patch("a", &PatchParams::default(), &patch)
        .await;
    patched.expect("a Host");
    let (code, out, error) = site.output(&[]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        error.starts_with("error: failed to reach Host a: "),
        "{error}"
    );
    assert!(error.contains("hostKeys"), "{error}");
}
