//! What a real API server says to manifests: the good ones are stored as they are, and the answer
//! to a bad one names the field, the value and the remedy.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "the support modules serve other files as well")]

use serde_json::{Value, json};

#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/kubectl.rs"]
mod kubectl;
#[path = "support/plane.rs"]
mod plane;

use fixtures::{fixtures, missing};
use kubectl::{Installed, installed};

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA/Q3v/gDqSucpkvHs8f7alwh3gI+fypYWCvXqeJBUTL";

fn object(kind: &str, group: &str, name: &str, spec: Value) -> Value {
    let version = format!("{group}/v1alpha1");
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

fn cluster(name: &str) -> Value {
    let network = json!({
        "services": { "cidrBlocks": ["10.96.0.0/16"] },
        "pods": { "cidrBlocks": ["10.244.0.0/16"] },
        "serviceDomain": "cluster.local",
    });
    object(
        "Cluster",
        "cluster.k8s.io",
        name,
        json!({ "clusterNetwork": network }),
    )
}

fn machine(name: &str) -> Value {
    let spec = json!({ "versions": { "kubelet": "v1.36.3" } });
    object("Machine", "cluster.k8s.io", name, spec)
}

fn set(kind: &str, name: &str) -> Value {
    let labels = json!({ "set": "a", "tier": "web" });
    let spec = json!({
        "selector": { "matchLabels": { "set": "a" } },
        "template": { "metadata": { "labels": labels }, "spec": { "versions": { "kubelet": "v1.36.3" } } },
    });
    object(kind, "cluster.k8s.io", name, spec)
}

fn class(name: &str) -> Value {
    let value = json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" });
    let mut class = object("MachineClass", "cluster.k8s.io", name, Value::Null);
    class["providerSpec"] = json!({ "value": value });
    class.as_object_mut().expect("an object").remove("spec");
    class
}

fn host(name: &str) -> Value {
    let ssh = json!({
        "address": "192.0.2.10",
        "credentialsRef": { "name": "fleet-key" },
        "hostKeys": [KEY],
    });
    object("Host", "tatara.dev", name, json!({ "ssh": ssh }))
}

/// A manifest with one thing wrong in it, and what the answer must say: field, value, remedy.
struct Bad {
    case: &'static str,
    manifest: Value,
    says: Vec<&'static str>,
}

/// A good manifest in which the field at `path` is set to `value`, or removed by null.
fn bad(case: &'static str, good: Value, path: &str, value: Value, says: &[&'static str]) -> Bad {
    let mut manifest = good;
    let mut at = &mut manifest;
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    for part in parent.split('.').filter(|part| !part.is_empty()) {
        at = &mut at[part];
    }
    if value.is_null() {
        at.as_object_mut().expect("an object").remove(name);
    } else {
        at[name] = value;
    }
    let says = says.to_vec();
    Bad {
        case,
        manifest,
        says,
    }
}

