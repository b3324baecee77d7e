//! Whether a machine may be declared gone, by what objects show of it; and what comes of that. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::cli::describe::age::age;
use tatara_core::api::conditions::{ConditionType, Status, find};
use tatara_core::api::names::{
    ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE, ANNOTATION_HYPERVISOR, ANNOTATION_INITIALIZED,
    LABEL_CLUSTER, LABEL_CONTROL_PLANE,
};
use tatara_core::api::{Cluster, Host, Hypervisor, Machine};
use tatara_core::words::word;

/// What is read of a machine.
#[derive(Clone, Debug)]
pub struct Known {
    /// The Machine.
    pub machine: Machine,
    /// Its Cluster, if there is one.
    pub cluster: Option<Cluster>,
    /// The other control-plane Machines of that.
    pub other_control_planes: usize,
    /// The Host that it has claimed, or has chosen.
    pub host: Option<Host>,
    /// The Hypervisor of its virtual machine.
    pub hypervisor: Option<Hypervisor>,
}

/// Why a machine is not declared gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// That would change nothing.
    Useless(String),
    /// Something shows that it is there. A person may know better.
    Shown(String),
}

/// The name of the Host or Hypervisor, as the Machine has it.
pub fn place(machine: &Machine) -> (Option<&str>, Option<&str>) {
    let of = |name| machine.annotations().get(name).map(String::as_str);
    (of(ANNOTATION_HOST), of(ANNOTATION_HYPERVISOR))
}

/// What speaks against it.
pub fn objection(known: &Known, now: Timestamp) -> Option<Objection> {
    let Known { machine, .. } = known;
    let uid = machine.metadata.uid.as_ref();
    if machine.annotations().get(ANNOTATION_HOST_IS_GONE) == uid {
        return Some(Objection::Useless("it is declared gone already".into()));
    }
    let cluster = known.cluster.as_ref();
    let stays = cluster.filter(|cluster| cluster.metadata.deletion_timestamp.is_none());
    let made = stays.filter(|one| one.annotations().get(ANNOTATION_INITIALIZED) == uid);
    if let Some(cluster) = made.filter(|_| known.other_control_planes == 0) {
        let name = cluster.name_any();
        return Some(Objection::Useless(format!(
            "it is the last control-plane Machine of Cluster {name}, and is removed only with that. Only if all of it is to go: kubectl -n {} delete cluster {}",
            cluster.namespace().unwrap_or_default(),
            word(&name)
        )));
    }
    if place(machine) == (None, None) && known.host.is_none() {
        return Some(Objection::Useless(
            "it has no host yet, so nothing of it runs".into(),
        ));
    }
    let shown = |kind: &str, name: String, conditions: &[Condition], what: &str| {
        let reachable = find(conditions, ConditionType::Reachable)?;
        let answers = Status::parse(&reachable.status) == Status::True;
        let since = age(reachable.last_transition_time.0, now);
        answers.then(|| {
            Objection::Shown(format!(
                "{kind} {name} answers the manager (condition Reachable, for {since}). {what}"
            ))
        })
    };
    if let Some(host) = &known.host {
        // it may be another's by now
        let claim = host.spec.consumer_ref.as_ref();
        if claim.map(|claim| &claim.uid) != uid {
            return None;
        }
        let conditions = host.status.as_ref().map(|status| &*status.conditions);
        let what = "What answers is reset when its Machine is deleted, and needs no declaration";
        let name = host.name_any();
        let answers = shown("Host", name, conditions.unwrap_or_default(), what);
        return answers.or_else(|| is_on(host));
    }
    let hypervisor = known.hypervisor.as_ref()?;
    let conditions = hypervisor.status.as_ref().map(|status| &*status.conditions);
    let what = "With the Machine it deletes the virtual machine, or proves that there is none, and needs no declaration";
    let name = hypervisor.name_any();
    shown("Hypervisor", name, conditions.unwrap_or_default(), what)
}

/// A server that does not answer, and runs.
fn is_on(host: &Host) -> Option<Objection> {
    let bmc = host.status.as_ref()?.bmc.as_ref()?;
    let is_on = bmc.power_state.as_deref() == Some("On");
    is_on.then(|| {
        Objection::Shown(format!(
            "the BMC of Host {} reports that its server is on, which may run its Pods. Cut its power first: the Machine goes then without this command",
            host.name_any()
        ))
    })
}

