//! What only the manager changes: turn and record of init, and what a Machine is.

use serde_json::{Value, json};

use crate::admission::manifests::{cluster, machine};
use crate::admission::policies::{AS_MANAGER, until_refused};
use crate::support::kubectl::{Said, installed};

const TURN: &str = "tatara.dev/control-plane-turn";
const RECORD: &str = "tatara.dev/control-plane-initialized";
/// What a record names: the UID of a Machine.
const MADE_BY: &str = "6f1c0f0e-6a3c-4a7e-9a59-3f0b8f6a2d11";
const GONE: &str = "tatara.dev/host-is-gone";

fn turn(uid: &str) -> String {
    turn_to("init", uid)
}

fn turn_to(action: &str, uid: &str) -> String {
    format!(r#"{{"machine":"{uid}","name":"m","action":"{action}"}}"#)
}

/// Writes an annotation; `extra` is one more argument of kubectl, or nothing.
fn mark(namespace: &str, what: [&str; 2], extra: &str, key: &str, value: &Value) -> Said {
    let change = json!({ "metadata": { "annotations": { key: value } } });
    patch(namespace, what, extra, &change)
}

fn patch(namespace: &str, what: [&str; 2], extra: &str, change: &Value) -> Said {
    let mut what = what.to_vec();
    what.extend([extra].into_iter().filter(|extra| !extra.is_empty()));
    installed().patch(namespace, &what, change)
}

#[test]
#[ignore = "needs a management plane"]
fn turn_and_record_of_init_are_the_managers_on_the_cluster_and_on_its_ca() {
    let plane = installed();
    plane.namespace("turn");
    plane.create("turn", &cluster("a")).out();
    for name in ["a-ca", "a-etcd"] {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } });
        plane.create("turn", &secret).out();
    }
    let write = |what, extra, key, value: Value| mark("turn", what, extra, key, &value);
    for what in [["cl", "a"], ["secret", "a-ca"]] {
        until_refused("the policy on turns", || {
            write(what, "--dry-run=server", TURN, json!("rubbish"))
        });
        write(what, "", TURN, json!("rubbish")).refused(
            "not a turn",
            &[
                r#"rubbish is not a turn; write {"machine":"UID","name":"NAME","action":"init"} of the Machine that runs kubeadm init, or leave it out"#,
            ],
        );
        // What is missing may be written, as after a restore.
        write(what, "", TURN, json!(turn("u1"))).out();
        for value in [Value::Null, json!(turn("u2")), json!("")] {
            write(what, "", TURN, value).refused(
                "the turn",
                &[
                    r#"Keep {"machine":"u1","name":"m","action":"init"}. If Machine m does not proceed: tatara describe cluster a -n turn"#,
                    "only the manager changes or removes it, because a second kubeadm init would destroy the cluster",
                ],
            );
        }
        write(what, "", "another", json!("one")).out();
        write(what, AS_MANAGER, TURN, Value::Null).out();
        for no_uid in ["true", "m", "turn/m", ""] {
            let says = format!("{RECORD}: \"{no_uid}\" is not a UID");
            write(what, "", RECORD, json!(no_uid)).refused(
                "a record that names no UID",
                &[&says, "tatara cluster resolve a -n turn --made-by MACHINE"],
            );
        }
        write(what, "", RECORD, json!(MADE_BY)).out();
        let other = MADE_BY.replace('6', "7");
        for value in [Value::Null, json!(other)] {
            write(what, "", RECORD, value).refused(
                "the record of init",
                &[
                    "tatara.dev/control-plane-initialized is the record",
                    "If it names the wrong Machine: tatara cluster resolve a -n turn; to start anew, delete the Cluster",
                ],
            );
        }
    }
    // With its Cluster the record leaves a CA that a user supplied.
    write(["secret", "a-ca"], AS_MANAGER, RECORD, Value::Null).out();
    // No other Secret is looked at.
    write(["secret", "a-etcd"], "", TURN, json!("rubbish")).out();
    write(["secret", "a-etcd"], "", TURN, Value::Null).out();
    // A Cluster that is created with its record, as after a restore, is looked at alike.
    let mut made = cluster("made");
    for (by, is_made) in [("true", false), (MADE_BY, true)] {
        made["metadata"]["annotations"] = json!({ RECORD: by });
        let said = plane.create("turn", &made);
        if is_made {
            said.out();
        } else {
            said.refused("made with a wrong record", &["\"true\" is not a UID"]);
        }
    }
    // Any later change of a control plane is kept as init is, in a backup too.
    for (action, what) in [
        ("join", "join"),
        ("remove", "removal"),
        ("upgrade", "upgrade"),
    ] {
        let mut under_way = cluster(action);
        under_way["metadata"]["annotations"] = json!({ TURN: turn_to(action, "u1") });
        plane.create("turn", &under_way).out();
        for value in [Value::Null, json!(turn("u1")), json!(turn_to(action, "u2"))] {
            write(["cl", action], "", TURN, value).refused(
                action,
                &[
                    "two changes of the control plane at once can cost etcd its quorum",
                    &format!("Keep {}", turn_to(action, "u1")),
                    &format!("It is removed when the {what} of m has ended"),
                    &format!("tatara describe cluster {action} -n turn"),
                ],
            );
        }
    }
    // A manifest from before init drops nothing.
    plane.create("turn", &cluster("b")).out();
    write(["cl", "b"], AS_MANAGER, TURN, json!(turn("u1"))).out();
    plane
        .run_with(
            "replace",
            &["-n", "turn", "-f", "-"],
            &cluster("b").to_string(),
        )
        .refused("replaced", &["only the manager changes or removes it"]);
    // On one that is created again, as from a backup, they keep a second init back.
    let mut again = cluster("c");
    again["metadata"]["annotations"] = json!({ TURN: turn("u1"), RECORD: MADE_BY });
    plane.create("turn", &again).out();
    write(["cl", "c"], "", RECORD, Value::Null).refused(
        "the record of init",
        &["tatara cluster resolve c -n turn; to start anew, delete the Cluster"],
    );
    // A deletion is not held up.
    plane.run("delete", &["-n", "turn", "cl", "a"]).out();
    plane.run("delete", &["-n", "turn", "secret", "a-ca"]).out();
}

