//! Coming to rest: rounds in which everybody has a pass and nothing goes wrong; and what is not as it is wanted afterwards.

use tatara_core::api::conditions::{ConditionType, Finding, Reason, Severity, Status};

use tatara_core::machine::plan::Action;

use super::build::machine_name;
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
        if !is_well(state, which) && !is_asked(state, which, 0) {
            let said: Vec<_> = findings
                .iter()
                .map(|found| (found.condition, found.reason()))
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

/// Whether a Machine is Ready, as it is wanted.
fn is_well(state: &State, which: usize) -> bool {
    let object = &state.objects.machines[which];
    let passed = passed(state.view(which));
    let mut findings = passed.plan.findings.iter();
    let ready = findings.find(|found| found.condition == ConditionType::Ready);
    let is_ready = ready.is_some_and(|ready| ready.status == Status::True);
    !object.deleted && is_ready && is_wanted(state, which)
}

/// Whether a Machine tells a person to do something; or names another one that is not well either, and does.
fn is_asked(state: &State, which: usize, seen: u8) -> bool {
    let passed = passed(state.view(which));
    let mut findings = passed.plan.findings.clone();
    // what is said once its action is refused
    let begins = |action: &Action| matches!(action, Action::RecordSettings { begins: true, .. });
    if passed.plan.actions.iter().any(begins) {
        findings.extend(super::settings::may_begin(state, &passed.observed));
    }
    let names = |other: &usize| {
        let name = format!("machine {}", machine_name(*other));
        let is_plane = state.objects.machines[*other].is_control_plane;
        findings.iter().any(|found| {
            let all = is_plane && found.message().contains("the control-plane machines");
            all || found.message().contains(&name)
        })
    };
    let seen = seen | 1 << which;
    let others = (0..MOST).filter(|other| seen & 1 << other == 0);
    let mut others = others.filter(|other| state.objects.machines[*other].exists);
    findings.iter().any(asks)
        || others
            .any(|other| names(&other) && !is_well(state, other) && is_asked(state, other, seen))
}

/// A person is told to do something: by a warning, or by a command.
fn asks(finding: &Finding) -> bool {
    finding.reason().severity() == Severity::Warning
        || finding.message().contains("kubectl ")
        || finding.message().contains("tatara machine declare-gone ")
        || finding.message().contains("tatara cluster resolve ")
        || WAITS.contains(&finding.reason())
}

/// What is said to a person in other words: what the last control plane waits for, and a Machine without a host.
const WAITS: [Reason; 3] = [
    Reason::LastControlPlane,
    Reason::NoHostAvailable,
    Reason::NoMatchingHost,
];

fn host_asks(state: &State, host: usize) -> bool {
    let judged = super::hosts::judged(state, host);
    judged.1.findings.iter().any(asks)
}

fn cluster_asks(state: &State) -> bool {
    let judged = super::cluster::judged(state);
    judged.1.findings.iter().any(asks)
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
    has_node && is_up && super::settings::are_read(server) && object.status.updating.is_none()
}
