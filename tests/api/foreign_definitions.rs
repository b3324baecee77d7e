//! A definition of our group that is somebody else's: neither the install nor the manager takes it for
//! ours, and both say what to do. One of an older release: the manager does not start over it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::support::plane::Plane;
use crate::support::programs::kubectl;

/// As another project defines Machines; applied by the very tool that applies ours.
const FOREIGN: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: machines.cluster.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, another project"}
spec:
  group: cluster.k8s.io
  names: {plural: machines, singular: machine, kind: Machine, listKind: MachineList}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

fn asked(plane: &Plane, arguments: &[&str], input: &str) -> Output {
    let mut child = kubectl()
        .args(arguments)
        .env("KUBECONFIG", plane.dir().join("admin.kubeconfig"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl");
    let mut stdin = child.stdin.take().expect("its standard input");
    stdin.write_all(input.as_bytes()).expect("to be read");
    drop(stdin);
    child.wait_with_output().expect("kubectl")
}

/// What the manager says before it ends.
fn manager(plane: &Plane) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tatara"))
        .args(["manager", "--http-address", "127.0.0.1:0"])
        .env("KUBECONFIG", plane.dir().join("admin.kubeconfig"))
        .output()
        .expect("tatara manager");
    assert!(!output.status.success(), "it began to work");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const OURS: [&str; 5] = [
    "apply",
    "--server-side",
    "--field-manager=tatara",
    "-f",
    concat!(env!("CARGO_MANIFEST_DIR"), "/crds"),
];

#[test]
#[ignore = "needs a management plane"]
fn a_foreign_definition_is_refused_and_not_overwritten() {
    let plane = Plane::own();
    let said = manager(&plane);
    for part in [
        "clusters.cluster.k8s.io is not served",
        "tatara crds | kubectl apply",
    ] {
        assert!(said.contains(part), "no \"{part}\" in: {said}");
    }

    let made = asked(&plane, &["apply", "--server-side", "-f", "-"], FOREIGN);
    assert!(made.status.success());
    let refused = asked(&plane, &OURS, "");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("conflict"),
        "{said}"
    );
    let get = ["get", "crd", "machines.cluster.k8s.io", "-o", "json"];
    let kept = String::from_utf8(asked(&plane, &get, "").stdout).expect("text");
    assert!(kept.contains("another project") && !kept.contains("continued by Tatara"));

    let said = manager(&plane);
    for part in [
        "machines.cluster.k8s.io is defined by another product",
        "left alone",
        "use another management cluster",
        "kubectl delete crd machines.cluster.k8s.io",
    ] {
        assert!(said.contains(part), "no \"{part}\" in: {said}");
    }
}

#[test]
#[ignore = "needs a management plane"]
fn an_older_definition_is_refused_with_the_field_that_it_lacks() {
    let plane = Plane::own();
    assert!(asked(&plane, &OURS, "").status.success());
    let whys = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/whys";
    let remove = format!(r#"[{{"op": "remove", "path": "{whys}"}}]"#);
    let machines = ["patch", "crd", "machines.cluster.k8s.io", "--type=json"];
    let patched = asked(&plane, &[&machines[..], &["-p", &remove]].concat(), "");
    assert!(patched.status.success(), "{patched:?}");
    let said = manager(&plane);
    for part in [
        "the definition of machines.cluster.k8s.io is older",
        "it has no status.whys",
        "tatara crds | kubectl apply",
    ] {
        assert!(said.contains(part), "no \"{part}\" in: {said}");
    }
}
