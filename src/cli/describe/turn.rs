//! Of a described Cluster: whose turn it is to change the control plane, and who asks for it.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::age::age;
use super::details::lasting;
use super::kind::Kind;
use super::snapshot::Snapshot;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::machine_stage::TurnRequest;
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::Purpose;
use tatara_core::control_plane::turn::{Holder, Marks};

/// Of a Cluster: whose turn it is to change the control plane, and who asks for it, the first
/// first.
pub fn turn(snapshot: &Snapshot, now: Timestamp) -> Vec<String> {
    let cluster = match snapshot.kind {
        Kind::Cluster => snapshot.clusters.get(&snapshot.name),
        _ => None,
    };
    let Some(cluster) = cluster else {
        return Vec::new();
    };
    let holder = Marks::of(cluster.annotations()).turn;
    let mut lines = Vec::new();
    let of = |turn: &Turn| {
        let machine = snapshot.machines.get(&turn.name);
        machine.filter(|machine| machine.uid().as_deref() == Some(&turn.machine))
    };
    if let Holder::Of(turn) = &holder {
        lines.push(if Some(&turn.machine) == cluster.uid().as_ref() {
            format!(
                "  the Cluster has it, to remove an etcd member that belongs to no Machine{}",
                held(cluster, turn, now)
            )
        } else {
            let machine = of(turn);
            let gone = if machine.is_none() {
                "; no Machine of that name has its UID, condition ControlPlaneInitialized says how it is returned"
            } else {
                ""
            };
            let status = machine.and_then(|machine| machine.status.as_ref());
            let change = status.and_then(|status| status.change.as_ref());
            let stage = status.and_then(|status| status.stage.as_ref());
            let step = change.map(|change| {
                let step = change.step.as_deref().unwrap_or("step unknown");
                (step, &change.clock)
            });
            let step = step.or_else(|| stage.map(|stage| (&*stage.name, &stage.clock)));
            let step = step.map(|(step, clock)| format!("; at {step} {}", lasting(clock, now)));
            let (name, action) = (&turn.name, Purpose::of(turn.action).to);
            format!(
                "  Machine {name} has it, {action}{}{}{gone}",
                held(cluster, turn, now),
                step.unwrap_or_default()
            )
        });
    }
    if matches!(holder, Holder::Unreadable(_)) {
        lines.push("  it is in doubt who has it: see condition ControlPlaneInitialized".into());
    }
    lines.extend(queue(snapshot, cluster, &holder, now));
    lines
}

/// Who asks for it, the first first.
fn queue(snapshot: &Snapshot, cluster: &Cluster, holder: &Holder, now: Timestamp) -> Vec<String> {
    let has_it = |uid: Option<String>| matches!(holder, Holder::Of(turn) if Some(&turn.machine) == uid.as_ref());
    let asks = |machine: &&Machine| {
        let request = machine.status.clone()?.turn_request?;
        let action = TurnAction::parse(&request.action)
            .map_or("for something", |action| Purpose::of(action).to);
        let who = format!("Machine {} asks for it, {action}", machine.name_any());
        // whether one that leaves serves, which the planner heeds as well, is not told
        let order = [TurnAction::Join, TurnAction::Remove, TurnAction::Upgrade];
        let place = order.iter().position(|one| one.as_str() == request.action);
        let place = (!request.half_done, place.unwrap_or(order.len()) + 1);
        (!has_it(machine.uid())).then_some((place, who, request))
    };
    let own = cluster
        .status
        .clone()
        .and_then(|status| status.turn_request);
    let own = own.filter(|_| !has_it(cluster.uid())).map(|request| {
        let who = "the Cluster asks for it, to remove an etcd member that belongs to no Machine";
        // behind what is half done, before all others
        ((true, 0), who.to_owned(), request)
    });
    let mut waiting: Vec<_> = snapshot.machines.sorted().iter().filter_map(asks).collect();
    waiting.extend(own);
    waiting.sort_by_key(|(place, ..)| *place);
    let line = |(_, who, request): &(_, String, TurnRequest)| {
        let since = age(request.since.0, now);
        let begun = if request.half_done {
            " (half done)"
        } else {
            ""
        };
        format!("  {who}{begun}, for {since}")
    };
    waiting.iter().map(line).collect()
}

/// For how long somebody has the turn.
fn held(cluster: &Cluster, turn: &Turn, now: Timestamp) -> String {
    let status = cluster.status.as_ref();
    let held = status.and_then(|status| status.control_plane_turn.as_ref());
    let held = held.filter(|held| held.name == turn.name && held.action == turn.action.as_str());
    held.map_or_else(String::new, |held| {
        format!(", for {}", age(held.since.0, now))
    })
}
