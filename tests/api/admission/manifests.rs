//! Good manifests, and how one thing is made wrong in them.

use serde_json::{Value, json};

use crate::support::kubectl::installed;

pub const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA/Q3v/gDqSucpkvHs8f7alwh3gI+fypYWCvXqeJBUTL";

pub fn object(kind: &str, group: &str, name: &str, spec: &Value) -> Value {
    let version = format!("{group}/v1alpha1");
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

pub fn cluster(name: &str) -> Value {
    let network = json!({
        "services": { "cidrBlocks": ["10.96.0.0/16"] },
        "pods": { "cidrBlocks": ["10.244.0.0/16"] },
        "serviceDomain": "cluster.local",
    });
    object(
        "Cluster",
        "cluster.k8s.io",
        name,
        &json!({ "clusterNetwork": network }),
    )
}

pub fn machine(name: &str) -> Value {
    let spec = json!({ "versions": { "kubelet": "v1.36.3" } });
    object("Machine", "cluster.k8s.io", name, &spec)
}

pub fn set(kind: &str, name: &str) -> Value {
    let labels = json!({ "set": "a", "tier": "web" });
    let spec = json!({
        "selector": { "matchLabels": { "set": "a" } },
        "template": { "metadata": { "labels": labels }, "spec": { "versions": { "kubelet": "v1.36.3" } } },
    });
    object(kind, "cluster.k8s.io", name, &spec)
}

pub fn class(name: &str) -> Value {
    let value = json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" });
    let mut class = object("MachineClass", "cluster.k8s.io", name, &Value::Null);
    class["providerSpec"] = json!({ "value": value });
    class.as_object_mut().expect("an object").remove("spec");
    class
}

pub fn host(name: &str) -> Value {
    let ssh = json!({
        "address": "192.0.2.10",
        "credentialsRef": { "name": "fleet-key" },
        "hostKeys": [KEY],
    });
    object("Host", "tatara.dev", name, &json!({ "ssh": ssh }))
}

/// A manifest with one thing wrong in it, and what the answer must say: field, value, remedy.
pub struct Bad {
    pub case: &'static str,
    pub manifest: Value,
    pub says: Vec<&'static str>,
}

/// A good manifest in which the field at `path` is set to `value`, or removed by null.
pub fn bad(
    case: &'static str,
    good: Value,
    path: &str,
    value: Value,
    says: &[&'static str],
) -> Bad {
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

pub fn refuse(cases: Vec<Bad>) {
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
