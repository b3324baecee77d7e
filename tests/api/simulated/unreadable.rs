//! Objects that cannot be read, beside others: what is stored may be older than a bound of its definition, or
//! nested deeper than anybody reads.

use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::api::core::v1::Event;
use kube::api::{DeleteParams, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara::store::{IndexKeys, Item};
use tatara_core::api::conditions::{ConditionType, find};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, Host, Machine};

use crate::simulated::site::{Site, ready};
use crate::support::audit::MANAGER;
use crate::support::wait::eventually;

/// Names of those that nobody can read, but for a Machine of the pool.
const BAD: [(&str, &str); 6] = [
    ("Cluster", "bad"),
    ("MachineClass", "bad"),
    ("MachineSet", "bad"),
    ("MachineDeployment", "bad"),
    ("Host", "bad"),
    ("Hypervisor", "bad"),
];

/// A provider's object, nested deeper than JSON is read.
fn deep() -> Value {
    let deep = (0..200).fold(json!(1), |value, _| json!({ "deep": value }));
    json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec", "deep": deep})
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn what_cannot_be_read_is_left_alone_and_keeps_nobody_else_back() {
    let mut site = Site::new().await;
    site.deployment("pool", 2, json!({}));
    site.until_ready("pool", 2).await;
    let victim = site.machines("pool").await[0].name_any();

    site.stop_manager();
    without_policy(&site, &victim).await;
    let change = json!({"spec": {"providerSpec": {"value": deep()}}});
    site.patch("machine", &victim, &change);
    make_bad(&site).await;
    let mark = site.audit();
    site.restart_manager();

    // it counts as a replica: three come for a pool of four, and it is none of those that go
    site.scale("pool", 4);
    until_ready(&site, &victim, 3).await;
    site.scale("pool", 2);
    until_ready(&site, &victim, 1).await;
    site.until_quiet().await;

    let said = said(&site).await;
    let mut expected: BTreeMap<_, _> = BAD
        .iter()
        .map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()))
        .collect();
    expected.insert("Machine".into(), victim.clone());
    for (kind, name) in &expected {
        let events = said.get(&(kind.clone(), name.clone()));
        let [event] = events.map_or(&[][..], Vec::as_slice) else {
            panic!("not one Event of {kind} {name}: {events:?}")
        };
        assert!(event.contains("cannot be read"), "{event}");
        assert!(
            site.log().contains(&event.replace('"', "\\\"")),
            "{event} is not in the log"
        );
        let counted = format!("tatara_unreadable_objects{{kind=\"{kind}\"}} 1");
        assert!(
            site.metrics().contains(&counted),
            "{counted}: {}",
            site.metrics()
        );
    }
    assert!(said[&("Host".into(), "bad".into())][0].contains("spec.ssh.port"));
    assert!(said[&("Hypervisor".into(), "bad".into())][0].contains("spec.maintenance"));

    // its Cluster waits for it, whoever deletes what
    let cluster = site.api::<Cluster>();
    let deleted = cluster.delete("simulated", &DeleteParams::default()).await;
    deleted.expect("a deletion");
    let message = eventually("a Cluster that waits for one Machine", async || {
        let cluster = cluster.get("simulated").await.expect("the Cluster");
        let status = cluster.status?;
        let deleting = find(&status.conditions, ConditionType::Deleting)?;
        let left = machines(&site).await.len();
        (left == 1 && deleting.message.contains(&victim)).then(|| deleting.message.clone())
    })
    .await;
    assert!(message.contains("cannot be read"), "{message}");
    site.until_quiet().await;
    let left = machines(&site).await;
    assert_eq!(left[0].name_any(), victim);
    assert_eq!(left[0].finalizers(), ["machine.cluster.k8s.io"]);
    let host = listed::<Host>(&site).await.pop().expect("the Host");
    assert_eq!(
        host.spec.consumer_ref.map(|c| c.uid).as_deref(),
        Some("somebody")
    );
    assert_eq!(
        host.metadata.finalizers,
        Some(vec!["tatara.dev/in-use".to_owned()])
    );
    for request in mark.requests_of(MANAGER).iter().filter(|r| r.is_write()) {
        let name = &request.object_ref.name;
        assert!(*name != victim && name != "bad", "{request:?}");
    }

    // mended, it goes, and everything with it
    let change = json!({"spec": {"providerSpec": {"value": {"deep": null}}}});
    site.patch("machine", &victim, &change);
    eventually("the end of the Cluster", async || {
        let gone = cluster.get_opt("simulated").await.expect("an answer");
        gone.is_none().then_some(())
    })
    .await;
    assert_eq!(machines(&site).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn nothing_is_done_in_a_namespace_where_nobody_can_tell_whose_a_host_is() {
    let site = Site::new().await;
    site.deployment("pool", 1, json!({}));
    site.until_ready("pool", 1).await;
    let claim = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/consumerRef";
    let looser = json!([{"op": "remove", "path": format!("{claim}/required")}]);
    loosen(&site, "hosts.tatara.dev", &looser);
    let nobodys = json!({"ssh": ssh(22), "consumerRef": {"name": "m"}});
    create(&site, "Host", "tatara.dev", &nobodys).await;
    eventually("an Event", async || {
        said(&site)
            .await
            .contains_key(&("Host".into(), "bad".into()))
            .then_some(())
    })
    .await;
    site.scale("pool", 2);
    eventually("word of it on the MachineDeployment", async || {
        let said = said(&site).await;
        let said = said.get(&("MachineDeployment".into(), "pool".into()))?;
        said.iter()
            .any(|event| event.contains("Host bad"))
            .then_some(())
    })
    .await;
    site.until_quiet().await;
    assert_eq!(machines(&site).await.len(), 1, "none came");
    // once it is deleted the namespace is worked on again
    site.kubectl(&["delete", "host.tatara.dev", "bad"], "");
    site.until_ready("pool", 2).await;
}

fn ssh(port: u32) -> Value {
    json!({"address": "192.0.2.1", "port": port, "user": "root", "credentialsRef": {"name": "key"},
        "trustOnFirstUse": true})
}

/// One of each kind that nobody can read.
async fn make_bad(site: &Site) {
    let template = json!({"metadata": {"labels": {"set": "bad"}},
        "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": deep()}}});
    let set =
        json!({"replicas": 1, "selector": {"matchLabels": {"set": "bad"}}, "template": template});
    let network = json!({"services": {"cidrBlocks": ["10.96.0.0/12"]}, "pods": {"cidrBlocks": ["10.244.0.0/16"]},
        "serviceDomain": "cluster.local"});
    let cluster = json!({"clusterNetwork": network, "providerSpec": {"value": deep()}});
    create(site, "Cluster", "cluster.k8s.io", &cluster).await;
    create(site, "MachineSet", "cluster.k8s.io", &set).await;
    create(site, "MachineDeployment", "cluster.k8s.io", &set).await;
    create(site, "MachineClass", "cluster.k8s.io", &deep()).await;
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    loosen(
        site,
        "hosts.tatara.dev",
        &json!([{"op": "remove", "path": format!("{spec}/ssh/properties/port/maximum")}]),
    );
    let any = json!({"x-kubernetes-preserve-unknown-fields": true});
    loosen(
        site,
        "hypervisors.tatara.dev",
        &json!([{"op": "replace", "path": format!("{spec}/maintenance"), "value": any}]),
    );
    let claim = json!({"name": "somebody", "uid": "somebody", "cluster": "c"});
    create(
        site,
        "Host",
        "tatara.dev",
        &json!({"ssh": ssh(70_000), "consumerRef": claim}),
    )
    .await;
    let hypervisor = json!({"url": "https://192.0.2.1", "credentialsRef": {"name": "g"}, "maintenance": "maybe"});
    create(site, "Hypervisor", "tatara.dev", &hypervisor).await;
}

