//! How soon a Machine is looked at again, by what it says.

use super::super::super::observed::Stuck;
use super::super::pace;
use super::*;
use crate::pace::{CLAIM, EVICTION, HOOK, MACHINES, SERVER, TURN, WORKLOAD_API};

fn silent() -> Contact {
    Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no route".into(),
    }
}

/// A Machine that holds a host of which this is known.
fn with(contact: Contact, stuck: Option<Stuck>) -> Observed {
    let mut observed = worker();
    observed.placement = held(contact);
    if let Placement::Held(held) = &mut observed.placement {
        held.stuck = stuck;
    }
    observed
}

fn seen() -> Contact {
    says(unmarked(Vec::new()))
}

#[track_caller]
fn check(
    case: &str,
    observed: &Observed,
    (condition, reason): (ConditionType, Reason),
    next: Next,
) {
    let plan = Plan::waiting(Finding::no(condition, reason, case));
    assert_eq!(pace::of(observed, &plan), next, "{case}");
}

#[test]
fn a_host_is_asked_again_where_each_pass_asks_it() {
    let unasked = |stuck| with(Contact::NotAsked, stuck);
    let server = Next::After(SERVER);
    let says = (ConditionType::InfrastructureReady, Reason::SshUnreachable);
    check("silent", &with(silent(), None), says, server);
    let told = (ConditionType::Updating, Reason::SshUnreachable);
    check("silent before", &unasked(None), told, Next::OnChange);
    let released = (ConditionType::Deleting, Reason::WaitingForHost);
    check("reset", &with(seen(), None), released, server);
    check("being reset", &unasked(None), released, Next::OnChange);
    let left_alone = unasked(Some(Stuck::LeftAlone));
    check("left alone", &left_alone, released, Next::OnChange);
    check("off", &unasked(Some(Stuck::Fenced)), released, server);
    let joins = (
        ConditionType::BootstrapReady,
        Reason::WaitingForControlPlane,
    );
    check("waits to join", &with(seen(), None), joins, Next::OnChange);
}

#[test]
fn what_is_asked_elsewhere_is_asked_again_unless_the_machine_lives() {
    let worker = worker();
    let lost = (ConditionType::InfrastructureReady, Reason::HostLost);
    check("lost", &worker, lost, Next::After(CLAIM));
    let contested = |condition| (condition, Reason::ProviderIDContested);
    let leaves = contested(ConditionType::Deleting);
    check("leaves", &worker, leaves, Next::After(WORKLOAD_API));
    let lives = contested(ConditionType::NodeHealthy);
    check("lives", &worker, lives, Next::OnChange);
    let drains = |condition| (condition, Reason::Draining);
    let leaves = drains(ConditionType::Deleting);
    check("drains", &worker, leaves, Next::After(EVICTION));
    let told = drains(ConditionType::Updating);
    check("drained before", &worker, told, Next::OnChange);
}

#[test]
fn what_stays_asks_for_the_turn_or_is_held_has_a_pace_of_its_own() {
    let drains = Finding::yes(ConditionType::Deleting, Reason::Draining, "");
    let stays = Plan {
        stage: Some(StageName::Stays),
        ..Plan::waiting(drains.clone())
    };
    assert_eq!(pace::of(&worker(), &stays), Next::After(MACHINES));
    let asks = Plan {
        asks: Some(Request {
            action: TurnAction::Remove,
            half_done: false,
        }),
        ..Plan::default()
    };
    assert_eq!(pace::of(&worker(), &asks), Next::After(TURN));
    let held = Plan::act(Action::AwaitHooks(drains.clone()), drains);
    assert_eq!(pace::of(&worker(), &held), Next::After(EVICTION));
    let told = json!({ "type": "Draining", "status": "False", "reason": "Drained", "message": "",
        "lastTransitionTime": at(0).to_string() });
    let drained = edited(worker(), &json!({ "status": { "conditions": [told] } }));
    assert_eq!(pace::of(&drained, &held), Next::After(HOOK));
}