/// A Machine in namespace `frozen`, and its UID.
fn made(name: &str, versions: &Value) -> String {
    let mut object = machine(name);
    object["metadata"]["labels"] = json!({ "cluster.k8s.io/cluster-name": "a" });
    object["spec"]["versions"] = versions.clone();
    object["spec"]["providerSpec"] = selecting("b")["spec"]["providerSpec"].clone();
    let made = installed().create("frozen", &object).json();
    made["metadata"]["uid"].as_str().expect("a UID").to_owned()
}

fn selecting(rack: &str) -> Value {
    let value = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "SSHMachineProviderSpec",
        "hostSelector": { "matchLabels": { "rack": rack } },
    });
    json!({ "spec": { "providerSpec": { "value": value } } })
}

#[allow(clippy::needless_pass_by_value, reason = "called with json!")]
fn provider_id(id: Value) -> Value {
    json!({ "spec": { "providerID": id } })
}

#[allow(clippy::needless_pass_by_value, reason = "called with json!")]
fn role(version: Value) -> Value {
    json!({ "spec": { "versions": { "controlPlane": version } } })
}

#[test]
#[ignore = "needs a management plane"]
fn a_machine_stays_what_it_is_once_the_manager_wrote_its_provider_id() {
    let plane = installed();
    plane.namespace("frozen");
    let control_plane = json!({ "kubelet": "v1.36.3", "controlPlane": "v1.36.3" });
    let uids = [
        ("cp", made("cp", &control_plane)),
        ("worker", made("worker", &json!({ "kubelet": "v1.36.3" }))),
    ];
    let write = |name, extra, change: Value| patch("frozen", ["ma", name], extra, &change);

    // Before, all may change but what the manager alone knows.
    write("cp", "", selecting("c")).out();
    let another = || provider_id(json!("tatara://ssh/another"));
    until_refused("the policy on Machines", || {
        write("cp", "--dry-run=server", another())
    });
    write("cp", "", another()).refused(
        "the Node of another",
        &[
            "spec.providerID tatara://ssh/another: the manager writes it",
            "Remove spec.providerID",
        ],
    );
    write("cp", "", provider_id(json!("aws:///eu/i-1"))).out();
    write("cp", "", provider_id(Value::Null)).out();
    let mut restored = machine("restored");
    restored["spec"]["providerID"] = json!("tatara://ssh/another");
    let says = "from a restored manifest as well: a Machine that is created again has another UID";
    plane
        .create("frozen", &restored)
        .refused("restored", &[says]);

    for (name, uid) in &uids {
        let own = format!("tatara://ssh/{uid}");
        write(name, AS_MANAGER, provider_id(json!(own))).out();
        let says = format!(
            "spec.providerID cannot change: it identifies the Node of this Machine. Set it back to {own}"
        );
        for other in [
            json!("tatara://ssh/another"),
            json!("aws:///eu/i-1"),
            Value::Null,
        ] {
            write(name, "", provider_id(other)).refused("another ID", &[&says]);
        }
        for other in [json!("b"), Value::Null] {
            let labels = json!({ "cluster.k8s.io/cluster-name": other });
            write(name, "", json!({ "metadata": { "labels": labels } })).refused(
                "another cluster",
                &[
                    "label cluster.k8s.io/cluster-name cannot change",
                    "Set it back to a; for another Cluster create another Machine",
                ],
            );
        }
        write(name, "", selecting("d")).refused(
            "another host",
            &[
                "spec.providerSpec cannot change: the machine was made from it",
                "change the template of its MachineDeployment",
            ],
        );
        // What was edited without the policies is set back in the manager's name.
        let label =
            |to: &str| json!({ "metadata": { "labels": { "cluster.k8s.io/cluster-name": to } } });
        for edited in [
            label("b"),
            selecting("d"),
            provider_id(json!("aws:///eu/i-1")),
        ] {
            write(name, AS_MANAGER, edited).out();
        }
        for back in [label("a"), selecting("c"), provider_id(json!(own))] {
            write(name, AS_MANAGER, back).out();
        }
    }
    write("cp", "", role(Value::Null)).refused(
        "no control plane any more",
        &[
            "spec.versions.controlPlane cannot be removed",
            "the only copy of the state of Cluster a",
        ],
    );
    write("worker", "", role(json!("v1.36.3"))).refused(
        "a control plane",
        &["spec.versions.controlPlane cannot be added: this Machine is a worker"],
    );

    // The rest still may.
    let versions = json!({ "kubelet": "v1.36.4", "controlPlane": "v1.36.4" });
    let spec = json!({
        "versions": versions,
        "metadata": { "labels": { "a": "b" } },
        "taints": [{ "key": "a", "effect": "NoSchedule" }],
        "deletion": { "nodeDrainTimeoutSeconds": 5 },
    });
    write("cp", "", json!({ "spec": spec })).out();
    // Of a Machine that a MachineSet made they are the set's, and the manager's who moves it.
    let set = json!([{
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "name": "workers", "uid": "set", "controller": true,
    }]);
    let owned = json!({ "metadata": { "ownerReferences": set } });
    write("worker", "", owned).out();
    let newer = json!({ "spec": { "versions": { "kubelet": "v1.36.4" } } });
    write("worker", "", newer.clone()).refused(
        "a Machine of a set",
        &[
            "spec.versions cannot change on this Machine: MachineSet workers made it from its template",
            "change spec.template.spec.versions of the MachineDeployment",
        ],
    );
    write("worker", AS_MANAGER, newer).out();
    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    let held = finalizers(json!(["machine.cluster.k8s.io"]));
    write("cp", AS_MANAGER, held).out();
    plane
        .run("delete", &["-n", "frozen", "ma", "cp", "--wait=false"])
        .out();
    write("cp", "", finalizers(Value::Null)).out();
}

