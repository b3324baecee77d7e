//! What a Machine does next, by what is known of it.

mod adversity;
mod bootstrapping;
mod claims;
mod commands;
mod contested;
mod cost;
mod election;
mod faults;
mod hypervisors;
mod kstatus;
mod leaving;
mod live;
mod members;
mod pace;
mod proofs;
mod reported;
mod rolling;
mod safety;
mod stuck;
mod turns;
mod unseen;
mod updating;
mod virtual_machines;
mod words;

use crate::Why;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::observed::{Contact, Infrastructure, Lookup};
use super::*;
use crate::NodeView;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Status;
use crate::api::names::{
    ANNOTATION_EXCLUDE_DRAIN, ANNOTATION_PAUSED, ANNOTATION_SETTINGS, FINALIZER_MACHINE,
};
use crate::api::{Cluster, ClusterProviderSpec, Machine, MachineProviderSpec};
use crate::control_plane::{Member, MemberHealth, MemberId, Members};
use crate::kubeadm::Endpoint;
use crate::machine::{HostChoice, LastLook, ObservedCluster, Placement, Unheld, units};
use crate::node::{
    Attempts, Failure, Identities, Job, JobKind, Marker, Observation, Owner, Ownership, Progress,
    SoftwareVersions, UnitState, UnitStatus,
};
use crate::proof::{Clean, Ended, MemberProof, Over, Proof, TurnIsOver};
use proofs::{by_gateway, by_limit, by_nothing, by_reset, delete_node_by, finalizer_by, turn_by};

/// UID of the Machine that the tests look at.
const ME: &str = "11111111-0000-4000-8000-000000000001";
/// UID of another control-plane Machine of the Cluster.
const OTHER: &str = "22222222-0000-4000-8000-000000000002";

/// As in a manager one for all: what one test leaves there changes nothing for another.
static IDENTITIES: LazyLock<Arc<Identities>> = LazyLock::new(Arc::default);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

/// An adopted Machine of Cluster `a`, as it stands in the API.
fn machine(name: &str, uid: &str, control_plane: bool) -> Machine {
    let mut versions = json!({ "kubelet": "v1.36.3" });
    if control_plane {
        versions["controlPlane"] = "v1.36.3".into();
    }
    let value = json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" });
    let manifest = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid,
            "labels": { "cluster.k8s.io/cluster-name": "a" },
            "finalizers": [FINALIZER_MACHINE],
        },
        "spec": {
            "versions": versions,
            "providerID": format!("tatara://ssh/{uid}"),
            "providerSpec": { "value": value },
        },
    });
    serde_json::from_value(manifest).expect("a Machine")
}

fn marker(name: &str, uid: &str) -> Marker {
    Marker {
        management: "management".into(),
        namespace: "default".into(),
        cluster: "a".into(),
        machine: name.into(),
        uid: uid.into(),
    }
}

/// Cluster `a` before its control plane is made.
fn cluster() -> ObservedCluster {
    let network = json!({
        "services": { "cidrBlocks": ["10.96.0.0/16"] },
        "pods": { "cidrBlocks": ["10.244.0.0/16"] },
        "serviceDomain": "cluster.local",
    });
    let manifest = json!({ "metadata": { "name": "a" }, "spec": { "clusterNetwork": network } });
    let cluster: Cluster = serde_json::from_value(manifest).expect("a Cluster");
    ObservedCluster {
        settings: Default::default(),
        name: "a".into(),
        uid: "cluster".into(),
        network: cluster.spec.cluster_network,
        spec: Ok(ClusterProviderSpec::default()),
        deleting: false,
        published: false,
        initialized_by: None,
        initialized_by_secret: None,
        turn: None,
        other_turn: None,
        turn_waits: None,
        in_doubt: None,
        certificates_ready: true,
        external: false,
        endpoint: Some(Endpoint {
            host: "192.0.2.100".into(),
            port: 6443,
        }),
        etcd: Lookup::NotYet("the etcd of Cluster a has not been asked yet".into()),
        components: None,
        other_control_planes: Vec::new(),
        version: Some("v1.36.3".into()),
        recorded: None,
        peers: crate::machine::Peers::default(),
        workers_left: 1,
    }
}