fn refuse(cases: Vec<Bad>) {
    let plane = installed();
    for Bad {
        case,
        manifest,
        says,
    } in cases
    {
        plane.create("default", &manifest).refused(case, &says);
    }
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_cluster_is_refused_with_field_value_and_remedy() {
    let network = "spec.clusterNetwork";
    let pods = "spec.clusterNetwork.pods.cidrBlocks";
    let services = "spec.clusterNetwork.services.cidrBlocks";
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, cluster("bad"), path, value, says)
    };
    refuse(vec![
        with(
            "misspelt field",
            "spec.clusterNetwork.podz",
            json!({}),
            &["unknown field \"spec.clusterNetwork.podz\""],
        ),
        with(
            "no network",
            network,
            Value::Null,
            &["spec.clusterNetwork: Required value"],
        ),
        with(
            "no ranges",
            pods,
            json!([]),
            &[pods, "should have at least 1 items"],
        ),
        with(
            "three ranges",
            pods,
            json!(["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"]),
            &[pods, "must have at most 2 items"],
        ),
        with(
            "no CIDR",
            pods,
            json!(["ten"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"ten\"",
                "write one such as 10.244.0.0/16",
            ],
        ),
        with(
            "prefix too long",
            pods,
            json!(["10.244.0.0/33"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"10.244.0.0/33\"",
                "write one such as 10.244.0.0/16",
            ],
        ),
        with(
            "host bits set",
            pods,
            json!(["10.244.0.1/16"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"10.244.0.1/16\"",
                "write the address of the network itself",
            ],
        ),
        with(
            "two of one family",
            pods,
            json!(["10.244.0.0/16", "10.245.0.0/16"]),
            &[
                pods,
                "10.244.0.0/16 and 10.245.0.0/16",
                "one of IPv4 and one of IPv6",
            ],
        ),
        with(
            "pods hold services",
            pods,
            json!(["10.0.0.0/8"]),
            &[
                network,
                "pods.cidrBlocks 10.0.0.0/8",
                "services.cidrBlocks 10.96.0.0/16",
                "give them ranges that share no address",
            ],
        ),
        with(
            "services hold pods",
            services,
            json!(["10.240.0.0/12"]),
            &[
                network,
                "services.cidrBlocks 10.240.0.0/12",
                "give them ranges that share no address",
            ],
        ),
        with(
            "services too many",
            services,
            json!(["100.0.0.0/8"]),
            &[
                network,
                "services.cidrBlocks 100.0.0.0/8",
                "use at most a /12 of IPv4",
            ],
        ),
        with(
            "bad domain",
            "spec.clusterNetwork.serviceDomain",
            json!("cluster local"),
            &[
                "spec.clusterNetwork.serviceDomain",
                "\"cluster local\"",
                "write one such as cluster.local",
            ],
        ),
        with(
            "no source",
            "spec.providerSpec",
            json!({ "valueFrom": {} }),
            &[
                "spec.providerSpec.valueFrom",
                "set valueFrom.machineClass.name",
            ],
        ),
        with(
            "provider spec is text",
            "spec.providerSpec",
            json!({ "value": "ssh" }),
            &[
                "spec.providerSpec.value",
                "must be of type object: \"string\"",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_is_refused_with_field_value_and_remedy() {
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, machine("bad"), path, value, says)
    };
    refuse(vec![
        with(
            "misspelt field",
            "spec.version",
            json!("v1.36.3"),
            &["unknown field \"spec.version\""],
        ),
        with("no spec", "spec", Value::Null, &["spec: Required value"]),
        with(
            "no versions",
            "spec.versions",
            Value::Null,
            &[
                "spec.versions",
                "set spec.versions.kubelet, such as v1.36.3",
            ],
        ),
        with(
            "no kubelet version",
            "spec.versions",
            json!({ "controlPlane": "v1.36.3" }),
            &["spec.versions.kubelet: Required value"],
        ),
        with(
            "latest",
            "spec.versions.kubelet",
            json!("latest"),
            &[
                "spec.versions.kubelet",
                "\"latest\"",
                "write one such as v1.36.3",
            ],
        ),
        with(
            "empty version",
            "spec.versions.kubelet",
            json!(""),
            &["spec.versions.kubelet", "write one such as v1.36.3"],
        ),
        with(
            "minor only",
            "spec.versions.controlPlane",
            json!("v1.36"),
            &[
                "spec.versions.controlPlane",
                "\"v1.36\"",
                "write one such as v1.36.3",
            ],
        ),
        with(
            "a number",
            "spec.versions.kubelet",
            json!(1.36),
            &[
                "spec.versions.kubelet",
                "must be of type string: \"number\"",
            ],
        ),
        with(
            "two versions",
            "versions",
            json!({ "kubelet": "v1.35.4" }),
            &[
                "versions: Invalid value",
                "they differ; keep spec.versions and remove the other",
            ],
        ),
        with(
            "two roles",
            "versions",
            json!({ "kubelet": "v1.36.3", "controlPlane": "v1.36.3" }),
            &[
                "versions: Invalid value",
                "they differ; keep spec.versions and remove the other",
            ],
        ),
        with(
            "bad alias",
            "versions",
            json!({ "kubelet": "newest" }),
            &[
                "versions.kubelet",
                "\"newest\"",
                "write one such as v1.36.3",
            ],
        ),
        with(
            "bad effect",
            "spec.taints",
            json!([{ "key": "a", "effect": "Never" }]),
            &[
                "spec.taints[0].effect",
                "\"Never\"",
                "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            ],
        ),
        with(
            "bad label",
            "spec.metadata",
            json!({ "labels": { "rack": "a b" } }),
            &[
                "spec.metadata.labels",
                "label rack",
                "use at most 63 letters",
            ],
        ),
        with(
            "negative time",
            "spec.deletion",
            json!({ "nodeDrainTimeoutSeconds": -1 }),
            &[
                "spec.deletion.nodeDrainTimeoutSeconds",
                "-1",
                "greater than or equal to 0",
            ],
        ),
        with(
            "nameless class",
            "spec.providerSpec",
            json!({ "valueFrom": { "machineClass": { "name": "" } } }),
            &[
                "spec.providerSpec.valueFrom.machineClass.name",
                "at least 1 chars",
            ],
        ),
    ]);
}

fn bad_sets(kind: &'static str) -> Vec<Bad> {
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, set(kind, "bad"), path, value, says)
    };
    let remedy = "write the labels that it selects into template.metadata.labels";
    let expression = |operator: &str, key: &str, values: &[&str]| {
        let expression = json!({ "key": key, "operator": operator, "values": values });
        json!({ "matchExpressions": [expression] })
    };
    vec![
        with(
            "misspelt field",
            "spec.replica",
            json!(1),
            &["unknown field \"spec.replica\""],
        ),
        with(
            "misspelt in template",
            "spec.template.spec.version",
            json!(1),
            &["unknown field \"spec.template.spec.version\""],
        ),
        with(
            "negative replicas",
            "spec.replicas",
            json!(-1),
            &["spec.replicas", "-1", "greater than or equal to 0"],
        ),
        with(
            "no selector",
            "spec.selector",
            Value::Null,
            &["spec.selector: Required value"],
        ),
        with(
            "empty selector",
            "spec.selector",
            json!({}),
            &["spec.selector", "is empty; set selector.matchLabels"],
        ),
        with(
            "empty labels",
            "spec.selector",
            json!({ "matchLabels": {} }),
            &["spec.selector", "is empty; set selector.matchLabels"],
        ),
        with(
            "other value",
            "spec.selector",
            json!({ "matchLabels": { "set": "b" } }),
            &["spec.selector", remedy],
        ),
        with(
            "other label",
            "spec.selector",
            json!({ "matchLabels": { "set": "a", "x": "y" } }),
            &["spec.selector", remedy],
        ),
        with(
            "In",
            "spec.selector",
            expression("In", "set", &["b", "c"]),
            &["spec.selector", remedy],
        ),
        with(
            "NotIn",
            "spec.selector",
            expression("NotIn", "set", &["a"]),
            &["spec.selector", remedy],
        ),
        with(
            "Exists",
            "spec.selector",
            expression("Exists", "x", &[]),
            &["spec.selector", remedy],
        ),
        with(
            "DoesNotExist",
            "spec.selector",
            expression("DoesNotExist", "set", &[]),
            &["spec.selector", remedy],
        ),
        with(
            "bad operator",
            "spec.selector",
            expression("Like", "set", &["a"]),
            &[
                "spec.selector.matchExpressions[0].operator",
                "\"Like\"",
                "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
            ],
        ),
        with(
            "no labels",
            "spec.template.metadata",
            Value::Null,
            &["spec.selector", remedy],
        ),
        with(
            "no template",
            "spec.template",
            Value::Null,
            &["spec.template: Required value"],
        ),
        with(
            "no versions",
            "spec.template.spec",
            json!({}),
            &[
                "spec.template.spec.versions",
                "set template.spec.versions.kubelet",
            ],
        ),
        with(
            "bad version",
            "spec.template.spec.versions",
            json!({ "kubelet": "latest" }),
            &[
                "spec.template.spec.versions.kubelet",
                "\"latest\"",
                "write one such as v1.36.3",
            ],
        ),
        with(
            "bad label",
            "spec.template.metadata.labels.note",
            json!("a b"),
            &[
                "spec.template.metadata.labels",
                "label note",
                "use at most 63 letters",
            ],
        ),
    ]
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_set_is_refused_with_field_value_and_remedy() {
    refuse(bad_sets("MachineSet"));
    let good = set("MachineSet", "bad");
    refuse(vec![bad(
        "bad policy",
        good,
        "spec.deletePolicy",
        json!("Youngest"),
        &[
            "spec.deletePolicy",
            "\"Youngest\"",
            "\"Random\", \"Newest\", \"Oldest\"",
        ],
    )]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_deployment_is_refused_with_field_value_and_remedy() {
    refuse(bad_sets("MachineDeployment"));
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, set("MachineDeployment", "bad"), path, value, says)
    };
    refuse(vec![
        with(
            "bad strategy",
            "spec.strategy",
            json!({ "type": "Recreate" }),
            &[
                "spec.strategy.type",
                "\"Recreate\"",
                "\"RollingUpdate\", \"OnDelete\"",
            ],
        ),
        with(
            "bad surge",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxSurge": "lots" } }),
            &[
                "spec.strategy.rollingUpdate.maxSurge",
                "\"lots\"",
                "write one such as 1 or 25%",
            ],
        ),
        with(
            "negative",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxUnavailable": -1 } }),
            &[
                "spec.strategy.rollingUpdate.maxUnavailable",
                "-1",
                "write one such as 1 or 25%",
            ],
        ),
        with(
            "negative history",
            "spec.revisionHistoryLimit",
            json!(-1),
            &[
                "spec.revisionHistoryLimit",
                "-1",
                "greater than or equal to 0",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_class_is_refused_with_field_value_and_remedy() {
    let with =
        |case, path: &str, value, says: &[&'static str]| bad(case, class("bad"), path, value, says);
    refuse(vec![
        with(
            "misspelt field",
            "providerSpecs",
            json!({}),
            &["unknown field \"providerSpecs\""],
        ),
        with(
            "no provider spec",
            "providerSpec",
            Value::Null,
            &["providerSpec: Required value"],
        ),
        with(
            "text",
            "providerSpec",
            json!("ssh"),
            &["providerSpec", "must be of type object: \"string\""],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_host_is_refused_with_field_value_and_remedy() {
    let with =
        |case, path: &str, value, says: &[&'static str]| bad(case, host("bad"), path, value, says);
    let jump = |host_keys: Value| json!([{ "address": "bastion", "hostKeys": host_keys }]);
    refuse(vec![
        with(
            "misspelt field",
            "spec.ssh.hostkeys",
            json!([]),
            &["unknown field \"spec.ssh.hostkeys\""],
        ),
        with(
            "no key",
            "spec.ssh.hostKeys",
            Value::Null,
            &[
                "spec.ssh",
                "hostKeys is empty; pin the host's public keys",
                "or set trustOnFirstUse: true",
            ],
        ),
        with(
            "empty keys",
            "spec.ssh.hostKeys",
            json!([]),
            &["spec.ssh", "hostKeys is empty; pin the host's public keys"],
        ),
        with(
            "malformed key",
            "spec.ssh.hostKeys",
            json!(["ssh-ed25519 AAAA"]),
            &[
                "spec.ssh.hostKeys[0]",
                "\"ssh-ed25519 AAAA\"",
                "write what ssh-keyscan prints without the name",
            ],
        ),
        with(
            "key with name",
            "spec.ssh.hostKeys",
            json!([format!("node-1 {KEY}")]),
            &[
                "spec.ssh.hostKeys[0]",
                "node-1 ssh-ed25519",
                "without the name",
            ],
        ),
        with(
            "weak key",
            "spec.ssh.hostKeys",
            json!([KEY.replace("ssh-ed25519", "ssh-dss")]),
            &["spec.ssh.hostKeys[0]", "ssh-dss", "is no public host key"],
        ),
        with(
            "root as another",
            "spec.ssh.user",
            json!("debian"),
            &[
                "spec.ssh",
                "privilege is root but user is debian",
                "set privilege: sudo, or user: root",
            ],
        ),
        with(
            "bad privilege",
            "spec.ssh.privilege",
            json!("doas"),
            &["spec.ssh.privilege", "\"doas\"", "\"root\", \"sudo\""],
        ),
        with(
            "port 0",
            "spec.ssh.port",
            json!(0),
            &["spec.ssh.port", "0", "greater than or equal to 1"],
        ),
        with(
            "port too high",
            "spec.ssh.port",
            json!(65536),
            &["spec.ssh.port", "65536", "less than or equal to 65535"],
        ),
        with(
            "port as text",
            "spec.ssh.port",
            json!("22"),
            &["spec.ssh.port", "must be of type integer: \"string\""],
        ),
        with(
            "user in address",
            "spec.ssh.address",
            json!("root@192.0.2.10"),
            &[
                "spec.ssh.address",
                "\"root@192.0.2.10\"",
                "with user and port in fields of their own",
            ],
        ),
        with(
            "port in address",
            "spec.ssh.address",
            json!("192.0.2.10:22"),
            &[
                "spec.ssh.address",
                "\"192.0.2.10:22\"",
                "with user and port in fields of their own",
            ],
        ),
        with(
            "no credentials",
            "spec.ssh.credentialsRef",
            Value::Null,
            &["spec.ssh.credentialsRef: Required value"],
        ),
        with(
            "jump on trust",
            "spec.ssh.jump",
            jump(json!([])),
            &["spec.ssh.jump[0].hostKeys", "at least 1 items"],
        ),
        with(
            "jump with a bad key",
            "spec.ssh.jump",
            jump(json!(["x"])),
            &[
                "spec.ssh.jump[0].hostKeys[0]",
                "\"x\"",
                "write what ssh-keyscan prints",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn good_manifests_are_stored_as_they_were_written() {
    let plane = installed();
    plane.namespace("good");
    for folder in ["2019", "complete"] {
        for (file, manifest) in fixtures(folder) {
            let stored = plane.create("good", &manifest).json();
            assert_eq!(
                missing(&manifest, &stored, ""),
                Vec::<String>::new(),
                "{folder}/{file}"
            );
        }
    }
    let many = "get cluster,ma,ms,md,mc,hosts.tatara.dev -n good -o name";
    let many = many.split(' ').collect::<Vec<_>>();
    let many = plane.run(many[0], &many[1..]).out();
    assert_eq!(
        many.lines().count(),
        fixtures("2019").len() + fixtures("complete").len()
    );
}

#[test]
#[ignore = "needs a management plane"]
fn what_is_left_out_gets_the_defaults_of_2019() {
    let plane = installed();
    plane.namespace("defaults");
    let spec = |object: Value| plane.create("defaults", &object).json()["spec"].clone();
    let set_spec = spec(set("MachineSet", "a"));
    assert_eq!(set_spec["replicas"], 1);
    assert_eq!(set_spec["deletePolicy"], "Random");
    assert_eq!(set_spec["minReadySeconds"], 0);
    let deployment = spec(set("MachineDeployment", "a"));
    assert_eq!(deployment["replicas"], 1);
    assert_eq!(deployment["strategy"]["type"], "RollingUpdate");
    assert_eq!(deployment["revisionHistoryLimit"], 1);
    assert_eq!(deployment["progressDeadlineSeconds"], 600);
    let ssh = &spec(host("a"))["ssh"];
    assert_eq!(
        (&ssh["port"], &ssh["user"], &ssh["privilege"]),
        (&json!(22), &json!("root"), &json!("root"))
    );
    assert_eq!(
        spec(machine("a")),
        json!({ "versions": { "kubelet": "v1.36.3" } }),
        "and nothing else"
    );
}

#[test]
#[ignore = "needs a management plane"]
fn scale_reads_and_writes_replicas_and_knows_the_selector() {
    let plane = installed();
    plane.namespace("scale");
    for (kind, plural) in [
        ("MachineSet", "machinesets"),
        ("MachineDeployment", "machinedeployments"),
    ] {
        plane.create("scale", &set(kind, "a")).out();
        plane
            .run("scale", &["-n", "scale", plural, "a", "--replicas=3"])
            .out();
        let status = json!({ "status": { "replicas": 2, "labelSelector": "set=a" } });
        plane
            .patch("scale", &[plural, "a", "--subresource=status"], &status)
            .out();
        let path = format!("/apis/cluster.k8s.io/v1alpha1/namespaces/scale/{plural}/a/scale");
        let scale = plane.run("get", &["--raw", &path]).json();
        assert_eq!(scale["spec"], json!({ "replicas": 3 }), "{kind}");
        assert_eq!(
            scale["status"],
            json!({ "replicas": 2, "selector": "set=a" }),
            "{kind}"
        );
    }
}

#[test]
#[ignore = "needs a management plane"]
fn status_is_written_by_its_subresource_alone() {
    let plane = installed();
    plane.namespace("status");
    for (object, plural) in [
        (cluster("a"), "clusters"),
        (machine("a"), "machines"),
        (host("a"), "hosts.tatara.dev"),
    ] {
        plane.create("status", &object).out();
        let status = json!({ "status": { "observedGeneration": 1 } });
        let ignored = plane.patch("status", &[plural, "a"], &status).json();
        assert_eq!(ignored["status"], Value::Null, "{plural}");
        let written = plane
            .patch("status", &[plural, "a", "--subresource=status"], &status)
            .json();
        assert_eq!(written["status"]["observedGeneration"], 1, "{plural}");
        assert_eq!(written["metadata"]["generation"], 1, "{plural}");
    }
}

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
    object["spec"]["providerID"] = json!("tatara://ssh/1");
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
        "conditions": [{ "type": "Ready", "status": "True", "reason": "NodeReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
    } });
    plane
        .patch("columns", &["ma", "a", "--subresource=status"], &status)
        .out();
    let (head, mut row) = table(plane, "ma -n columns", "a");
    assert_eq!(
        head,
        [
            "NAME",
            "CLUSTER",
            "NODE",
            "PROVIDER ID",
            "PHASE",
            "VERSION",
            "AGE"
        ]
    );
    row.pop();
    assert_eq!(row, ["a", "c", "n", "tatara://ssh/1", "Running", "v1.36.3"]);
    let (head, row) = table(plane, "ma -n columns -o wide", "a");
    assert_eq!(head[7..], ["ADDRESS", "HOST", "RUNNING", "REASON"]);
    assert_eq!(row[7..], ["192.0.2.10", "h", "v1.36.2", "NodeReady"]);

    for (what, head) in [
        (
            "cl",
            vec![
                "NAME",
                "PHASE",
                "ENDPOINT",
                "CP DESIRED",
                "CP READY",
                "W DESIRED",
                "W READY",
                "VERSION",
                "AGE",
            ],
        ),
        (
            "ms",
            vec![
                "NAME",
                "CLUSTER",
                "DESIRED",
                "CURRENT",
                "READY",
                "AVAILABLE",
                "VERSION",
                "AGE",
            ],
        ),
        (
            "md",
            vec![
                "NAME",
                "CLUSTER",
                "DESIRED",
                "CURRENT",
                "READY",
                "AVAILABLE",
                "UP-TO-DATE",
                "PHASE",
                "VERSION",
                "AGE",
            ],
        ),
        ("mc", vec!["NAME", "PROVIDER", "IN USE", "AGE"]),
        (
            "hosts.tatara.dev",
            vec!["NAME", "ADDRESS", "STATE", "CONSUMER", "REASON", "AGE"],
        ),
    ] {
        assert_eq!(
            table(plane, &format!("{what} -n columns"), "a").0,
            head,
            "{what}"
        );
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
    node["spec"]["providerID"] = json!("tatara://ssh/2");
    for object in [host("a"), other, machine("a"), node] {
        plane.create("select", &object).out();
    }
    for (what, field) in [
        ("hosts.tatara.dev", "spec.ssh.address=192.0.2.11"),
        ("ma", "spec.providerID=tatara://ssh/2"),
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
        ("hosts.spec.ssh.trustOnFirstUse", "Off unless you write it"),
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

#[test]
#[ignore = "needs a management plane"]
fn a_claim_of_a_host_goes_only_by_release() {
    let plane = installed();
    plane.namespace("claim");
    plane.create("claim", &host("a")).out();
    let claim = |change: Value| {
        let change = json!({ "spec": { "consumerRef": change } });
        plane.patch("claim", &["hosts.tatara.dev", "a"], &change)
    };
    claim(json!({ "name": "m", "uid": "u1", "cluster": "c" })).out();
    claim(json!({ "uid": "u2" })).refused(
        "taken over",
        &[
            "spec.consumerRef",
            "Machine m",
            "set consumerRef.releasing: true",
        ],
    );
    claim(Value::Null).refused(
        "removed",
        &["spec", "Machine m", "set consumerRef.releasing: true"],
    );
    claim(json!({ "releasing": true })).out();
    claim(json!({ "releasing": false }))
        .refused("taken back", &["spec.consumerRef", "wait until it is free"]);
    claim(json!({ "uid": "u2" })).refused("taken over while releasing", &["passes to no other"]);
    claim(Value::Null).out();
    claim(json!({ "name": "m2", "uid": "u2" })).out();
    // Everything else about a claimed host may change.
    let change = json!({ "spec": { "maintenance": true, "ssh": { "port": 2222 } } });
    plane
        .patch("claim", &["hosts.tatara.dev", "a"], &change)
        .out();
}

#[test]
#[ignore = "needs a management plane"]
fn a_class_in_use_is_not_deleted() {
    let plane = installed();
    plane.namespace("class");
    let mut used = class("used");
    used["metadata"]["labels"] = json!({ "tatara.dev/in-use": "true" });
    plane.create("class", &used).out();
    plane.create("class", &class("unused")).out();
    // A policy takes effect a moment after it is made.
    let delete = |dry: &str| {
        plane.run(
            "delete",
            &["-n", "class", "mc", "used", "--wait=false", dry],
        )
    };
    plane.until("the policy on classes", |_| !delete("--dry-run=server").ok);
    delete("--dry-run=none").refused(
        "in use",
        &[
            "MachineClass used is in use",
            "tatara.dev/in-use",
            "first delete the MachineDeployments",
        ],
    );
    plane.run("delete", &["-n", "class", "mc", "unused"]).out();
    // With its namespace it may go, and its finalizer keeps the order.
    plane
        .run("delete", &["namespace", "class", "--timeout=60s"])
        .out();
}

#[test]
#[ignore = "needs a management plane"]
fn what_an_initialised_cluster_is_built_on_does_not_change() {
    let plane = installed();
    plane.namespace("initialised");
    let endpoint = |host: &str| json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec", "controlPlaneEndpoint": { "host": host } });
    let mut object = cluster("a");
    object["spec"]["providerSpec"] = json!({ "value": endpoint("192.0.2.9") });
    plane.create("initialised", &object).out();
    plane.create("initialised", &cluster("b")).out();
    let patch = |name: &str, change: Value| plane.patch("initialised", &["cl", name], &change);
    let spec = |change: Value| json!({ "spec": change });
    let network = |change: Value| spec(json!({ "clusterNetwork": change }));

    // Before, everything may change.
    patch("a", network(json!({ "serviceDomain": "other.local" }))).out();
    let mark =
        json!({ "metadata": { "annotations": { "tatara.dev/control-plane-initialized": "u1" } } });
    for name in ["a", "b"] {
        patch(name, mark.clone()).out();
    }
    let domain = network(json!({ "serviceDomain": "third.local" }));
    plane.until("the policy on clusters", |plane| {
        !plane
            .patch("initialised", &["cl", "b", "--dry-run=server"], &domain)
            .ok
    });

    let again = "or make a new Cluster";
    patch("a", domain).refused(
        "domain",
        &[
            "spec.clusterNetwork.serviceDomain cannot change",
            "set it back to other.local",
            again,
        ],
    );
    patch(
        "a",
        network(json!({ "pods": { "cidrBlocks": ["10.245.0.0/16"] } })),
    )
    .refused(
        "pods",
        &[
            "spec.clusterNetwork.pods.cidrBlocks cannot change",
            "[10.244.0.0/16]",
            again,
        ],
    );
    patch(
        "a",
        network(json!({ "services": { "cidrBlocks": ["10.97.0.0/16"] } })),
    )
    .refused(
        "services",
        &[
            "spec.clusterNetwork.services.cidrBlocks cannot change",
            "[10.96.0.0/16]",
            again,
        ],
    );
    let other = |value: Value| spec(json!({ "providerSpec": { "value": value } }));
    patch("a", other(endpoint("192.0.2.8"))).refused(
        "endpoint",
        &[
            "spec.providerSpec.value.controlPlaneEndpoint cannot change",
            "host: 192.0.2.9, port: 6443",
            again,
        ],
    );
    patch(
        "a",
        other(json!({ "controlPlaneEndpoint": { "port": 443 } })),
    )
    .refused(
        "port",
        &["controlPlaneEndpoint cannot change", "port: 6443"],
    );
    patch("a", other(json!({ "controlPlaneEndpoint": null }))).refused(
        "endpoint removed",
        &["controlPlaneEndpoint cannot change", "host: 192.0.2.9"],
    );
    patch("b", other(endpoint("192.0.2.8"))).refused(
        "endpoint added",
        &["controlPlaneEndpoint cannot change", "leave it out"],
    );
    for value in [json!("u2"), Value::Null] {
        let change = json!({ "metadata": { "annotations": { "tatara.dev/control-plane-initialized": value } } });
        patch("a", change).refused(
            "the record of init",
            &[
                "tatara.dev/control-plane-initialized",
                "Keep it; to start anew, delete the Cluster",
            ],
        );
    }

    // The rest still may: a port that says the default, addons, labels.
    patch(
        "a",
        other(json!({ "controlPlaneEndpoint": { "port": 6443 }, "addons": [{ "name": "cni" }] })),
    )
    .out();
    patch(
        "a",
        json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "x": "y" } } }),
    )
    .out();
    plane.run("delete", &["-n", "initialised", "cl", "a"]).out();
}
