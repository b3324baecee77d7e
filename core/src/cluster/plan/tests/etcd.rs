use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::control_plane::orphaned_members::Facts;
use crate::control_plane::peers::{Received, Sign, Watch};
use crate::control_plane::{Member, MemberHealth, Members};

const STRANGER: MemberId = MemberId(3);

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).expect("a time")
}

/// Three members: two of Machines, and one that belongs to none and has not served for a quarter of
/// an hour.
fn with_stranger() -> Observed {
    let mut members = Members {
        leader: Some(MemberId(1)),
        ..Members::default()
    };
    let mut observed = running();
    observed.machines.clear();
    for (id, name) in (1..).map(MemberId).zip(["a", "b", "s"]) {
        members.list.push(Member {
            id,
            name: name.into(),
            peer_urls: vec![format!("https://10.0.0.{id}:2380")],
            is_learner: false,
        });
        if id != STRANGER {
            members.health.insert(id, MemberHealth::Healthy);
            observed.machines.push(MachineFact {
                name: format!("cp-{name}"),
                addresses: vec![format!("10.0.0.{id}")],
                ..machine(true, false)
            });
        }
    }
    observed.etcd = Some(Ok(Arc::new(members)));
    observed.strangers = vec![Facts {
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
    }];
    // beside this one, which waits to leave
    observed.turn = Some(turn_of("m"));
    observed
}

fn turn_of(uid: &str) -> Turn {
    Turn {
        machine: uid.into(),
        name: uid.into(),
        action: TurnAction::Remove,
    }
}

#[test]
fn the_cluster_asks_for_the_turn_removes_in_it_and_returns_it() {
    let stranger = || {
        let mut observed = with_stranger();
        let mut cluster = (*observed.cluster).clone();
        cluster.metadata.uid = Some("c".into());
        observed.cluster = Arc::new(cluster);
        observed
    };
    let own = || Observed {
        turn: Some(turn_of("c")),
        is_turn_vacant: true,
        ..stranger()
    };
    let nobody = Observed {
        turn: None,
        ..stranger()
    };
    let served = |mut observed: Observed| {
        observed.strangers[0].watch.sign = Sign::Connected("a".into());
        observed
    };
    let asked = plan(&nobody);
    assert!(asked.asks && asked.actions.is_empty(), "{asked:?}");
    for (case, observed, actions) in [
        ("nothing to remove", served(nobody), vec![]),
        ("beside another", stranger(), removal()),
        ("its own", own(), removal()),
        (
            "nothing left",
            served(own()),
            vec![Action::ReturnVacantTurn],
        ),
    ] {
        let plan = plan(&observed);
        assert_eq!(plan.actions, actions, "{case}");
        assert!(!plan.asks, "{case}");
    }
    let before = Observed {
        kubeconfig_ready: false,
        ..own()
    };
    // what fails, such as the renewal of the kubeconfig, keeps the turn from nobody
    let first = plan(&before).actions.into_iter().next();
    assert_eq!(first, removal().pop());
    let mut waits = Observed {
        turn: None,
        turn_waits: Some("Machine cp-1 joins".into()),
        ..stranger()
    };
    let says = |observed: &Observed| {
        let findings = plan(observed).findings;
        let found = findings.iter().find(|one| one.condition == "EtcdHealthy");
        found.map_or_else(String::new, |found| found.message().clone())
    };
    assert!(says(&waits).contains("is removed later: Machine cp-1 joins"));
    waits.turn_waits = None;
    assert!(says(&waits).contains("is removed in the next turn"));
}

fn removal() -> Vec<Action> {
    vec![Action::RemoveMember { id: STRANGER }]
}