/// A Machine that knows of one host that it could take.
fn observed(control_plane: bool) -> Observed {
    let name = if control_plane { "cp-0" } else { "w-0" };
    let machine = machine(name, ME, control_plane);
    let value = machine.spec.provider_spec.value.clone().expect("a value");
    Observed {
        marker: marker(name, ME),
        cluster: Some(cluster()),
        spec: Ok(MachineProviderSpec::decode(&value).expect("a provider spec")),
        resolved: Some(value),
        placement: Placement::None(Ok("host-a".into())),
        virtual_machine: None,
        whose: None,
        claiming: None,
        claims: Vec::new(),
        chosen: None,
        namesake: None,
        contested: Vec::new(),
        node: Lookup::Known(None),
        follow: None,
        own_address: None,
        applied_address: None,
        last_look: LastLook::Idle,
        has_token: false,
        attempts: [].into(),
        identities: Arc::clone(&IDENTITIES),
        started_at: at(0),
        paused_by: None,
        machine: Arc::new(machine),
    }
}

fn worker() -> Observed {
    observed(false)
}

fn control_plane() -> Observed {
    observed(true)
}

/// The Machine changed as the API server would merge it.
fn edited(mut observed: Observed, change: &Value) -> Observed {
    let mut machine = serde_json::to_value(observed.machine.as_ref()).expect("JSON");
    merge(&mut machine, change);
    observed.machine = Arc::new(serde_json::from_value(machine).expect("a Machine"));
    observed
}

fn merge(into: &mut Value, change: &Value) {
    let Some(fields) = change.as_object() else {
        *into = change.clone();
        return;
    };
    for (name, field) in fields {
        merge(&mut into[name], field);
    }
}

fn deleted(observed: Observed, now: Timestamp) -> Observed {
    let change = json!({ "metadata": { "deletionTimestamp": now.to_string() } });
    edited(observed, &change)
}

fn had_node(observed: Observed) -> Observed {
    let change = json!({ "status": { "nodeRef": { "name": "host-a" } } });
    edited(observed, &change)
}

fn with_cluster(mut observed: Observed, change: impl FnOnce(&mut ObservedCluster)) -> Observed {
    change(observed.cluster.as_mut().expect("a cluster"));
    observed
}

fn held(contact: Contact) -> Placement {
    Placement::Held(Infrastructure {
        name: "host-a".into(),
        address: Some("192.0.2.11".into()),
        releasing: false,
        contact,
        stuck: None,
        power: None,
        why: None,
        strange: None,
    })
}

/// A Machine whose host says this.
fn on(mut observed: Observed, owner: Ownership, units: Vec<UnitStatus>) -> Observed {
    let seen = Observation {
        owner,
        ..unmarked(units)
    };
    observed.placement = held(Contact::Seen(Box::new(seen)));
    observed
}

/// What a host says that has no marker, and these units.
fn unmarked(units: Vec<UnitStatus>) -> Observation {
    Observation {
        clock: 0,
        kubeadm_runs: String::new(),
        facts: crate::api::host::HostFacts::default(),
        owner: Ownership::Nobody,
        occupied: Vec::new(),
        units,
        versions: SoftwareVersions::default(),
        kubelet_active: false,
        pods_run: false,
        installation: None,
        authority: None,
    }
}

/// What a host says that was reset for a Machine.
fn reset_of(uid: &str) -> Observation {
    unmarked(vec![UnitStatus {
        retried: None,
        job: Job::new(JobKind::Reset, uid),
        identity: String::new(),
        state: UnitState::Succeeded,
    }])
}

