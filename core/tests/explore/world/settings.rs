//! The settings of the Cluster: what is gathered for the core where a node is made with them, or begins to follow them.

use std::sync::Arc;

use tatara_core::api::conditions::Finding;
use tatara_core::machine::Observed;
use tatara_core::machine::live::settings as live;
use tatara_core::planner::settings::next_to_follow;
use tatara_core::settings::{self, Settings};

use super::build::{UIDS, machine};
use super::pass::Doing;
use super::scope::cluster_spec;
use super::state::{MOST, Server, State};
use super::text::Text;

fn machines(state: &State) -> Vec<Arc<tatara_core::api::Machine>> {
    let known = state.known();
    let all = (0..MOST).filter(|which| known.machines[*which].exists);
    all.map(|which| machine(which, &known.machines[which]))
        .collect()
}

/// Why the node of a Machine may not begin to follow by now.
pub fn may_begin(state: &State, observed: &Observed) -> Option<Finding> {
    if live::goes_on(observed) {
        return None;
    }
    let spec = cluster_spec(state.known().wants);
    let next = next_to_follow(&machines(state), spec, |_| true, |_| false)?;
    live::may_begin(observed, &next)
}

/// What the control plane was made with, by the record of a Machine.
pub fn made_with(state: &State, observed: &Observed) -> Option<Settings> {
    let mut all = machines(state);
    all.retain(|one| one.is_control_plane());
    let first = observed.cluster.as_ref()?.initialized_by.as_deref();
    let first = first.and_then(|uid| UIDS.iter().position(|one| *one == uid));
    let known = state.known();
    let first = first.filter(|which| known.machines[*which].exists);
    let first = first.map(|which| machine(which, &known.machines[which]));
    live::made_with(observed, first.as_deref(), &all)
}

/// What kubeadm init is about to write into its ConfigMaps is written on the Cluster.
pub fn on_cluster(doing: &mut Doing) -> bool {
    let spec = cluster_spec(doing.state.objects.wants);
    let text = Text::of(&settings::text(&settings::of_cluster(spec), 0));
    doing.state.objects.settings == Some(text)
        || doing.effect(|state| {
            state.objects.settings = Some(text);
            state.config = text;
        })
}

/// Carries an edit into kubeadm's ConfigMaps, and records it: before, that it is being written.
pub fn apply(doing: &mut Doing, observed: &tatara_core::cluster::Observed, to: &Settings) -> bool {
    use tatara_core::cluster::live::settings::begun;
    let is_current = |state: &State| {
        let (known, live) = (state.known(), &state.objects);
        (known.settings, known.writing) == (live.settings, live.writing)
    };
    if !is_current(&doing.state) {
        return false;
    }
    if let Some(writing) = begun(&observed.cluster, to) {
        let text = serde_json::to_string(&writing).expect("settings");
        let text = Text::of(&text);
        if !doing.effect(|state| state.objects.writing = Some(text)) {
            return false;
        }
    }
    // the number of an edit counts by two: it tells an edit from the one before
    let number = (settings::number(&observed.cluster) + 1) % 4;
    let text = Text::of(&settings::text(to, number));
    if !doing.state.has_quorum() || !doing.effect(|state| state.config = text) {
        return false;
    }
    doing.effect(|state| {
        state.objects.settings = Some(text);
        state.objects.writing = None;
    })
}

/// Whether the kubelet of a server has started with what kubeadm wrote for it.
pub fn are_read(server: &Server) -> bool {
    let of_kubelet = |text: Option<Text>| {
        let all: serde_json::Value = serde_json::from_str(&text?.get()).expect("settings");
        all.get(settings::KUBELET).cloned()
    };
    server.read == server.written || of_kubelet(server.read) == of_kubelet(server.written)
}
