//! What servers and Nodes show.

use std::collections::BTreeMap;
use std::sync::Arc;

use tatara_core::NodeView;
use tatara_core::api::conditions::Reason;
use tatara_core::api::host::HostFacts;
use tatara_core::api::names::{ANNOTATION_CORDONED, ANNOTATION_MACHINE};
use tatara_core::machine::Contact;
use tatara_core::node::{
    Failure, Job, JobKind, Observation, Owner, Ownership, Progress, SoftwareVersions, UPGRADE_STEP,
    UnitState, UnitStatus,
};

use super::build::{
    AUTHORITY, UIDS, address, at, host_name, machine_name, marker, node_uid, version,
};
use super::state::{MOST, Node, Run, RunState, Server, Step};

/// What comes of asking a server.
pub fn contact(server: &Server, host: usize) -> Contact {
    if server.silent {
        return Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "no answer".into(),
        };
    }
    Contact::Seen(Box::new(shows(server, host)))
}

/// What a server shows.
pub fn shows(server: &Server, host: usize) -> Observation {
    let mut units: Vec<_> = server.runs.iter().flatten().map(unit).collect();
    if let Some(of) = server.reset_of {
        units.push(UnitStatus {
            retried: None,
            job: Job::new(JobKind::Reset, UIDS[usize::from(of)]),
            identity: String::new(),
            state: UnitState::Succeeded,
        });
    }
    Observation {
        clock: 0,
        kubeadm_runs: "as decided".into(),
        facts: HostFacts {
            hostname: host_name(host).into(),
            addresses: vec![address(host).into()],
            ..HostFacts::default()
        },
        owner: server.marker.map_or(Ownership::Nobody, |of| {
            Ownership::Owner(Owner {
                marker: marker(of.into()),
                initialized: server.initialized,
                joined: server.joined,
            })
        }),
        occupied: Vec::new(),
        units,
        versions: SoftwareVersions {
            kubelet: server.kubelet.map(|of| version(of).into()),
            ..SoftwareVersions::default()
        },
        kubelet_active: server.is_node(),
        pods_run: server.is_node(),
        installation: None,
        authority: server.begun.then(|| AUTHORITY.into()),
    }
}

fn unit(run: &Run) -> UnitStatus {
    let at_step = |step| Progress {
        step: step_name(run.kind, step).into(),
        index: 2,
        total: 9,
    };
    UnitStatus {
        retried: None,
        job: Job::new(run.kind, UIDS[usize::from(run.of)]),
        identity: run.identity.get().to_string(),
        state: match run.state {
            RunState::Running(step) => UnitState::Running(at_step(step)),
            RunState::Succeeded => UnitState::Succeeded,
            RunState::Interrupted(step) => UnitState::Interrupted(at_step(step)),
            RunState::Failed(step) => UnitState::Failed(Failure {
                attempt: 0,
                since: None,
                causes: Vec::new(),
                at: at_step(step),
                exit_code: 1,
                findings: Vec::new(),
                output: "no".into(),
            }),
        },
    }
}

fn step_name(kind: JobKind, step: Step) -> &'static str {
    match (kind, step) {
        (_, Step::First) => "first",
        (JobKind::Upgrade, _) => UPGRADE_STEP,
        (_, Step::Changes) => "changes",
        (_, Step::Made) => "made",
    }
}

/// A Node as the watch shows it.
pub fn node_view(at_host: usize, of: Node, is_ready: bool) -> NodeView {
    let mut annotations = BTreeMap::new();
    let machine = format!("default/{}", machine_name(of.of.into()));
    annotations.insert(ANNOTATION_MACHINE.to_owned(), machine);
    if of.cordoned {
        annotations.insert(ANNOTATION_CORDONED.to_owned(), "true".to_owned());
    }
    NodeView {
        name: host_name(at_host).into(),
        uid: node_uid(at_host),
        provider_id: Some(format!("tatara://ssh/{}", UIDS[usize::from(of.of)])),
        ready: is_ready.then_some(true),
        ready_since: Some(at(-3600)),
        ready_reason: if is_ready { "" } else { "NodeStatusUnknown" }.into(),
        annotations,
        unschedulable: of.cordoned,
        kubelet_version: version(of.kubelet).into(),
        ..NodeView::default()
    }
}

pub fn node_views(nodes: &[Option<Node>; MOST], ready: u8) -> Vec<Arc<NodeView>> {
    let nodes = nodes.iter().enumerate();
    let nodes = nodes.filter_map(|(at, of)| {
        let is_ready = ready & 1 << at != 0;
        Some(Arc::new(node_view(at, (*of)?, is_ready)))
    });
    nodes.collect()
}
