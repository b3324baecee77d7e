//! A Machine whose Node cannot be seen: said, and nothing is done to it.

use super::*;

fn unseen(observed: Observed) -> Observed {
    let mut observed = had_node(observed);
    observed.node = Lookup::Unknown("the API of Cluster a does not answer since then".into());
    observed
}

#[test]
fn a_node_that_cannot_be_seen_is_neither_healthy_nor_gone() {
    let mut observed = running(worker());
    observed.node = Lookup::Unknown("the API of Cluster a does not answer since then".into());
    let plan = plan(&observed, at(0));
    let says = ("NodeHealthy", "ApiUnreachable", &["since then"][..]);
    expect("silent", &plan, &[], says);
    for condition in ["NodeHealthy", "Ready"] {
        assert_eq!(finding(&plan, condition).status, Status::Unknown);
    }
}

#[test]
fn a_restart_is_no_news_for_a_while_and_then_it_is_looked_at_again() {
    let mut observed = running(worker());
    observed.node = Lookup::NotYet("not connected yet".into());
    let plan = plan(&observed, at(0));
    assert!(plan.hands_off && plan.actions.is_empty());
    assert_ne!(plan.next, Next::OnChange, "it has an end");
}

#[test]
fn a_cluster_that_was_applied_again_hears_from_the_host_that_it_has_a_control_plane() {
    let mut owner = own(&control_plane());
    if let Ownership::Owner(owner) = &mut owner {
        owner.initialized = true;
    }
    let observed = unseen(on(control_plane(), owner, Vec::new()));
    let plan = plan(&observed, at(0));
    assert_eq!(plan.actions, [Action::RecordInitialized]);
}

#[test]
fn what_ran_as_a_node_is_not_prepared_or_joined_again_because_it_cannot_be_seen() {
    for machine in [control_plane(), worker()] {
        for units in [
            Vec::new(),
            vec![unit(&machine, JobKind::Prepare, failure("no disk"))],
            vec![unit(&machine, JobKind::Join, failure("no answer"))],
        ] {
            let observed = unseen(ours(machine.clone(), units));
            let says = ("NodeHealthy", "ApiUnreachable", &[][..]);
            expect("unseen", &plan(&observed, at(0)), &[], says);
        }
    }
}
