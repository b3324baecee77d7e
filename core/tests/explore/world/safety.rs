//! What must hold in every state.

use tatara_core::node::JobKind;
use tatara_core::settings::behind;

use super::build::machine;
use super::scope::cluster_spec;
use super::state::{MOST, RunState, State};

/// What is broken, if anything is.
pub fn broken(state: &State) -> Option<String> {
    two_inits(state)
        .or_else(|| two_markers(state))
        .or_else(|| free_and_marked(state))
        .or_else(|| quorum(state))
        .or_else(|| two_changes(state))
        .or_else(|| two_follow(state))
}

/// One node of the cluster is brought to other settings at a time. One that was begun, and whose edit was taken back, holds nobody
/// while it is not Ready: the others had what they get.
fn two_follow(state: &State) -> Option<String> {
    let spec = cluster_spec(state.objects.wants);
    let begun = (0..MOST).filter(|which| {
        let object = &state.objects.machines[*which];
        let record = object.record.filter(|_| object.exists);
        record.is_some_and(|record| record.get().contains("\"applying\""))
    });
    let begun: Vec<usize> = begun.collect();
    if begun.len() < 2 {
        return None;
    }
    let follow = begun.into_iter().filter(|which| {
        let object = &state.objects.machines[*which];
        !behind(&machine(*which, object), spec).is_taken_back()
    });
    (follow.count() > 1).then(|| "two nodes follow settings at once".to_owned())
}

/// One init per CA: kubeadm init was begun on two servers, of which neither was reset.
fn two_inits(state: &State) -> Option<String> {
    let begun = state
        .servers
        .iter()
        .filter(|server| server.run(JobKind::Init).is_some());
    (begun.count() > 1).then(|| "kubeadm init was begun on two servers".to_owned())
}

/// A Machine has one server.
fn two_markers(state: &State) -> Option<String> {
    let markers = state.servers.iter().filter_map(|server| server.marker);
    let mut seen = 0_u8;
    for marker in markers {
        if seen & 1 << marker != 0 {
            return Some(format!("two servers have the marker of m-{marker}"));
        }
        seen |= 1 << marker;
    }
    None
}

/// A Host that a Machine may claim has no marker on its server.
fn free_and_marked(state: &State) -> Option<String> {
    if state.is_restored {
        return None;
    }
    let mut hosts = (0..MOST).filter(|host| {
        let object = &state.objects.hosts[*host];
        let is_available = object.available.is_some_and(|(available, _)| available);
        let is_free = object.exists && object.claim.is_none() && is_available;
        is_free && state.servers[*host].marker.is_some()
    });
    hosts
        .next()
        .map(|host| format!("h-{host} is free, and marked"))
}

/// etcd keeps its quorum, and no two members are down by jobs. One or two members cannot miss any, and are updated all the same.
fn quorum(state: &State) -> Option<String> {
    let down = state.members.iter().flatten().filter(|member| {
        let server = &state.servers[usize::from(member.host)];
        server.stopped && !server.cost_nothing
    });
    let voters = state.voters().count();
    if down.count() > 1 && state.orphans() == 0 {
        return Some("two members are down".to_owned());
    }
    (voters > 2 && !state.has_quorum()).then(|| "etcd has no quorum".to_owned())
}

/// kubeadm changes a control plane that exists only where its Machine has the turn. That of init is guarded by more than the turn.
fn two_changes(state: &State) -> Option<String> {
    let turn = state.objects.secret.turn.map(|(who, _)| who);
    state.servers.iter().find_map(|server| {
        let run = server.running()?;
        let changes = matches!(
            run.kind,
            JobKind::Join | JobKind::Upgrade | JobKind::Kubelet
        );
        let is_plane = state.objects.machines[usize::from(run.of)].is_control_plane;
        let is_its = turn == Some(run.of);
        let is_wrong = changes && is_plane && !is_its && !run.is_forgotten;
        let RunState::Running(at) = run.state else {
            return None;
        };
        is_wrong.then(|| {
            format!(
                "{:?} of m-{} runs ({at:?}) without the turn",
                run.kind, run.of
            )
        })
    })
}

impl State {
    /// So many members belong to no Machine.
    pub fn orphans(&self) -> usize {
        let members = self.members.iter().flatten();
        let orphans = members.filter(|member| {
            let at = Some(member.host);
            let mut machines = self.objects.machines.iter();
            !machines.any(|machine| machine.exists && machine.chosen == at)
        });
        orphans.count()
    }
}