#[test]
fn a_member_that_belongs_to_no_machine_is_removed_when_all_is_proven_and_told_otherwise() {
    type Case = (&'static str, fn(&mut Observed), Vec<Action>, &'static str);
    let table: [Case; 9] = [
        (
            "all is proven",
            |_| {},
            removal(),
            "is removed in the next turn",
        ),
        (
            "nobody asked about it yet",
            |o| o.strangers.clear(),
            Vec::new(),
            "were not asked yet",
        ),
        (
            "it is on a Host",
            |o| o.strangers[0].ours = Some("Host h".into()),
            Vec::new(),
            "Host h",
        ),
        (
            "it serves",
            |o| o.strangers[0].watch.sign = Sign::Connected("a".into()),
            Vec::new(),
            "may be somebody's",
        ),
        (
            "it is silent for a minute",
            |o| o.strangers[0].watch.since = Some(at(14)),
            Vec::new(),
            "is removed at 1970-01-01T00:29:00Z or later",
        ),
        (
            "another change comes first",
            |o| o.strangers[0].busy = Some("Machine m".into()),
            Vec::new(),
            "is removed later: Machine m",
        ),
        (
            "the records of init contradict each other",
            |o| o.doubt = Some(Doubt::TwoRecords("m".into(), "n".into())),
            Vec::new(),
            "see condition ControlPlaneInitialized",
        ),
        (
            "the turn is returned first",
            |o| o.is_turn_vacant = true,
            vec![Action::ReturnVacantTurn],
            "is returned first",
        ),
        (
            "the settings cannot be used",
            |o| o.spec = Err("a typo".into()),
            Vec::new(),
            "see condition ConfigurationValid",
        ),
    ];
    for (case, change, actions, part) in table {
        let mut observed = with_stranger();
        change(&mut observed);
        let says = (
            "EtcdHealthy",
            "MemberWithoutMachine",
            &["etcd member s (https://10.0.0.3:2380)", part][..],
        );
        expect(case, &observed, &actions, says);
    }
}

#[test]
fn of_several_members_without_machine_the_one_that_can_go_is_told() {
    let mut observed = with_stranger();
    observed.machines.remove(1);
    let mut other = observed.strangers[0].clone();
    (other.id, other.ours) = (MemberId(2), Some("Host h".into()));
    observed.strangers.insert(0, other);
    let says = (
        "EtcdHealthy",
        "MemberWithoutMachine",
        &["etcd member s "][..],
    );
    expect("two", &observed, &removal(), says);
}

#[test]
fn nothing_is_removed_from_a_cluster_that_is_paused_or_deleted_or_not_ours() {
    type Change = (&'static str, fn(&mut Observed));
    let changes: [Change; 3] = [
        ("paused", |o| {
            let annotations = Arc::make_mut(&mut o.cluster).annotations_mut();
            annotations.insert(ANNOTATION_PAUSED.into(), String::new());
        }),
        ("deleted", |o| {
            let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(0));
            Arc::make_mut(&mut o.cluster).metadata.deletion_timestamp = Some(now);
        }),
        ("external", |o| o.external = true),
    ];
    for (case, change) in changes {
        let mut observed = with_stranger();
        change(&mut observed);
        let actions = plan(&observed).actions;
        assert!(!actions.contains(&removal()[0]), "{case}: {actions:?}");
    }
}

#[test]
fn of_etcd_only_a_removal_is_an_event_and_it_is_written_at_once() {
    use k8s_openapi::jiff::Timestamp;

    use crate::api::ClusterStatus;
    use crate::api::conditions::merge;
    use crate::cluster::status::{holds_back, is_news};
    let before = ClusterStatus::default();
    let of = |reason| Finding::no(ConditionType::EtcdHealthy, reason, "");
    for (reason, is_event) in [
        (Reason::MemberRemoved, true),
        (Reason::MemberWithoutMachine, false),
        (Reason::EtcdUnreachable, false),
    ] {
        assert_eq!(is_news(&before, &of(reason)), is_event, "{reason}");
    }
    let findings = [of(Reason::MemberRemoved)];
    let removed = ClusterStatus {
        conditions: merge(&[], &findings, None, Timestamp::UNIX_EPOCH),
        ..before.clone()
    };
    assert!(holds_back(false, &before, &removed).is_zero());
}

#[test]
fn a_removal_comes_before_what_the_cluster_may_refuse_because_of_that_member() {
    let mut observed = with_stranger();
    (observed.connected, observed.addons_due) = (true, true);
    let actions = plan(&observed).actions;
    assert_eq!(actions, [removal().remove(0), Action::ApplyAddons]);
}

