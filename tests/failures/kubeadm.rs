//! What kubeadm refuses, or is refused.

use std::time::Duration;

use serde_json::json;

use crate::case::Case;
use crate::fit::{delete_second, second};
use crate::score::Score;
use crate::stage::{SPARE, Stage};
use crate::support::commands::done;

/// kubeadm waits long for what it needs a token for.
const KUBEADM_WAITS: Duration = Duration::from_mins(6);

pub async fn all(stage: &Stage, score: &mut Score) {
    score.run(stage, &FEATURE_GATE).await;
    score.run(stage, &NAME_TAKEN).await;
    score.run_for(stage, &TOKEN, KUBEADM_WAITS).await;
}

const FEATURE_GATE: Case = Case {
    name: "a feature gate that kubeadm does not have",
    inject: |stage| {
        stage.register(&json!({}));
        second(
            stage,
            &json!({"clusterConfiguration": {"featureGates": {"Nonsense": true}}}),
        );
    },
    on: &["machine/second-control-plane", "cluster/second"],
    cause: &["refuses its configuration", "Nonsense"],
    remedy: &[
        "kubeadm.clusterConfiguration",
        "spec.providerSpec.value of the Cluster",
    ],
    undo: delete_second,
    end: Stage::clear,
};

const NAME_TAKEN: Case = Case {
    name: "another server's Node has the Machine's name",
    inject: |stage| {
        let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"spare"}}"#;
        let file = stage.run().join("node.json");
        std::fs::write(&file, node).expect("a file");
        stage.member(&["apply", "-f", file.to_str().expect("text")]);
        stage.want_spare(&json!({}));
    },
    on: &[
        "machine/spare-*",
        "machinedeployment/spare",
        "cluster/quickstart",
    ],
    cause: &[
        "the cluster already has a Node spare",
        "nothing proves that its server is off",
    ],
    remedy: &["delete node spare", "Host of another name"],
    undo: |stage| {
        stage.member(&["delete", "node", "spare"]);
    },
    end: Stage::clear,
};

const DROP: &str = "OUTPUT -p tcp --dport 6443 -j DROP";

const TOKEN: Case = Case {
    name: "the bootstrap token is deleted in mid-join",
    inject: |stage| {
        // kubeadm needs its token for a second only: it does not get there before that is deleted
        stage.shell(SPARE, &format!("iptables -I {DROP}"));
        stage.want_spare(&json!({}));
        let file = stage.run().join("delete-tokens");
        let kubectl = stage.member_kubectl();
        let arguments: Vec<String> = [kubectl.get_program()]
            .into_iter()
            .chain(kubectl.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let script = format!(
            "touch {file}; (while test -e {file}; do {} -n kube-system delete secrets --field-selector type=bootstrap.kubernetes.io/token; sleep 0.3; done) </dev/null >/dev/null 2>&1 &",
            arguments.join(" "),
            file = file.display()
        );
        done(std::process::Command::new("bash").args(["-c", &script]));
        let reason =
            r#"--output=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].reason}"#;
        let joins =
            || stage.kubectl(&["get", "machines", "-l", "pool=spare", reason]) == "KubeadmJoin";
        while !joins() {
            std::thread::sleep(Duration::from_millis(500));
        }
        std::thread::sleep(Duration::from_secs(4));
        stage.shell(SPARE, &format!("iptables -D {DROP}"));
    },
    on: &[
        "machine/spare-*",
        "machinedeployment/spare",
        "cluster/quickstart",
    ],
    cause: &["bootstrap token", "deleted"],
    remedy: &["The next attempt has a new token"],
    undo: |stage| {
        std::fs::remove_file(stage.run().join("delete-tokens")).expect("a file");
        // the attempt that has begun waits for a token that is deleted as well
        stage.shell(SPARE, "sleep 1; pkill -x kubeadm || true");
    },
    end: Stage::clear,
};
