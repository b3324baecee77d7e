//! What waits writes next to nothing: the writes of each trouble that stands still are counted in the audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Host, Hypervisor, Machine};

use crate::simulated::hanging::gateway_secret;
use crate::simulated::site::{Site, until};
use crate::support::audit;
use crate::support::wait::eventually;

/// How long it is counted: some attempts of each trouble.
const WINDOW: Duration = Duration::from_secs(30);

fn machine(name: &str, change: &Value) -> Value {
    let mut machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "default",
            "labels": {"cluster.k8s.io/cluster-name": "simulated"}},
        "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": {
            "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"}}}});
    for part in ["metadata", "spec"] {
        for (field, value) in change[part].as_object().into_iter().flatten() {
            machine[part][field] = value.clone();
        }
    }
    machine
}

fn on_hosts() -> Value {
    let selector = json!({"matchLabels": {"nobody": "has-it"}});
    json!({"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
        "hostSelector": selector}})
}

fn host(name: &str, secret: &str) -> Value {
    json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ssh": {"address": "127.0.0.1", "port": 1, "user": name, "privilege": "sudo", "credentialsRef": {"name": secret},
            "trustOnFirstUse": true}}})
}

/// A Host that a Machine has, and at which nobody answers.
async fn claimed(site: &Site, name: &str, of: &str) {
    let machine = eventually("an adopted Machine", async || {
        let machine = site.api::<Machine>().get(of).await.ok()?;
        (!machine.finalizers().is_empty()).then_some(machine)
    })
    .await;
    let mut host = host(name, "key");
    host["metadata"]["finalizers"] = json!(["tatara.dev/in-use"]);
    host["spec"]["ssh"]["port"] = json!(if name == "held" { 2 } else { 3 });
    host["spec"]["consumerRef"] =
        json!({"name": of, "uid": machine.uid(), "cluster": "simulated", "releasing": false});
    site.apply(&host.to_string());
}

/// A pod on a Node, and a budget that never lets it go.
async fn blocked_pod(site: &Site, node: &str) {
    use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
    use k8s_openapi::api::policy::v1::PodDisruptionBudget;
    let client = site.member().clone();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    eventually("a service account", async || {
        accounts.get_opt("default").await.expect("an answer")
    })
    .await;
    let labels = json!({"app": "web"});
    let budget = json!({"metadata": {"name": "web"}, "spec": {"maxUnavailable": 0,
        "selector": {"matchLabels": labels}}});
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), "default");
    let budget = serde_json::from_value(budget).expect("a budget");
    let made = budgets.create(&PostParams::default(), &budget).await;
    made.expect("a budget");
    // no disruption controller runs here
    let status = json!({"status": {"disruptionsAllowed": 0, "observedGeneration": 1,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
    let patch = Patch::Merge(status);
    let parameters = PatchParams::default();
    let patched = budgets.patch_status("web", &parameters, &patch).await;
    patched.expect("its status");
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let pod = json!({"metadata": {"name": "web", "labels": labels}, "spec": {"nodeName": node,
        "automountServiceAccountToken": false,
        "containers": [{"name": "c", "image": "registry.example.com/c:1"}]}});
    let pod = serde_json::from_value(pod).expect("a pod");
    let made = pods.create(&PostParams::default(), &pod).await;
    made.expect("a pod");
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let patch = Patch::Merge(running);
    let patched = pods.patch_status("web", &parameters, &patch).await;
    patched.expect("a running pod");
}

async fn until_machine(site: &Site, name: &str, reason: &str) {
    until(name, reason, async || {
        let machine = site.api::<Machine>().get(name).await.ok()?;
        Some(machine.status?.conditions)
    })
    .await;
    let machine = site.api::<Machine>().get(name).await.expect("a Machine");
    let stage = machine.status.and_then(|status| status.stage);
    assert!(
        stage.is_none_or(|stage| stage.clock.waits_for.is_some()),
        "{name}: a clock runs that waits"
    );
}

fn troubles(site: &Site) {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    let kind = ["-q", "-t", "ed25519", "-N", "", "-f"];
    let mut keygen = std::process::Command::new("ssh-keygen");
    let made = keygen.args(kind).arg(&key).status();
    assert!(made.expect("ssh-keygen").success());
    let ssh = "--type=kubernetes.io/ssh-auth";
    let file = format!("--from-file=ssh-privatekey={}", key.display());
    site.kubectl(&["create", "secret", "generic", "key", ssh, &file], "");
    let bad = "--from-literal=ssh-privatekey=hunter2";
    site.kubectl(&["create", "secret", "generic", "bad", ssh, bad], "");
    gateway_secret(site);
    let kubeconfig = "--from-literal=value=apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
";
    site.kubectl(
        &["create", "secret", "generic", "away-kubeconfig", kubeconfig],
        "",
    );
    let simulated = |settings: Value| {
        let mut value = settings;
        value["apiVersion"] = json!("tatara.dev/v1alpha1");
        value["kind"] = json!("SimulatedMachineProviderSpec");
        json!({"providerSpec": {"value": value}})
    };
    let fails = simulated(json!({"fail": "no power supply"}));
    let class = json!({"valueFrom": {"machineClass": {"name": "missing"}}});
    for object in [
        machine("ownerless", &json!({"metadata": {"labels": {}}})),
        machine(
            "astray",
            &json!({"metadata": {"labels": {"cluster.k8s.io/cluster-name": "missing"}}}),
        ),
        machine(
            "old",
            &json!({"spec": {"versions": {"kubelet": "v1.20.0"}}}),
        ),
        machine("classless", &json!({"spec": {"providerSpec": class}})),
        machine("failing", &json!({"spec": fails})),
        machine("homeless", &json!({"spec": {"providerSpec": on_hosts()}})),
        machine("silent", &json!({"spec": {"providerSpec": on_hosts()}})),
        machine("leaving", &json!({"spec": {"providerSpec": on_hosts()}})),
        machine(
            "remote",
            &json!({"metadata": {"labels": {"cluster.k8s.io/cluster-name": "away"}}}),
        ),
        host("away", "key"),
        host("keyless", "missing"),
        host("misread", "bad"),
        json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor",
            "metadata": {"name": "away", "namespace": "default"},
            "spec": {"url": "https://127.0.0.1:1", "credentialsRef": {"name": "gateway"}}}),
        json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "away", "namespace": "default"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}}),
    ] {
        site.apply(&object.to_string());
    }
}