#[test]
fn a_turn_that_nobody_has_is_returned_also_while_the_settings_cannot_be_used() {
    let mut observed = with_stranger();
    (observed.spec, observed.is_turn_vacant) = (Err("a typo".into()), true);
    assert_eq!(plan(&observed).actions, [Action::ReturnVacantTurn]);
}

#[test]
fn what_harms_all_is_told_before_a_member_without_machine_unless_it_is_the_cause() {
    type Change = fn(&mut Members);
    let table: [(&str, Change, &str, &str); 5] = [
        (
            "etcd is full, and it is one of two",
            |m| {
                m.list.remove(1);
                m.alarms.push((MemberId(1), "NOSPACE".into()));
            },
            "EtcdNoSpace",
            "Also, etcd member s (ID 3) belongs to no Machine",
        ),
        (
            "etcd is full",
            |m| m.alarms.push((MemberId(1), "NOSPACE".into())),
            "EtcdNoSpace",
            "Also, etcd member s (ID 3) belongs to no Machine",
        ),
        (
            "one of ours does not answer either",
            |m| drop(m.health.remove(&MemberId(2))),
            "TooFewMembersAnswer",
            "Also, etcd member s (ID 3) belongs to no Machine",
        ),
        (
            "one of two, and it is not asked",
            |m| drop(m.list.remove(1)),
            "MemberWithoutMachine",
            "etcd member s ",
        ),
        ("nothing", |_| (), "MemberWithoutMachine", "etcd member s "),
    ];
    for (case, change, reason, part) in table {
        let mut observed = with_stranger();
        if let Some(Ok(members)) = &mut observed.etcd {
            change(Arc::make_mut(members));
        }
        let found = plan(&observed).findings;
        let found = found
            .iter()
            .find(|one| one.condition == ConditionType::EtcdHealthy);
        let found = found.expect("a finding");
        assert_eq!(found.reason().as_str(), reason, "{case}");
        assert!(
            found.message().contains(part),
            "{case}: {}",
            found.message()
        );
    }
}

#[test]
fn a_member_that_knows_no_leader_tells_a_lost_quorum_apart_from_a_lost_route() {
    let mut observed = with_stranger();
    observed.etcd = Some(Err("cp-0: no answer within 8 s".into()));
    let says = ("EtcdHealthy", "EtcdUnreachable", &["restore SSH"][..]);
    expect("no route", &observed, &[], says);
    observed.leaderless = vec!["cp-0".into()];
    expect("others have the quorum", &observed, &[], says);
    observed.health = None;
    let says = (
        "EtcdHealthy",
        "QuorumLost",
        &[
            "no etcd member that answers the manager knows a leader (cp-0)",
            "docs/day-2.md#lost-quorum",
        ][..],
    );
    expect("no leader", &observed, &[], says);
    let told = plan(&observed).findings.into_iter();
    let mut etcd = told.filter(|told| told.condition == ConditionType::EtcdHealthy);
    assert_eq!(etcd.next().map(|told| told.status), Some(Status::False));
}

#[test]
fn a_member_that_has_not_started_is_named_with_its_machine() {
    let says = |change: fn(&mut Members)| {
        let mut observed = with_stranger();
        if let Some(Ok(members)) = &mut observed.etcd {
            let members = Arc::make_mut(members);
            members.list.pop();
            (members.list[1].is_learner, members.list[1].name) = (true, String::new());
            change(members);
        }
        let plan = plan(&observed);
        let mut findings = plan.findings.into_iter();
        let found = findings.find(|one| one.condition == ConditionType::EtcdHealthy);
        found.expect("a finding")
    };
    let pending = says(|_| ());
    assert_eq!(pending.reason(), "MemberChanging");
    let begins = "etcd member 10.0.0.2 (Machine cp-b) was added and does not vote yet";
    assert!(
        pending.message().starts_with(begins),
        "{}",
        pending.message()
    );
    let silent = says(|members| members.list[1].is_learner = false);
    assert_eq!(silent.reason(), "TooFewMembersAnswer");
    let ends = ". 10.0.0.2 is that of Machine cp-b";
    assert!(silent.message().ends_with(ends), "{}", silent.message());
}
