//! Rolls of simulated machines, with a manager that is killed and templates that cannot be used.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tatara_core::api::{Cluster, Machine, MachineClass, MachineDeployment, MachineSet};

use crate::simulated::site::{Site, ready};
use crate::support::audit;
use crate::support::wait::eventually;

/// Counts the Machines of the namespace for as long as it lives.
struct Counted {
    most: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
}

impl Counted {
    fn start(machines: Api<Machine>) -> Self {
        let (most, end) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let counted = (most.clone(), end.clone());
        tokio::spawn(async move {
            while !counted.1.load(Ordering::Relaxed) {
                if let Ok(list) = machines.list(&ListParams::default()).await {
                    counted.0.fetch_max(list.items.len(), Ordering::Relaxed);
                }
            }
        });
        Self { most, end }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

async fn reason(site: &Site, name: &str) -> Option<(String, String)> {
    let deployment = site.api::<MachineDeployment>().get(name).await.ok()?;
    let conditions = deployment.status?.conditions;
    let progressing = conditions.into_iter().find(|c| c.type_ == "Progressing")?;
    Some((progressing.reason, progressing.message))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_manager_that_is_killed_in_mid_roll_makes_no_machine_twice() {
    let mut site = Site::new().await;
    // each is Ready at once: nobody would make a simulated Node Ready whose manager is killed in between
    let settings =
        json!({"bootMilliseconds": 400, "readyMilliseconds": 0, "deleteMilliseconds": 200});
    site.deployment("pool", 6, settings);
    site.until_ready("pool", 6).await;
    site.until_quiet().await;

    let mark = site.audit();
    let counted = Counted::start(site.api());
    let patch = json!({"spec": {"template": {"spec": {"versions": {"kubelet": "v1.36.2"}}}}});
    site.patch("machinedeployment", "pool", &patch);
    let is_new = |machine: &Machine| machine.versions().is_some_and(|v| v.kubelet == "v1.36.2");
    for wanted in [1, 3, 5] {
        eventually("new Machines", async || {
            let machines = site.machines("pool").await;
            (machines.iter().filter(|machine| is_new(machine)).count() >= wanted).then_some(())
        })
        .await;
        site.restart_manager();
    }
    eventually("the end of the roll", async || {
        let machines = site.machines("pool").await;
        let done = |machine: &Machine| is_new(machine) && ready(machine);
        (machines.len() == 6 && machines.iter().all(done)).then_some(())
    })
    .await;
    site.until_quiet().await;
    let requests = mark.requests_of(audit::MANAGER);
    let made = requests
        .iter()
        .filter(|request| request.verb == "create" && request.object_ref.resource == "machines")
        .count();
    assert_eq!(made, 6, "one for each that was replaced");
    let most = counted.most.load(Ordering::Relaxed);
    assert!(most <= 7, "{most} Machines at once, 7 may be");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_class_that_cannot_be_used_costs_no_machine_and_the_deployment_says_why() {
    let site = Site::new().await;
    let labels = json!({"pool": "pool", "cluster.k8s.io/cluster-name": "simulated"});
    let class = |kind: &str| {
        json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineClass",
            "metadata": {"name": "small", "namespace": "default"},
            "providerSpec": {"apiVersion": "tatara.dev/v1alpha1", "kind": kind}})
        .to_string()
    };
    let deployment = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "metadata": {"name": "pool", "namespace": "default",
            "labels": {"cluster.k8s.io/cluster-name": "simulated"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"pool": "pool"}},
            "template": {"metadata": {"labels": labels}, "spec": {
                "versions": {"kubelet": "v1.36.3"},
                "providerSpec": {"valueFrom": {"machineClass": {"name": "small"}}}}}}});
    site.apply(&class("SimulatedMachineProviderSpec"));
    site.apply(&deployment.to_string());
    site.until_ready("pool", 2).await;
    let uids = async || -> BTreeSet<_> {
        let machines = site.machines("pool").await;
        machines.iter().filter_map(ResourceExt::uid).collect()
    };
    let before = uids().await;

    site.apply(&class("Nonsense"));
    let says = async |wanted: &'static str, text: &'static str| {
        eventually(wanted, async || {
            let (reason, message) = reason(&site, "pool").await?;
            (reason == wanted && message.contains(text)).then_some(())
        })
        .await;
    };
    says("InvalidConfiguration", "Nonsense").await;
    site.until_quiet().await;
    assert_eq!(uids().await, before, "no Machine was made or given up");

    site.apply(&class("SimulatedMachineProviderSpec"));
    says("Complete", "").await;
    let patch = json!({"spec": {"template": {"spec": {"versions": {"kubelet": "v1.12.0"}}}}});
    site.patch("machinedeployment", "pool", &patch);
    says("UnsupportedVersion", "v1.12.0").await;
    site.until_quiet().await;
    assert_eq!(uids().await, before, "no Machine was made or given up");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_class_that_lost_the_label_that_keeps_it_has_it_again() {
    let site = Site::new().await;
    let class = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineClass",
        "metadata": {"name": "small", "namespace": "default"},
        "providerSpec": {"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"}});
    let deployment = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "metadata": {"name": "pool", "namespace": "default",
            "labels": {"cluster.k8s.io/cluster-name": "simulated"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"pool": "pool"}},
            "template": {"metadata": {"labels": {"pool": "pool", "cluster.k8s.io/cluster-name": "simulated"}},
                "spec": {"versions": {"kubelet": "v1.36.3"},
                    "providerSpec": {"valueFrom": {"machineClass": {"name": "small"}}}}}}});
    site.apply(&class.to_string());
    site.apply(&deployment.to_string());
    let has_label = async || {
        let class = site.api::<MachineClass>().get("small").await.ok()?;
        let has = class.labels().contains_key("tatara.dev/in-use");
        has.then(|| class.resource_version())
    };
    let first = eventually("the label", &has_label).await;
    site.kubectl(
        &["label", "machineclass", "small", "tatara.dev/in-use-"],
        "",
    );
    let again = eventually("the label again", &has_label).await;
    assert_ne!(first, again, "it was off for a moment");
    let dry_run = DeleteParams {
        dry_run: true,
        ..DeleteParams::default()
    };
    let deleted = site.api::<MachineClass>().delete("small", &dry_run).await;
    assert!(deleted.is_err(), "what uses it is left without it");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_set_takes_in_a_machine_beside_its_other_owners_and_nothing_when_it_leaves_them() {
    let site = Site::new().await;
    site.deployment("pool", 2, json!({}));
    site.until_ready("pool", 2).await;
    let set = site.api::<MachineSet>().list(&ListParams::default()).await;
    let set = set.expect("a list").items.remove(0);
    let cluster = site.api::<Cluster>().get("simulated").await.expect("it");
    let machine = site.machines("pool").await.remove(0);
    // somebody takes the set's own reference away and puts another's there
    let other = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "name": "simulated", "uid": cluster.uid()});
    let patch = json!({"metadata": {"ownerReferences": [other]}});
    site.patch("machine", &machine.name_any(), &patch);
    let owners = |machine: &Machine| -> BTreeSet<String> {
        let owners = machine.owner_references().iter();
        owners.map(|owner| owner.kind.clone()).collect()
    };
    let both = BTreeSet::from(["Cluster".to_owned(), "MachineSet".to_owned()]);
    eventually("both owners", async || {
        let now = site.api::<Machine>().get(&machine.name_any()).await.ok()?;
        (owners(&now) == both && now.uid() == machine.uid()).then_some(())
    })
    .await;

    let uids = async || -> BTreeSet<_> {
        let machines = site.machines("pool").await;
        machines.iter().filter_map(ResourceExt::uid).collect()
    };
    collects_garbage(&site).await;
    let before = uids().await;
    site.kubectl(
        &["delete", "machinedeployment", "pool", "--cascade=orphan"],
        "",
    );
    site.kubectl(
        &["delete", "machineset", &set.name_any(), "--cascade=orphan"],
        "",
    );
    site.until_quiet().await;
    assert_eq!(uids().await, before);
    let sets = |machine: &Machine| owners(machine).contains("MachineSet");
    assert!(!site.machines("pool").await.iter().any(sets));
}

/// Waits until the garbage collector of kube-controller-manager knows our kinds, half a minute after they were installed:
/// before, it takes an owner that is to leave its dependents behind for one that has none, and deletes them later.
async fn collects_garbage(site: &Site) {
    let owner = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "name": "gone", "uid": "00000000-0000-4000-8000-000000000000"});
    let labels = json!({"pool": "left"});
    let value =
        json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"});
    let left = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet",
        "metadata": {"name": "left", "namespace": "default", "ownerReferences": [owner],
            "labels": {"cluster.k8s.io/cluster-name": "simulated"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": value}}}}});
    site.apply(&left.to_string());
    eventually("a garbage collector", async || {
        let left = site.api::<MachineSet>().get_opt("left").await.ok()?;
        left.is_none().then_some(())
    })
    .await;
}