/// Admission lets nobody change the provider's object of a Machine that runs; what is stored may be older than it.
/// That it is away takes effect a moment later.
async fn without_policy(site: &Site, machine: &str) {
    let policy = "validatingadmissionpolicybinding/tatara-machine-identity";
    site.kubectl(&["delete", policy], "");
    let change = r#"{"spec":{"providerSpec":{"value":{"failed":"by nobody"}}}}"#;
    let try_it = ["--dry-run=server", "--type=merge", "-p", change];
    let try_it = [&["patch", "machine", machine][..], &try_it].concat();
    eventually("the end of the policy", async || {
        site.try_kubectl(&try_it, "").then_some(())
    })
    .await;
}

fn loosen(site: &Site, definition: &str, patch: &Value) {
    let patch = patch.to_string();
    site.kubectl(
        &["patch", "crd", definition, "--type=json", "-p", &patch],
        "",
    );
}

/// Creates an object named `bad`, as soon as the API server takes it.
async fn create(site: &Site, kind: &str, group: &str, spec: &Value) {
    let mut metadata = json!({"name": "bad", "namespace": "default"});
    // nobody would ever let one go that nobody can tell whose it is
    if spec.pointer("/consumerRef/uid").is_some() {
        metadata["finalizers"] = json!(["tatara.dev/in-use"]);
    }
    let part = if kind == "MachineClass" {
        "providerSpec"
    } else {
        "spec"
    };
    let object = json!({"apiVersion": format!("{group}/v1alpha1"), "kind": kind, "metadata": metadata, (part): spec});
    eventually(kind, async || {
        let made = site.try_kubectl(&["create", "-f", "-"], &object.to_string());
        made.then_some(())
    })
    .await;
}

async fn listed<K>(site: &Site) -> Vec<K>
where
    K: IndexKeys + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned,
{
    let listed = site.api::<Item<K>>().list(&ListParams::default()).await;
    let listed = listed.expect("a list, whatever is in it").items;
    listed.into_iter().map(|Item(object)| object).collect()
}

async fn machines(site: &Site) -> Vec<Machine> {
    listed(site).await
}

/// Waits until there are the one that cannot be read, and so many others, all Ready.
async fn until_ready(site: &Site, victim: &str, count: usize) {
    eventually("Machines that are Ready", async || {
        let machines = machines(site).await;
        let bad = machines.iter().find(|machine| machine.name_any() == victim);
        let bad = bad.expect("it stays");
        assert!(unreadable(bad).is_some() && bad.metadata.deletion_timestamp.is_none());
        let others = machines
            .iter()
            .filter(|machine| unreadable(*machine).is_none());
        let others: Vec<_> = others.collect();
        (others.len() == count && others.iter().all(|machine| ready(machine))).then_some(())
    })
    .await;
}

/// What Events say of objects that cannot be read, or wait for such: by kind and name.
async fn said(site: &Site) -> BTreeMap<(String, String), Vec<String>> {
    let events: Api<Event> = site.api();
    let events = events
        .list(&ListParams::default())
        .await
        .expect("Events")
        .items;
    let mut said = BTreeMap::<_, Vec<String>>::new();
    for event in events
        .into_iter()
        .filter(|event| event.action.as_deref() == Some("Readable"))
    {
        let about = event.involved_object;
        let key = (
            about.kind.unwrap_or_default(),
            about.name.unwrap_or_default(),
        );
        said.entry(key)
            .or_default()
            .push(event.message.unwrap_or_default());
    }
    said
}