/// What comes of it, a sentence each.
pub fn consequences(known: &Known) -> Vec<String> {
    let Known { machine, .. } = known;
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let mut all = Vec::new();
    all.push(if machine.metadata.deletion_timestamp.is_some() {
        "It is being deleted: this takes effect now, and cannot be undone".to_owned()
    } else {
        format!(
            "It is not being deleted: this takes effect when it is (kubectl -n {namespace} delete machine {})",
            word(&name)
        )
    });
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    if let Some(node) = node {
        all.push(format!(
            "Node {node} is deleted without a drain: its Pods start on other Nodes, also those with volumes that one Node at a time may use"
        ));
    }
    let labels = machine.labels();
    if machine.is_control_plane() || labels.contains_key(LABEL_CONTROL_PLANE) {
        let cluster = labels.get(LABEL_CLUSTER).map_or("its Cluster", |name| name);
        all.push(format!(
            "Its etcd member is removed as soon as the others of {cluster} can do without it, and its control-plane turn, if it has that, goes to others"
        ));
    }
    match place(machine) {
        (_, Some(hypervisor)) => all.push(format!(
            "Its virtual machine is not deleted while Hypervisor {hypervisor} does not answer; it is once that does"
        )),
        (Some(host), None) => all.push(format!(
            "Host {host} is not reset: no other Machine gets it before its server answers and is reset"
        )),
        (None, None) => (),
    }
    all.push(
        "If it is not gone, the same Pods run twice, and write to the same storage twice".into(),
    );
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    fn of<T: serde::de::DeserializeOwned>(object: Value) -> T {
        serde_json::from_value(object).expect("an object")
    }

    fn condition(status: &str) -> Value {
        json!([{ "type": "Reachable", "status": status, "reason": "R", "message": "",
            "lastTransitionTime": at(-60).to_string() }])
    }

    fn host(reachable: &str, power: &str) -> Host {
        let ssh = json!({ "address": "192.0.2.1", "credentialsRef": { "name": "key" } });
        let status = json!({ "conditions": condition(reachable), "bmc": { "powerState": power } });
        let claim = json!({ "name": "cp", "uid": "u", "cluster": "c" });
        let spec = json!({ "ssh": ssh, "consumerRef": claim });
        of(json!({ "metadata": { "name": "h" }, "spec": spec, "status": status }))
    }

    /// A control plane beside another, in deletion, whose host does not answer.
    fn known() -> Known {
        let machine = json!({
            "metadata": { "name": "cp", "namespace": "n", "uid": "u", "deletionTimestamp": at(0).to_string(),
                "labels": { "cluster.k8s.io/cluster-name": "c" }, "annotations": { "tatara.dev/host": "h" } },
            "spec": { "providerSpec": {}, "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
            "status": { "nodeRef": { "name": "node-h" } },
        });
        let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "" });
        let made = json!({ (ANNOTATION_INITIALIZED): "u" });
        let cluster = json!({ "metadata": { "name": "c", "namespace": "n", "annotations": made },
            "spec": { "clusterNetwork": network } });
        Known {
            machine: of(machine),
            cluster: Some(of(cluster)),
            other_control_planes: 1,
            host: Some(host("False", "Off")),
            hypervisor: None,
        }
    }

    #[test]
    fn what_shows_that_a_machine_is_there_speaks_against_it() {
        type Change = fn(&mut Known);
        type Case = (&'static str, Change, Option<(bool, &'static str)>);
        let table: [Case; 9] = [
            ("silent and off", |_| (), None),
            (
                "answers",
                |k| k.host = Some(host("True", "Off")),
                Some((true, "Host h answers")),
            ),
            (
                "on",
                |k| k.host = Some(host("False", "On")),
                Some((true, "is on")),
            ),
            (
                "another's host",
                |k| {
                    let mut host = host("True", "On");
                    host.spec.consumer_ref = None;
                    k.host = Some(host);
                },
                None,
            ),
            ("its Host is missing", |k| k.host = None, None),
            (
                "declared",
                |k| {
                    let all = k.machine.annotations_mut();
                    all.insert(ANNOTATION_HOST_IS_GONE.into(), "u".into());
                },
                Some((false, "already")),
            ),
            (
                "the last",
                |k| k.other_control_planes = 0,
                Some((false, "the last control-plane")),
            ),
            (
                "the last, with its Cluster",
                |k| (k.other_control_planes, k.cluster) = (0, None),
                None,
            ),
            (
                "no host",
                |k| {
                    k.machine.annotations_mut().clear();
                    k.host = None;
                },
                Some((false, "no host yet")),
            ),
        ];
        for (case, change, expected) in table {
            let mut known = known();
            change(&mut known);
            let found = objection(&known, at(0));
            let Some((is_shown, part)) = expected else {
                assert_eq!(found, None, "{case}");
                continue;
            };
            assert_eq!(
                matches!(found, Some(Objection::Shown(_))),
                is_shown,
                "{case}"
            );
            let Some(Objection::Shown(why) | Objection::Useless(why)) = &found else {
                panic!("{case}: nothing speaks against it");
            };
            assert!(why.contains(part), "{case}: {why}");
        }
    }

    #[test]
    fn what_comes_of_it_depends_on_what_the_machine_is() {
        let of_control_plane = consequences(&known()).join("\n");
        for part in [
            "takes effect now",
            "Node node-h",
            "etcd member",
            "Host h is not reset",
            "twice",
        ] {
            assert!(of_control_plane.contains(part), "{of_control_plane}");
        }
        let mut worker = known();
        worker.machine.metadata.deletion_timestamp = None;
        worker.machine.spec.versions = None;
        worker.machine.status = None;
        let all = worker.machine.annotations_mut();
        all.clear();
        all.insert(ANNOTATION_HYPERVISOR.into(), "v".into());
        let of_worker = consequences(&worker).join("\n");
        for part in ["delete machine cp", "Hypervisor v"] {
            assert!(of_worker.contains(part), "{of_worker}");
        }
        for part in ["etcd", "Node", "Host h"] {
            assert!(!of_worker.contains(part), "{of_worker}");
        }
    }
}
