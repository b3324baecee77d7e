//! A cluster that runs: what keeps it from changing, or from being seen.

use serde_json::{Value, json};

use crate::case::Case;
use crate::score::Score;
use crate::stage::{SPARE, Stage};

pub async fn all(stage: &Stage, score: &mut Score) {
    score.run(stage, &CLASS).await;
    score.run(stage, &API).await;
    score.run(stage, &OFF).await;
    score.run(stage, &BUDGET).await;
}

const CLASS: Case = Case {
    name: "a MachineClass that cannot be used",
    inject: |stage| {
        class(stage, "NonsenseSpec");
        stage.scale(SPARE, 1);
    },
    on: &["machinedeployment/spare", "cluster/quickstart"],
    cause: &["NonsenseSpec"],
    remedy: &["SSHMachineProviderSpec"],
    undo: |stage| class(stage, "SSHMachineProviderSpec"),
    end: Stage::clear,
};

fn class(stage: &Stage, kind: &str) {
    let patch = json!({"providerSpec": {"value": {"kind": kind}}});
    stage.patch("machineclass/spare", &patch);
}

const API: Case = Case {
    name: "the manager gets no answer from the cluster's API",
    inject: |stage| {
        stage.shell("host-a", &format!("iptables -I {}", rule(stage)));
    },
    on: &["machine/quickstart-control-plane", "cluster/quickstart"],
    cause: &[".100:6443", "since "],
    remedy: &["Check route and firewall between the manager and"],
    undo: |stage| {
        stage.shell("host-a", &format!("iptables -D {}", rule(stage)));
    },
    end: Stage::whole,
};

/// Packets of the manager alone: kubelets are heard.
fn rule(stage: &Stage) -> String {
    format!(
        "INPUT -s {}.254/32 -p tcp --dport 6443 -j DROP",
        stage.subnet()
    )
}

const OFF: Case = Case {
    name: "a host goes off under its Node",
    inject: |stage| {
        stage.fleet(&["kill", "host-c"]);
    },
    on: &[
        "host/host-c",
        "machine/quickstart-workers-*",
        "machinedeployment/quickstart-workers",
        "cluster/quickstart",
    ],
    cause: &["failed to reach debian@"],
    remedy: &["check the address"],
    undo: |stage| {
        stage.fleet(&["start", "host-c", &format!("{}.13", stage.subnet())]);
        stage.look_again("host/host-c");
    },
    end: Stage::whole,
};

const BUDGET: Case = Case {
    name: "a PodDisruptionBudget that never allows an eviction",
    inject: |stage| {
        guard(stage);
        let machine = worker(stage);
        stage.kubectl(&["delete", &machine, "--wait=false"]);
    },
    on: &[
        "machine/quickstart-workers-*",
        "machinedeployment/quickstart-workers",
        "cluster/quickstart",
    ],
    cause: &["PodDisruptionBudget", "guarded"],
    remedy: &[
        "Let the budget allow an eviction",
        "nodeDrainTimeoutSeconds",
    ],
    undo: |stage| {
        stage.member(&["delete", "pdb/guarded", "deployment/guarded"]);
    },
    end: Stage::whole,
};

/// A worker's Machine, as `machine/NAME`.
pub fn worker(stage: &Stage) -> String {
    let names = stage.kubectl(&["get", "machines", "-l", "pool=workers", "--output=name"]);
    names.lines().next().expect("a worker").to_owned()
}

/// A pod behind a budget on each worker.
fn guard(stage: &Stage) {
    let labels = json!({"app": "guarded"});
    let pods = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "guarded"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "terminationGracePeriodSeconds": 1,
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": labels}, "nodeTaintsPolicy": "Honor"}],
            "containers": [{"name": "sleep", "image": "localhost/tools:1", "imagePullPolicy": "Never", "command": ["sleep", "100000"]}]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": labels}}});
    for (name, object) in [("pods", pods), ("budget", budget)] {
        apply(stage, name, &object);
    }
    stage.member(&[
        "wait",
        "--for=condition=Available",
        "deployment/guarded",
        "--timeout=120s",
    ]);
}

fn apply(stage: &Stage, name: &str, object: &Value) {
    let file = stage.run().join(format!("{name}.json"));
    std::fs::write(&file, object.to_string()).expect("a file");
    stage.member(&["apply", "-f", file.to_str().expect("text")]);
}
