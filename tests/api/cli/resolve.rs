//! `tatara cluster resolve`, with the admission policies and without a manager: what contradicts itself is written by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{prepared, run};
use crate::admission::manifests::{cluster, machine};
use crate::admission::policies::{AS_MANAGER, until_refused};
use crate::support::kubectl::installed;
use crate::support::plane::Plane;

const TURN: &str = "tatara.dev/control-plane-turn";
const RECORD: &str = "tatara.dev/control-plane-initialized";
/// Of a Machine that does not exist.
const GONE: &str = "6f1c0f0e-6a3c-4a7e-9a59-3f0b8f6a2d11";

/// A namespace of a test's own, on a plane in which Tatara is installed.
struct Site(&'static str);

impl Site {
    fn new(namespace: &'static str) -> Self {
        installed().namespace(namespace);
        Self(namespace)
    }

    /// The command by the administrator: its code, output and error.
    fn resolve(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.resolve_as(&installed().kubeconfig(), arguments)
    }

    fn resolve_as(&self, kubeconfig: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
        command.args(["cluster", "resolve", "-n", self.0]);
        command.args(arguments);
        run(prepared(command, kubeconfig))
    }

    /// Annotates as the manager, whom no policy holds back.
    fn mark(&self, kind: &str, name: &str, key: &str, value: &str) {
        let change = json!({ "metadata": { "annotations": { key: value } } });
        let what = [kind, name, AS_MANAGER];
        installed().patch(self.0, &what, &change).out();
    }

    fn annotation(&self, kind: &str, name: &str, key: &str) -> Value {
        let said = installed().run("get", &["-n", self.0, kind, name, "-o", "json"]);
        said.json()["metadata"]["annotations"][key].clone()
    }

    /// A Cluster with its CA Secret, and a control-plane Machine of each name; returns the UIDs of these.
    fn made(&self, name: &str, machines: &[&str]) -> Vec<String> {
        let plane = installed();
        plane.create(self.0, &cluster(name)).out();
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": format!("{name}-ca") },
            "stringData": { "tls.key": "not to be seen" } });
        plane.create(self.0, &secret).out();
        let uid = |of: &&str| {
            let mut object = machine(of);
            object["metadata"]["labels"] = json!({ "cluster.k8s.io/cluster-name": name });
            object["spec"]["versions"]["controlPlane"] = json!("v1.36.3");
            let made = plane.create(self.0, &object).json();
            made["metadata"]["uid"].as_str().expect("a UID").to_owned()
        };
        machines.iter().map(uid).collect()
    }

    /// kubeadm was begun for a Machine, and its Node is Ready.
    fn serves(&self, name: &str) {
        let ready = json!({ "type": "Ready", "status": "True", "reason": "NodeReady", "message": "",
            "lastTransitionTime": "2026-11-29T08:00:00Z" });
        let status = json!({ "status": { "nodeRef": { "name": name }, "conditions": [ready] } });
        let what = ["machine", name, "--subresource=status"];
        installed().patch(self.0, &what, &status).out();
    }

    /// The kubeconfig of an account with role edit.
    fn editor(&self) -> PathBuf {
        let plane = installed();
        let account = format!("--serviceaccount={}:default", self.0);
        let binding = [
            "-n",
            self.0,
            "rolebinding",
            "editor",
            "--clusterrole=edit",
            &account,
        ];
        plane.run("create", &binding).out();
        let shared = Plane::shared();
        let mut command = shared.command(&["kubeconfig"], &["default", self.0]);
        let path = shared.dir().join("resolve-editor.kubeconfig");
        std::fs::write(&path, command.output().expect("a kubeconfig").stdout).expect("a file");
        // the role is put together a moment after it is installed
        plane.until("the role edit", |_| {
            let (_, out, _) = self.resolve_as(&path, &["two"]);
            out.contains("What may be done")
        });
        path
    }
}

