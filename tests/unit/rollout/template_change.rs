//! What counts as a change of the template, frozen: were this table to change with a version of
//! Tatara, upgrading Tatara would replace everybody's Machines.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::Taint;
use serde_json::{Value, json};
use tatara_core::api::machine::MachineDeletion;
use tatara_core::api::{MachineDeployment, MachineVersions, ProviderSpec};
use tatara_core::machine_deployment::plan::Action;

use crate::rollout::simulation::{World, rolling};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::{Int, String as Text};

/// What a user does to the deployment and its class, and in which words.
type Edit = (&'static str, fn(&mut MachineDeployment, &mut Value));

fn versions(deployment: &mut MachineDeployment) -> &mut MachineVersions {
    deployment
        .spec
        .template
        .spec
        .versions
        .get_or_insert_default()
}

fn spec(deployment: &mut MachineDeployment) -> &mut tatara_core::api::MachineSpec {
    &mut deployment.spec.template.spec
}

fn ssh() -> Value {
    json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "SSHMachineProviderSpec",
        "hostSelector": {"matchLabels": {"rack": "a", "size": "large"}},
        "requirements": {"cpus": 4, "memory": "8Gi"},
        "node": {"files": [{"path": "/etc/motd", "content": "hello"}]},
    })
}

const EDITS: &[Edit] = &[
    ("nothing", |_, _| {}),
    ("versions.kubelet: v1.36.3 → 1.36.3", |d, _| {
        versions(d).kubelet = "1.36.3".into();
    }),
    ("versions.kubelet: v1.36.3 → v1.36.4", |d, _| {
        versions(d).kubelet = "v1.36.4".into();
    }),
    ("versions.kubelet: v1.36.3 → v1.36.3-rc.1", |d, _| {
        versions(d).kubelet = "v1.36.3-rc.1".into();
    }),
    ("versions.controlPlane: absent → \"\"", |d, _| {
        versions(d).control_plane = Some(String::new());
    }),
    ("versions.controlPlane: absent → v1.36.3", |d, _| {
        versions(d).control_plane = Some("v1.36.3".into());
    }),
    ("provider spec: keys in another order", |_, class| {
        *class = json!({
            "node": {"files": [{"content": "hello", "path": "/etc/motd"}]},
            "requirements": {"memory": "8Gi", "cpus": 4},
            "hostSelector": {"matchLabels": {"size": "large", "rack": "a"}},
            "kind": "SSHMachineProviderSpec",
            "apiVersion": "tatara.dev/v1alpha1",
        });
    }),
    (
        "provider spec: a field that is explicitly null",
        |_, class| class["failureDomain"] = Value::Null,
    ),
    (
        "provider spec: metadata with creationTimestamp null",
        |_, class| {
            class["metadata"] = json!({"creationTimestamp": null});
        },
    ),
    ("provider spec: metadata with a name", |_, class| {
        class["metadata"] = json!({"name": "large"});
    }),
    ("provider spec: hostSelector", |_, class| {
        class["hostSelector"]["matchLabels"]["rack"] = "b".into();
    }),
    ("provider spec: hostSelector loses a label", |_, class| {
        class["hostSelector"]["matchLabels"] = json!({"rack": "a"});
    }),
    (
        "provider spec: requirements.memory 8Gi → 8192Mi",
        |_, class| {
            class["requirements"]["memory"] = "8192Mi".into();
        },
    ),
    ("provider spec: content of a file", |_, class| {
        class["node"]["files"][0]["content"] = "bye".into();
    }),
    ("provider spec: another file", |_, class| {
        class["node"]["files"] = json!([{"path": "/etc/issue", "content": "x"}, {"path": "/etc/motd", "content": "hello"}]);
    }),
    ("provider spec: an empty section more", |_, class| {
        class["node"]["proxy"] = json!({});
    }),
    ("provider spec: kind", |_, class| {
        class["kind"] = "SimulatedMachineProviderSpec".into();
    }),
    ("provider spec: apiVersion", |_, class| {
        class["apiVersion"] = "tatara.dev/v1".into();
    }),
    (
        "provider spec: inline instead of by class, the same",
        |d, _| {
            spec(d).provider_spec = ProviderSpec {
                value: Some(ssh()),
                value_from: None,
            };
        },
    ),
    ("template label added", |d, _| {
        d.spec
            .template
            .metadata
            .labels
            .insert("team".into(), "red".into());
    }),
    ("template label changed", |d, _| {
        d.spec
            .template
            .metadata
            .labels
            .insert("tier".into(), "gold".into());
    }),
    ("template label removed", |d, _| {
        d.spec.template.metadata.labels.remove("tier");
    }),
    ("template annotation", |d, _| {
        d.spec
            .template
            .metadata
            .annotations
            .insert("team".into(), "red".into());
    }),
    (
        "template metadata.name, generateName, creationTimestamp",
        |d, _| {
            let metadata = &mut d.spec.template.metadata;
            metadata.name = Some("x".into());
            metadata.generate_name = Some("x-".into());
            metadata.creation_timestamp = None;
        },
    ),
    ("Node label", |d, _| {
        spec(d).metadata.labels.insert("zone".into(), "b".into());
    }),
    ("Node annotation", |d, _| {
        spec(d)
            .metadata
            .annotations
            .insert("zone".into(), "b".into());
    }),
    ("Node name", |d, _| {
        spec(d).metadata.name = Some("node".into());
    }),
    ("taints", |d, _| {
        spec(d).taints = vec![Taint {
            key: "gpu".into(),
            effect: "NoSchedule".into(),
            ..Taint::default()
        }];
    }),
    ("deletion.nodeDrainTimeoutSeconds", |d, _| {
        spec(d).deletion = Some(MachineDeletion {
            node_drain_timeout_seconds: Some(60),
            ..MachineDeletion::default()
        });
    }),
    ("configSource", |d, _| {
        spec(d).config_source = Some(json!({"configMap": {"name": "x"}}));
    }),
    ("providerID", |d, _| {
        spec(d).provider_id = Some("tatara://ssh/x".into());
    }),
    ("minReadySeconds", |d, _| d.spec.min_ready_seconds = 30),
    ("replicas", |d, _| d.spec.replicas = 4),
    ("strategy.rollingUpdate", |d, _| {
        d.spec.strategy = rolling(Text("50%".into()), Int(0));
    }),
    ("revisionHistoryLimit, progressDeadlineSeconds", |d, _| {
        d.spec.revision_history_limit = 5;
        d.spec.progress_deadline_seconds = 60;
    }),
    ("label of the MachineDeployment", |d, _| {
        d.metadata.labels = Some([("team".to_owned(), "red".to_owned())].into());
    }),
    ("paused", |d, _| d.spec.paused = true),
];

