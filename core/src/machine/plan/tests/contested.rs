//! A Node that has the provider ID of another Machine.

use super::*;
use crate::machine::own_node;

fn newcomer() -> Arc<NodeView> {
    Arc::new(NodeView {
        name: "evil".into(),
        uid: "evil".into(),
        ..node()
    })
}

#[test]
fn beside_the_recorded_node_a_newcomer_is_told_and_nothing_is_done_for_it() {
    let mut observed = running(worker());
    observed.contested = vec![newcomer()];
    let told = plan(&observed, at(0));
    let parts = &["Node evil has", "own Node host-a", "delete node evil"][..];
    expect("told", &told, &[], ("Ready", "ProviderIDContested", parts));
    assert_eq!(finding(&told, "Ready").status, Status::True);

    let leaves = plan(&deleted(observed, at(0)), at(0));
    let names = |action: &Action| match action {
        Action::Drain { node, uid } => Some((node.clone(), uid.clone())),
        _ => None,
    };
    let drained: Vec<_> = leaves.actions.iter().filter_map(names).collect();
    assert_eq!(drained, [("host-a".to_owned(), "node".to_owned())]);
}

#[test]
fn where_none_is_recorded_a_node_of_another_name_is_not_taken_and_a_deletion_waits() {
    let registering = |name: &str| {
        let mut observed = worker();
        observed.placement = held(Contact::NotAsked);
        observed.node = Lookup::Known(Some(Arc::new(NodeView {
            name: name.into(),
            ..node()
        })));
        own_node::check_name(&mut observed);
        observed
    };
    for own in ["host-a", "HOST-A"] {
        let observed = registering(own);
        assert!(matches!(&observed.node, Lookup::Known(Some(_))), "{own}");
    }
    let other = registering("w1");
    let Lookup::Unknown(why) = &other.node else {
        panic!("{:?}", other.node)
    };
    assert!(why.contains("expected is host-a"), "{why}");

    let waits = plan(&deleted(other, at(0)), at(0));
    let says = ("Deleting", "ProviderIDContested", &["delete node w1"][..]);
    expect("deleted", &waits, &[], says);
}

#[test]
fn the_release_of_a_dead_machine_ends_its_pods_only_where_something_can_switch_it_off() {
    let dead = |ready_reason: &str, why: Option<&str>| {
        let mut observed = deleted(running(worker()), at(0));
        let Placement::Held(held) = &mut observed.placement else {
            panic!("a host")
        };
        held.why = why.map(|reason| (reason.into(), String::new()));
        let view = NodeView {
            ready: None,
            ready_reason: ready_reason.into(),
            ..node()
        };
        (observed, view)
    };
    let silent = "NodeStatusUnknown";
    let table = [
        (silent, Some("SshUnreachable"), true, true),
        (silent, Some("HostHangs"), true, true),
        (silent, Some("SshUnreachable"), false, false),
        // its host answers: the kubelet alone is away
        (silent, None, true, false),
        (silent, Some("AuthenticationFailed"), true, false),
        ("KubeletNotReady", Some("SshUnreachable"), true, false),
    ];
    for (ready, why, has_bmc, expected) in table {
        let (observed, view) = dead(ready, why);
        let ends = dead::is_ended_by_release(&observed, &view, has_bmc);
        assert_eq!(ends, expected, "{ready} {why:?} {has_bmc}");
    }
}

#[test]
fn the_command_names_neither_the_expected_node_nor_what_is_no_name() {
    let named = |names: &[&str], placement| {
        let mut observed = worker();
        observed.placement = placement;
        let nodes = names.iter().map(|name| {
            Arc::new(NodeView {
                name: (*name).into(),
                ..node()
            })
        });
        observed.contested = nodes.collect();
        observed.node = Lookup::Unknown("two".into());
        own_node::contested(&observed)
    };
    let none = || Placement::None(Ok("host-a".into()));
    for (names, placement, target) in [
        (&["host-a", "w1"][..], held(Contact::NotAsked), "w1"),
        (&["w1", "HOST-A"], held(Contact::NotAsked), "w1"),
        (&["Host-A"], held(Contact::NotAsked), "NAME"),
        // nobody knows which of them is its own
        (&["host-a", "w1"], none(), "NAME"),
        (&["--all"], held(Contact::NotAsked), "NAME"),
        (&["w1; reboot"], held(Contact::NotAsked), "NAME"),
    ] {
        let told = named(names, placement);
        let end = format!(") delete node {target}");
        assert!(told.ends_with(&end), "{names:?}: {told}");
        assert!(
            told.contains("its certificate names its Node: on "),
            "{told}"
        );
    }
}