fn turn(uid: &str, name: &str) -> String {
    format!(r#"{{"machine":"{uid}","name":"{name}","action":"init"}}"#)
}

#[test]
#[ignore = "needs a management plane"]
fn records_that_contradict_each_other_are_shown_and_corrected_in_the_managers_name() {
    let plane = installed();
    let site = Site::new("resolve");
    let uids = site.made("two", &["two-0"]);
    let own = uids[0].as_str();
    site.serves("two-0");
    site.mark("secret", "two-ca", RECORD, GONE);
    site.mark("cluster", "two", RECORD, own);
    until_refused("the policy on turns", || {
        let change = json!({ "metadata": { "annotations": { RECORD: own } } });
        plane.patch(site.0, &["secret", "two-ca", "--dry-run=server"], &change)
    });

    // without a choice, nothing is written
    let (code, out, error) = site.resolve(&["two"]);
    assert_eq!(code, Some(1), "{out}{error}");
    let named = "Nothing that objects show speaks against:\n  tatara cluster resolve two -n resolve --made-by two-0\n";
    assert!(out.contains(named), "{out}");
    assert!(error.contains("nothing was changed"), "{error}");
    assert!(!out.contains("not to be seen"), "{out}");
    // nor where nobody can be asked, or something speaks against it
    let (code, out, error) = site.resolve(&["two", "--made-by", "two-0"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(error.contains("nobody can be asked"), "{error}");
    let (code, _, error) = site.resolve(&["two", "--made-by-uid", GONE, "--yes"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.contains("Machine two-0") && error.contains("add --force"),
        "{error}"
    );
    // nor by one who may not act as the manager
    let (code, _, error) = site.resolve_as(&site.editor(), &["two", "--made-by", "two-0", "--yes"]);
    assert_eq!(code, Some(1), "{error}");
    let says = "you may not act as system:serviceaccount:tatara-system:tatara-manager";
    assert!(error.contains(says), "{error}");
    assert_eq!(site.annotation("secret", "two-ca", RECORD), json!(GONE));

    let (code, out, error) = site.resolve(&["two", "--made-by", "two-0", "--yes"]);
    assert_eq!(code, Some(0), "{out}{error}");
    for kind in [["secret", "two-ca"], ["cluster", "two"]] {
        assert_eq!(site.annotation(kind[0], kind[1], RECORD), json!(own));
    }
    let (code, out, error) = site.resolve(&["two"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("Nothing is to be resolved"), "{out}");
}

#[test]
#[ignore = "needs a management plane"]
fn a_turn_that_cannot_be_read_goes_by_force_and_a_lost_record_is_written() {
    let site = Site::new("resolve-turn");
    let uids = site.made("held", &["held-0", "held-1"]);
    let kept = turn(&uids[1], "held-1");
    site.mark("secret", "held-ca", TURN, "rubbish");
    site.mark("cluster", "held", TURN, &kept);
    let (code, _, error) = site.resolve(&["held", "--return-turn", "--yes"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.contains("Machine held-0 may run kubeadm init"),
        "{error}"
    );
    let (code, out, error) = site.resolve(&["held", "--return-turn", "--yes", "--force"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(
        out.contains("Overruled by --force: Machine held-0"),
        "{out}"
    );
    assert!(out.contains("which was \"rubbish\""), "{out}");
    assert_eq!(site.annotation("secret", "held-ca", TURN), Value::Null);
    assert_eq!(site.annotation("cluster", "held", TURN), json!(kept));

    // what is missing may be written without the manager's account
    let uids = site.made("lost", &["lost-0"]);
    site.serves("lost-0");
    let (code, out, error) = site.resolve(&["lost", "--made-by", "lost-0", "--yes"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(!out.contains("in the name of"), "{out}");
    for kind in [["secret", "lost-ca"], ["cluster", "lost"]] {
        assert_eq!(site.annotation(kind[0], kind[1], RECORD), json!(uids[0]));
    }
}