async fn all_say_so(site: &Site) {
    for (name, reason) in [
        ("ownerless", "ClusterLabelMissing"),
        ("astray", "ClusterMissing"),
        ("old", "UnsupportedVersion"),
        ("classless", "MachineClassMissing"),
        ("failing", "SimulatedFailure"),
        ("homeless", "NoMatchingHost"),
        ("silent", "SshUnreachable"),
        ("leaving", "HostUnreachable"),
        ("remote", "WaitingForControlPlane"),
    ] {
        until_machine(site, name, reason).await;
    }
    for (name, reason) in [
        ("away", "SshUnreachable"),
        ("held", "SshUnreachable"),
        ("keyless", "CredentialMissing"),
        ("misread", "CredentialMalformed"),
    ] {
        until(name, reason, async || {
            Some(site.api::<Host>().get(name).await.ok()?.status?.conditions)
        })
        .await;
    }
    until("Hypervisor away", "HypervisorUnreachable", async || {
        let hypervisor = site.api::<Hypervisor>().get("away").await.ok()?;
        Some(hypervisor.status?.conditions)
    })
    .await;
    until("Cluster away", "ReadyzFailed", async || {
        let cluster = site.api::<Cluster>().get("away").await.ok()?;
        Some(cluster.status?.conditions)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn each_trouble_that_waits_writes_at_most_once_and_all_at_most_three_times_in_half_a_minute()
{
    let site = Site::new().await;
    site.deployment("pool", 1, json!({}));
    site.until_ready("pool", 1).await;
    let drained = site.machines("pool").await[0].name_any();
    let node = site.nodes().await[0].name_any();
    blocked_pod(&site, &node).await;
    let machines = site.api::<Machine>();
    let delete = |name: String| {
        let machines = machines.clone();
        async move {
            machines
                .delete(&name, &DeleteParams::default())
                .await
                .expect("a deletion")
        }
    };
    delete(drained.clone()).await;
    troubles(&site);
    claimed(&site, "held", "silent").await;
    claimed(&site, "lost", "leaving").await;
    until_machine(&site, "leaving", "SshUnreachable").await;
    delete("leaving".into()).await;
    until_machine(&site, &drained, "DrainBlocked").await;
    all_say_so(&site).await;
    tokio::time::sleep(Duration::from_secs(5)).await;

    let mark = site.audit();
    tokio::time::sleep(WINDOW).await;
    let mut writes = BTreeMap::<(String, String), usize>::new();
    for request in mark.requests_of(audit::MANAGER) {
        if request.is_write() {
            let object = request.object_ref;
            *writes.entry((object.resource, object.name)).or_default() += 1;
        }
    }
    let most = writes.values().max().copied().unwrap_or(0);
    assert!(most <= 1, "in {WINDOW:?}: {writes:#?}");
    let all: usize = writes.values().sum();
    assert!(all <= 3, "in {WINDOW:?}: {writes:#?}");
}
