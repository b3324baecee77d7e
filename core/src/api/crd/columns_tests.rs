//! What `kubectl get` shows of each kind, with and without `-o wide`.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::api::reported::ConditionedStatus;
use crate::api::{
    ClusterStatus, HostStatus, HypervisorStatus, MachineDeploymentStatus, MachineSetStatus,
    MachineStatus,
};

/// Names of the columns of a definition, and those that `-o wide` adds.
fn columns(crd: &CustomResourceDefinition) -> (Vec<&str>, Vec<&str>) {
    let version = crd.spec.versions.first().expect("a version");
    let all = version.additional_printer_columns.as_deref();
    let (wide, always): (Vec<_>, Vec<_>) = all
        .expect("columns")
        .iter()
        .partition(|column| column.priority.is_some_and(|priority| priority > 0));
    (names(always), names(wide))
}

fn names(columns: Vec<&CustomResourceColumnDefinition>) -> Vec<&str> {
    let names = columns.into_iter().map(|column| column.name.as_str());
    names.collect()
}

#[test]
fn each_kind_shows_how_it_stands_and_why_without_being_asked() {
    for (kind, always, wide) in [
        (
            "Cluster",
            "Phase, Ready, Reason, Endpoint, CP Desired, CP Ready, W Desired, W Ready, Version, Age",
            "",
        ),
        ("MachineClass", "Provider, In use, Age", ""),
        (
            "Machine",
            "Cluster, Node, Phase, Ready, Reason, Version, Age",
            "Provider ID, Address, Host, Running, Stage, Change, Waits for",
        ),
        (
            "MachineSet",
            "Cluster, Desired, Current, Ready, Available, Reason, Version, Age",
            "",
        ),
        (
            "MachineDeployment",
            "Cluster, Desired, Current, Ready, Available, Up-to-date, Phase, Reason, Version, Age",
            "",
        ),
        (
            "Host",
            "Address, State, Ready, Reason, Consumer, Age",
            "OS, CPUs, Power, Message",
        ),
        (
            "Hypervisor",
            "State, Ready, Reason, CPUs, Used, Memory, Used, Age",
            "URL, Acceleration, Message",
        ),
    ] {
        let all = all();
        let mut of_kind = all.iter().filter(|crd| crd.spec.names.kind == kind);
        let (narrow, more) = columns(of_kind.next().expect("a definition"));
        assert_eq!(
            (narrow.join(", ").as_str(), more.join(", ").as_str()),
            (always, wide),
            "{kind}"
        );
    }
}

#[test]
fn reason_is_that_of_ready_and_ready_its_status_or_a_count() {
    for crd in all() {
        let version = crd.spec.versions.first().expect("a version");
        let kind = &crd.spec.names.kind;
        for column in version.additional_printer_columns.iter().flatten() {
            let expected: &[&str] = match column.name.as_str() {
                "Ready" => &[READY, ".status.readyReplicas"],
                "Reason" => &[READY_REASON],
                _ => continue,
            };
            assert!(
                expected.contains(&column.json_path.as_str()),
                "{kind}: {}",
                column.json_path
            );
        }
    }
}

fn read<T: DeserializeOwned + ConditionedStatus>(seen: &Value) {
    let status: T = serde_json::from_value(seen.clone()).expect("a status");
    let is_seen = (status.generation(), status.conditions().len());
    assert_eq!(is_seen, (Some(-1), 0));
}

#[test]
fn what_nobody_has_looked_at_says_so_and_can_be_read() {
    let seen = json!({ "observedGeneration": -1 });
    for crd in all() {
        let schema = crd
            .spec
            .versions
            .first()
            .and_then(|version| version.schema.as_ref());
        let root = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
        let fields = root
            .and_then(|root| root.properties.as_ref())
            .expect("fields");
        let Some(status) = fields.get("status") else {
            assert_eq!(crd.spec.names.kind, "MachineClass");
            continue;
        };
        assert_eq!(
            status.default,
            Some(JSON(seen.clone())),
            "{}",
            crd.spec.names.kind
        );
        assert!(status.required.is_none(), "{}", crd.spec.names.kind);
    }
    read::<ClusterStatus>(&seen);
    read::<MachineStatus>(&seen);
    read::<MachineSetStatus>(&seen);
    read::<MachineDeploymentStatus>(&seen);
    read::<HostStatus>(&seen);
    read::<HypervisorStatus>(&seen);
}
