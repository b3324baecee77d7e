//! What becomes of good manifests: stored, defaulted, scaled.

use serde_json::{Value, json};

use crate::admission::manifests::{cluster, host, machine, set};
use crate::support::fixtures::{fixtures, missing};
use crate::support::kubectl::installed;

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
    let many = "get cluster,ma,ms,md,mc,hosts.tatara.dev,hypervisors.tatara.dev -n good -o name";
    let many = many.split(' ').collect::<Vec<_>>();
    let many = plane.run(many[0], &many[1..]).out();
    assert_eq!(
        many.lines().count(),
        fixtures("2019").len() + fixtures("complete").len()
    );
}

/// What was optional in 2019, or called otherwise, is needed of our own objects only.
#[test]
#[ignore = "needs a management plane"]
fn manifests_of_other_providers_are_stored_as_they_were_written() {
    let plane = installed();
    plane.namespace("others");
    for (file, manifest) in fixtures("foreign") {
        let mut made = manifest.clone();
        made.as_object_mut().expect("an object").remove("status");
        let mut stored = plane.create("others", &made).json();
        if !manifest["status"].is_null() {
            let status = json!({ "status": manifest["status"] });
            let name = manifest["metadata"]["name"].as_str().expect("a name");
            let what = ["machine", name, "--subresource=status"];
            stored = plane.patch("others", &what, &status).json();
        }
        let lost = missing(&manifest, &stored, "");
        assert_eq!(lost, Vec::<String>::new(), "{file}");
    }
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
    let mut build = machine("build");
    build["spec"]["versions"]["kubelet"] = json!("v1.35.4+vendor");
    assert_eq!(spec(build)["versions"]["kubelet"], "v1.35.4+vendor");
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
        let unseen = json!({ "observedGeneration": -1 });
        assert_eq!(ignored["status"], unseen, "{plural}");
        let written = plane
            .patch("status", &[plural, "a", "--subresource=status"], &status)
            .json();
        assert_eq!(written["status"]["observedGeneration"], 1, "{plural}");
        assert_eq!(written["metadata"]["generation"], 1, "{plural}");
    }
}

/// The API server's own check of a time is wider than what can be read again.
#[test]
#[ignore = "needs a management plane"]
fn a_time_that_is_stored_can_be_read_again() {
    let plane = installed();
    plane.namespace("times");
    let times = [
        ("2026-11-22T10:00:00Z", true),
        ("2026-11-22T10:00:00.123456789+05:45", true),
        ("2026-11-22T10:00:00-23:59", true),
        ("2026-11-22T10:00:00+24:00", false),
        ("2026-11-22T10:00:00+99:99", false),
        ("2026-11-22T10:00:00+0545", false),
        ("2026-11-22T10:00:00", false),
        ("2026-11-22 10:00:00", false),
        ("2026-11-22T10:00Z", false),
        ("2026-11-22", false),
        ("9999-12-31T23:59:59Z", false),
    ];
    for (number, (time, must_be_taken)) in times.into_iter().enumerate() {
        let mut machine = machine(&format!("m{number}"));
        let taint = json!({ "key": "k", "effect": "NoExecute", "timeAdded": time });
        machine["spec"]["taints"] = json!([taint]);
        let said = plane.create("times", &machine);
        assert!(said.ok || !must_be_taken, "{time}: {}", said.err);
        if said.ok {
            let read = serde_json::from_str::<tatara_core::api::Machine>(&said.out);
            assert!(read.is_ok(), "{time}: {read:?}");
        }
    }
}