#[test]
#[ignore = "needs a management plane"]
fn that_a_host_is_gone_is_said_with_the_uid_of_its_machine() {
    let plane = installed();
    plane.namespace("gone");
    let made = plane.create("gone", &machine("m")).json();
    let uid = made["metadata"]["uid"].as_str().expect("a UID").to_owned();
    let write = |what, extra, value: Value| mark("gone", what, extra, GONE, &value);
    let own = ["ma", "m"];
    until_refused("the policy on Machines", || {
        write(own, "--dry-run=server", json!("another"))
    });
    let says = format!("tatara.dev/host-is-gone must be the UID of this Machine, {uid}");
    write(own, "", json!("another")).refused(
        "another UID",
        &[
            &says,
            "nothing of this Machine runs any more and never will",
        ],
    );
    for extra in ["", AS_MANAGER] {
        write(own, "", json!(uid)).out();
        write(own, extra, Value::Null).out();
    }
    // Where the Machine is deleted, its Cluster takes it.
    plane.create("gone", &cluster("a")).out();
    write(["cl", "a"], "", json!(uid)).out();
    write(["cl", "a"], "", Value::Null).out();
}

#[test]
#[ignore = "needs a management plane"]
fn the_hypervisor_of_a_virtual_machine_is_the_managers() {
    const HYPERVISOR: &str = "tatara.dev/hypervisor";
    let plane = installed();
    plane.namespace("placed");
    let mut object = machine("m");
    object["metadata"]["annotations"] = json!({ HYPERVISOR: "h1" });
    let made = plane.create("placed", &object).json();
    let uid = made["metadata"]["uid"].as_str().expect("a UID").to_owned();
    let own = ["ma", "m"];
    let write = |extra, value: Value| mark("placed", own, extra, HYPERVISOR, &value);
    until_refused("the policy on Machines", || {
        write("--dry-run=server", json!("h2"))
    });
    // What was pasted onto a Machine that has no virtual machine may be removed, and nothing else.
    let says = "annotation tatara.dev/hypervisor cannot change";
    write("", Value::Null).out();
    write("", json!("h1")).refused("written by a person", &[says, "Remove it"]);
    write(AS_MANAGER, json!("h1")).out();
    let id = provider_id(json!(format!("tatara://libvirt/{uid}")));
    patch("placed", own, AS_MANAGER, &id).out();
    for value in [Value::Null, json!("h2")] {
        write("", value).refused("another Hypervisor", &[says, "Set it back to h1"]);
    }
    write("", json!("h1")).out();
    write(AS_MANAGER, json!("h2")).out();
}