#[test]
fn what_counts_as_a_change_of_the_template_is_frozen() {
    let mut start = World::new(3, rolling(Int(1), Int(0)));
    start.set_version("v1.36.3");
    start.class = ssh();
    start
        .deployment
        .spec
        .template
        .metadata
        .labels
        .insert("tier".into(), "silver".into());
    start.settle(20);
    let mut table = String::from("# edit | new Machines | written on the MachineSet\n");
    for (name, edit) in EDITS {
        let mut world = start.clone();
        edit(&mut world.deployment, &mut world.class);
        let plan = world.deployment_plan();
        let rolls = plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::CreateSet(_)));
        let written: Vec<&str> = plan.actions.iter().flat_map(written).collect();
        let written = if written.is_empty() {
            "nothing".into()
        } else {
            written.join(", ")
        };
        let _ = writeln!(
            table,
            "{name} | {} | {written}",
            if rolls { "yes" } else { "no" }
        );
    }
    let stored = format!(
        "{}/tests/unit/rollout/template_change.golden",
        env!("CARGO_MANIFEST_DIR")
    );
    if std::fs::read_to_string(&stored).unwrap_or_default() != table {
        let found = format!("{}/template_change.golden", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&found, &table).expect("the target directory is writable");
        panic!("{stored} differs; if the change is meant: cp '{found}' '{stored}'\n{table}");
    }
}

fn written(action: &Action) -> Vec<&'static str> {
    let Action::UpdateSet(update) = action else {
        return Vec::new();
    };
    let parts = [
        (update.replicas.is_some(), "replicas"),
        (update.template.is_some(), "template"),
        (!update.labels.is_empty(), "labels"),
        (!update.annotations.is_empty(), "annotations"),
        (update.min_ready_seconds.is_some(), "minReadySeconds"),
    ];
    parts
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, what)| what)
        .collect()
}
