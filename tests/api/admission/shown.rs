//! What people see: columns, selectable fields, explanations.

use serde_json::json;

use crate::admission::manifests::{class, cluster, host, machine, set};
use crate::support::kubectl::{Installed, installed};

/// The head of a table, and its line that begins with this name.
fn table(plane: &Installed, what: &str, name: &str) -> (Vec<String>, Vec<String>) {
    let arguments = what.split(' ').collect::<Vec<_>>();
    let out = plane.run("get", &arguments).out();
    let columns = |line: &str| {
        let cells = line
            .split("   ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    let row = out
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    (
        columns(out.lines().next().unwrap_or_default()),
        columns(row),
    )
}

#[test]
#[ignore = "needs a management plane"]
fn columns_answer_the_question_and_short_names_work() {
    let plane = installed();
    plane.namespace("columns");
    let mut object = machine("a");
    object["metadata"]["labels"] = json!({ "cluster.k8s.io/cluster-name": "c" });
    object["spec"]["providerID"] = json!("other://rack/1");
    for object in [
        object,
        cluster("a"),
        class("a"),
        set("MachineSet", "a"),
        set("MachineDeployment", "a"),
        host("a"),
    ] {
        plane.create("columns", &object).out();
    }
    let status = json!({ "status": {
        "phase": "Running", "host": "h", "nodeRef": { "name": "n" }, "versions": { "kubelet": "v1.36.2" },
        "addresses": [{ "type": "InternalIP", "address": "192.0.2.10" }],
        "stage": { "name": "Running", "since": "2026-01-01T00:00:00Z", "waitsFor": "Budget" },
        "change": { "kind": "Update", "step": "Drain", "begun": true, "since": "2026-01-01T00:00:00Z" },
        "conditions": [{ "type": "Ready", "status": "True", "reason": "NodeReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
    } });
    plane
        .patch("columns", &["ma", "a", "--subresource=status"], &status)
        .out();
    let (head, mut row) = table(plane, "ma -n columns", "a");
    assert_eq!(
        head,
        [
            "NAME", "CLUSTER", "NODE", "PHASE", "READY", "REASON", "VERSION", "AGE"
        ]
    );
    row.pop();
    let expected = ["a", "c", "n", "Running", "True", "NodeReady", "v1.36.3"];
    assert_eq!(row, expected);
    let (head, row) = table(plane, "ma -n columns -o wide", "a");
    let wide = [
        "PROVIDER ID",
        "ADDRESS",
        "HOST",
        "RUNNING",
        "STAGE",
        "CHANGE",
        "WAITS FOR",
    ];
    assert_eq!(head[8..], wide);
    let expected = [
        "other://rack/1",
        "192.0.2.10",
        "h",
        "v1.36.2",
        "Running",
        "Drain",
        "Budget",
    ];
    assert_eq!(row[8..], expected);

    for (what, head) in [
        (
            "cl",
            "NAME, PHASE, READY, REASON, ENDPOINT, CP DESIRED, CP READY, W DESIRED, W READY, VERSION, AGE",
        ),
        (
            "ms",
            "NAME, CLUSTER, DESIRED, CURRENT, READY, AVAILABLE, REASON, VERSION, AGE",
        ),
        (
            "md",
            "NAME, CLUSTER, DESIRED, CURRENT, READY, AVAILABLE, UP-TO-DATE, PHASE, REASON, VERSION, AGE",
        ),
        ("mc", "NAME, PROVIDER, IN USE, AGE"),
        (
            "hosts.tatara.dev",
            "NAME, ADDRESS, STATE, READY, REASON, CONSUMER, AGE",
        ),
    ] {
        let shown = table(plane, &format!("{what} -n columns"), "a").0;
        assert_eq!(shown.join(", "), head, "{what}");
    }
    let all = plane
        .run("get", &["cluster-api", "-n", "columns", "-o", "name"])
        .out();
    assert_eq!(all.lines().count(), 6, "{all}");
}

#[test]
#[ignore = "needs a management plane"]
fn fields_that_help_select() {
    let plane = installed();
    plane.namespace("select");
    let mut other = host("b");
    other["spec"]["ssh"]["address"] = json!("192.0.2.11");
    let mut node = machine("b");
    node["spec"]["providerID"] = json!("other://rack/2");
    for object in [host("a"), other, machine("a"), node] {
        plane.create("select", &object).out();
    }
    for (what, field) in [
        ("hosts.tatara.dev", "spec.ssh.address=192.0.2.11"),
        ("ma", "spec.providerID=other://rack/2"),
    ] {
        let arguments = [
            "-n",
            "select",
            what,
            "--field-selector",
            field,
            "-o",
            "jsonpath={.items[*].metadata.name}",
        ];
        assert_eq!(plane.run("get", &arguments).out(), "b", "{field}");
    }
}

#[test]
#[ignore = "needs a management plane"]
fn explain_says_what_the_doc_comments_say() {
    let plane = installed();
    for (path, text) in [
        ("cluster", "A Kubernetes cluster: its networks"),
        (
            "machine.spec.versions.controlPlane",
            "its presence makes this a control-plane machine",
        ),
        (
            "md.spec.strategy.rollingUpdate.maxSurge",
            "a percentage is rounded up",
        ),
        (
            "hosts.spec.ssh.trustOnFirstUse",
            "that the server presents at first contact",
        ),
    ] {
        let api = if path.starts_with("hosts") {
            "tatara.dev/v1alpha1"
        } else {
            "cluster.k8s.io/v1alpha1"
        };
        let api = format!("--api-version={api}");
        // wrapped for the terminal
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        plane.until(path, |plane| {
            let said = plane.run("explain", &[path, &api]);
            said.ok && flat(&said.out).contains(text)
        });
    }
}
