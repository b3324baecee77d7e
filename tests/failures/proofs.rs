//! What may not be undone without proof: nothing is done, and it is said what proves it.

use serde_json::json;

use crate::case::Case;
use crate::running::worker;
use crate::score::Score;
use crate::stage::{SPARE, Stage};

pub async fn all(stage: &Stage, score: &mut Score) {
    score.run(stage, &COPIED_MARKER).await;
    score.run(stage, &COPIED_HOST).await;
    score.run(stage, &ANOTHER_DISK).await;
    score.run(stage, &SILENT).await;
}

const COPIED_MARKER: Case = Case {
    name: "a free host has the marker of a live Machine",
    inject: |stage| {
        let marker = stage.shell("host-b", "cat /var/lib/tatara/owner.json");
        stage.shell(
            SPARE,
            &format!("mkdir -p /var/lib/tatara; echo '{marker}' >/var/lib/tatara/owner.json"),
        );
        stage.want_spare(&json!({}));
    },
    on: &[
        "host/spare",
        "machine/spare-*",
        "machinedeployment/spare",
        "cluster/quickstart",
    ],
    cause: &[
        "its marker names Machine default/quickstart-workers-",
        "which claims Host default/host-b",
    ],
    remedy: &["Leave that Machine alone", "undo by hand what is on it"],
    undo: |stage| {
        stage.shell(SPARE, "rm -r /var/lib/tatara");
        stage.look_again("host/spare");
    },
    end: Stage::clear,
};

const COPIED_HOST: Case = Case {
    name: "a Host is made from the YAML of another, with its claim",
    inject: |stage| {
        let yaml = stage.kubectl(&["get", "host", "host-b", "--output=json"]);
        let yaml: serde_json::Value = serde_json::from_str(&yaml).expect("JSON");
        let mut copy = json!({"apiVersion": yaml["apiVersion"], "kind": "Host",
            "metadata": {"name": "copy", "namespace": "default"}, "spec": yaml["spec"]});
        copy["spec"]["ssh"]["address"] = stage.spare_address().into();
        copy["spec"]["ssh"]["hostKeys"] = json!(stage.keys(SPARE));
        stage.apply_all(&copy);
    },
    on: &[
        "host/copy",
        "host/host-b",
        "machine/quickstart-workers-*",
        "machinedeployment/quickstart-workers",
        "cluster/quickstart",
    ],
    cause: &[
        "spec.consumerRef",
        "because one was created from the YAML of another",
    ],
    remedy: &["Delete all but the one"],
    undo: |stage| {
        stage.kubectl(&["delete", "host", "copy", "--timeout=120s"]);
    },
    end: Stage::whole,
};

const ANOTHER_DISK: Case = Case {
    name: "a host comes back with another disk under its Node",
    inject: |stage| {
        stage.shell(
            "host-c",
            "mv /var/lib/tatara /var/lib/away; mv /etc/kubernetes /etc/away; sync",
        );
        stage.fleet(&["kill", "host-c"]);
        stage.fleet(&["start", "host-c", &format!("{}.13", stage.subnet())]);
        stage.fleet(&["wait", "host-c"]);
        stage.look_again("host/host-c");
    },
    on: &[
        "host/host-c",
        "machine/quickstart-workers-*",
        "machinedeployment/quickstart-workers",
        "cluster/quickstart",
    ],
    cause: &[
        "its server does not have the marker",
        "the disk was replaced",
    ],
    remedy: &["Mount the disk", "kubectl -n default delete machine"],
    undo: |stage| {
        stage.shell("host-c", "mv /var/lib/away /var/lib/tatara; mv /etc/away /etc/kubernetes; systemctl restart kubelet");
        stage.look_again("host/host-c");
    },
    end: Stage::whole,
};

const SILENT: Case = Case {
    name: "a host is silent while its Machine is deleted",
    inject: |stage| {
        let machine = worker(stage);
        let host = stage.kubectl(&["get", &machine, "--output=jsonpath={.status.host}"]);
        std::fs::write(stage.run().join("silent"), &host).expect("a file");
        stage.fleet(&["kill", &host]);
        stage.kubectl(&[
            "annotate",
            &machine,
            "machine.cluster.k8s.io/exclude-node-draining=",
        ]);
        stage.kubectl(&["delete", &machine, "--wait=false"]);
    },
    on: &[
        "machine/quickstart-workers-*",
        "machinedeployment/quickstart-workers",
        "cluster/quickstart",
    ],
    cause: &["failed to reach"],
    remedy: &["hostReleaseTimeoutSeconds"],
    undo: |stage| {
        let host = std::fs::read_to_string(stage.run().join("silent")).expect("a file");
        let last = if host == "host-b" { 12 } else { 13 };
        stage.fleet(&["start", &host, &format!("{}.{last}", stage.subnet())]);
        stage.fleet(&["wait", &host]);
    },
    end: Stage::whole,
};
