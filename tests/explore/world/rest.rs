//! Coming to rest: rounds in which everybody has a pass and nothing goes wrong; and what is not as it is wanted afterwards.

use tatara::api::conditions::{ConditionType, Finding, Reason, Severity, Status};
use tatara::core::cluster::plan::plan as plan_of_cluster;

use super::events::{Event, Next, everybody, happen};
use super::pass::passed;
use super::state::{MOST, RunState, State};

/// Reasons of a Machine that waits for its control plane, as the controller of Clusters reads them.
pub const WAITS_FOR_CONTROL_PLANE: [Reason; 4] = [
    Reason::QuorumAtRisk,
    Reason::MemberChanging,
    Reason::TooFewMembersAnswer,
    Reason::EtcdUnreachable,
];

/// The world as it is when nothing goes wrong any more.
pub fn calm(state: &State) -> State {
    State {
        faults: 0,
        ..state.clone()
    }
}

/// One fair round: everything that may happen without a fault happens once.
///
/// # Errors
/// What was broken by it.
pub fn round(state: &State) -> Result<State, String> {
    let mut now = state.clone();
    let go = |now: &mut State, event| match happen(now, event) {
        Next::Nothing => Ok(()),
        Next::State(next) => {
            *now = *next;
            Ok(())
        }
        Next::Broken(what) => Err(format!("{what}, by {event:?}")),
    };
    for event in [Event::Connect, Event::CatchUp, Event::Late, Event::Silence] {
        go(&mut now, event)?;
    }
    for who in everybody(state) {
        go(&mut now, Event::Pass(who))?;
    }
    for at in 0..MOST {
        go(&mut now, Event::Goes(at))?;
        go(&mut now, Event::Waited(at))?;
        go(&mut now, Event::LostApi(at))?;
    }
    Ok(now)
}

/// What is not as it is wanted, and of what nobody is told to do something.
pub fn troubles(state: &State) -> Vec<String> {
    let mut troubles = Vec::new();
    for which in 0..MOST {
        let object = &state.objects.machines[which];
        if !object.exists {
            continue;
        }
        let passed = passed(state.view(which));
        let findings = &passed.plan.findings;
        let is_well = !object.deleted && is_wanted(state, which) && {
            let ready = findings
                .iter()
                .find(|found| found.condition == ConditionType::Ready);
            ready.is_some_and(|ready| ready.status == Status::True)
        };
        if !is_well && !findings.iter().any(asks) {
            let said: Vec<_> = findings
                .iter()
                .map(|found| (found.condition, found.reason))
                .collect();
            troubles.push(format!(
                "m-{which} is not as wanted, and nobody is asked: {said:?}"
            ));
        }
    }
    for host in 0..MOST {
        let (object, server) = (&state.objects.hosts[host], &state.servers[host]);
        let runs = server
            .runs
            .iter()
            .flatten()
            .any(|run| matches!(run.state, RunState::Running(_)));
        if object.exists && runs {
            troubles.push(format!("a job runs on h-{host} for ever"));
        }
        let is_held = object
            .claim
            .is_some_and(|(by, _)| !state.objects.machines[usize::from(by)].exists);
        if object.exists && is_held && !host_asks(state, host) {
            troubles.push(format!("h-{host} is not freed, and nobody is asked"));
        }
    }
    if let Some((who, _)) = state.objects.secret.turn.or(state.objects.cluster.turn) {
        let machine = state.objects.machines.get(usize::from(who));
        let is_asked = machine.is_some_and(|machine| {
            machine.exists
                && passed(state.view(who.into()))
                    .plan
                    .findings
                    .iter()
                    .any(asks)
        });
        if !is_asked && !cluster_asks(state) {
            troubles.push(format!("m-{who} has the turn for ever"));
        }
    }
    troubles
}

/// A person is told to do something: by a warning, or by a command.
fn asks(finding: &Finding) -> bool {
    finding.reason.severity() == Severity::Warning
        || finding.message.contains("kubectl ")
        || WAITS.contains(&finding.reason)
}

/// What is said to a person in other words: what the last control plane waits for, and a Machine without a host.
const WAITS: [Reason; 3] = [
    Reason::LastControlPlane,
    Reason::NoHostAvailable,
    Reason::NoMatchingHost,
];

fn host_asks(state: &State, host: usize) -> bool {
    let plan =
        tatara::core::host::plan::plan(&super::hosts::observed(state, host), super::build::at(0));
    plan.findings.iter().any(asks)
}

fn cluster_asks(state: &State) -> bool {
    let plan = plan_of_cluster(&super::cluster::observed(state));
    plan.findings.iter().any(asks)
}

/// Whether its node is what its Machine wants.
fn is_wanted(state: &State, which: usize) -> bool {
    let object = &state.objects.machines[which];
    let Some(host) = state.host_of(which) else {
        return false;
    };
    let server = &state.servers[host];
    let node = state.nodes[host];
    let has_node = node.is_some_and(|node| !node.cordoned && Some(node.kubelet) == object.wants);
    let is_up = !object.is_control_plane || (state.serves(host) && server.api == object.wants);
    has_node && is_up && object.status.updating.is_none()
}