/// The Machine has no Host; it chose this one, which is so.
fn lost(mut observed: Observed, now: Unheld) -> Observed {
    observed.placement = Placement::None(Ok("host-b".into()));
    observed.chosen = Some(HostChoice {
        host: "host-a".into(),
        now,
    });
    observed
}

fn says(seen: Observation) -> Contact {
    Contact::Seen(Box::new(seen))
}

/// The host's marker names the Machine.
fn own(observed: &Observed) -> Ownership {
    Ownership::Owner(Owner {
        marker: observed.marker.clone(),
        initialized: false,
        joined: false,
    })
}

fn ours(observed: Observed, units: Vec<UnitStatus>) -> Observed {
    let owner = own(&observed);
    on(observed, owner, units)
}

fn unit(observed: &Observed, kind: JobKind, state: UnitState) -> UnitStatus {
    let mut at_a_host = observed.clone();
    at_a_host.placement = held(Contact::NotAsked);
    let identity = match kind {
        JobKind::Prepare => units::prepare(&at_a_host).map(|unit| unit.identity),
        _ => Ok(String::new()),
    };
    UnitStatus {
        retried: None,
        job: observed.marker.job(kind),
        identity: identity.unwrap_or_default(),
        state,
    }
}

/// A Machine on its prepared host, whose further units are these.
fn prepared(observed: Observed, more: &[(JobKind, UnitState)]) -> Observed {
    let mut units = vec![unit(&observed, JobKind::Prepare, UnitState::Succeeded)];
    units.extend(
        more.iter()
            .map(|(name, state)| unit(&observed, *name, state.clone())),
    );
    ours(observed, units)
}

fn step(name: &str) -> Progress {
    Progress {
        step: name.into(),
        index: 2,
        total: 9,
    }
}

fn failure(output: &str) -> UnitState {
    UnitState::Failed(Failure {
        attempt: 0,
        since: None,
        causes: Vec::new(),
        at: step("containerd"),
        exit_code: 1,
        findings: Vec::new(),
        output: output.into(),
    })
}

fn turn_of(uid: &str) -> Turn {
    Turn {
        machine: uid.into(),
        name: if uid == ME { "cp-0" } else { "cp-1" }.into(),
        action: TurnAction::Init,
    }
}

fn node() -> NodeView {
    let annotation = (
        "cluster.k8s.io/machine".to_owned(),
        "default/w-0".to_owned(),
    );
    NodeView {
        name: "host-a".into(),
        uid: "node".into(),
        ready: Some(true),
        annotations: [annotation].into(),
        kubelet_version: "v1.36.3".into(),
        ..NodeView::default()
    }
}

/// A Machine whose Node is Ready.
fn running(mut observed: Observed) -> Observed {
    observed.placement = held(Contact::NotAsked);
    let mut node = node();
    let machine = format!("default/{}", observed.marker.machine);
    node.annotations
        .insert("cluster.k8s.io/machine".into(), machine);
    observed.node = Lookup::Known(Some(Arc::new(node)));
    let observed = with_cluster(observed, |cluster| {
        cluster.initialized_by = Some(OTHER.into());
    });
    had_node(observed)
}

/// The finding of this name.
fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    let found = plan.findings.iter().find(|f| f.condition == condition);
    found.unwrap_or_else(|| panic!("no {condition} in {:#?}", plan.findings))
}

/// What a plan does, and what its condition says of it: the reason, and parts of the message.
#[track_caller]
fn expect(case: &str, plan: &Plan, actions: &[Action], says: (&str, &str, &[&str])) {
    let (condition, reason, parts) = says;
    assert_eq!(plan.actions, actions, "{case}");
    let finding = finding(plan, condition);
    assert_eq!(finding.reason(), reason, "{case}: {}", finding.message());
    for part in parts {
        let message = &finding.message();
        assert!(
            message.contains(part),
            "{case}: no \"{part}\" in: {message}"
        );
    }
}
