//! Control planes of several machines: who joins, who leaves, and what etcd allows of it.

mod address;
mod ends;
mod leaves;
mod unplaced;
mod versions;

use super::*;
use crate::api::names::ANNOTATION_HOST_IS_GONE;
use crate::machine::ControlPlaneMachine;

const OWN: &str = "192.0.2.11";
const FIRST: &str = "192.0.2.21";
const SECOND: &str = "192.0.2.22";

/// Healthy etcd members at these addresses.
pub(super) fn etcd_at(addresses: &[&str]) -> Arc<Members> {
    let mut members = Members::default();
    for (id, address) in (1..).map(MemberId).zip(addresses) {
        members.list.push(Member {
            id,
            name: format!("node-{id}"),
            peer_urls: vec![format!("https://{address}:2380")],
            is_learner: false,
        });
        members.health.insert(id, MemberHealth::Healthy);
    }
    Arc::new(members)
}

fn turn(machine: &str, action: TurnAction) -> Turn {
    Turn {
        action,
        ..turn_of(machine)
    }
}

/// A cluster with a control plane that another Machine created, behind an endpoint of its own.
fn beside(observed: Observed, change: impl FnOnce(&mut ObservedCluster)) -> Observed {
    with_cluster(observed, |cluster| {
        let endpoint = json!({ "controlPlaneEndpoint": { "host": "192.0.2.100" } });
        cluster.spec = Ok(serde_json::from_value(endpoint).expect("settings"));
        cluster.initialized_by = Some(OTHER.into());
        cluster.initialized_by_secret = Some(OTHER.into());
        cluster.other_control_planes = vec![ControlPlaneMachine {
            name: "cp-1".into(),
            address: Some(FIRST.into()),
            applied: None,
            leaves: false,
            look: LastLook::Idle,
            runs: None,
        }];
        cluster.etcd = Lookup::Known(etcd_at(&[FIRST]));
        change(cluster);
    })
}

/// A cluster with the member of this Machine, and another's.
pub(super) fn of_two(observed: Observed) -> Observed {
    beside(observed, |cluster| {
        cluster.etcd = Lookup::Known(etcd_at(&[OWN, FIRST]));
    })
}

fn unhealthy(addresses: &[&str], which: &str) -> Lookup<Arc<Members>> {
    let mut members = (*etcd_at(addresses)).clone();
    let id = members.at(which).expect("a member").id;
    members.health.remove(&id);
    Lookup::Known(Arc::new(members))
}

fn learner(addresses: &[&str], which: &str) -> Lookup<Arc<Members>> {
    let mut members = (*etcd_at(addresses)).clone();
    let mut learners = members.list.iter_mut();
    let learner = learners
        .find(|member| member.is_at(which))
        .expect("a member");
    (learner.is_learner, learner.name) = (true, String::new());
    Lookup::Known(Arc::new(members))
}

/// Case, change of the cluster, actions, reason, parts of the message.
type Case<'a> = (
    &'a str,
    fn(&mut ObservedCluster),
    &'a [Action],
    &'a str,
    &'a [&'a str],
);

#[test]
fn a_control_plane_joins_with_the_turn_and_while_etcd_allows_it() {
    let asks = [Action::AwaitRecord];
    let join = [Action::RunJob(JobKind::Join)];
    let cases: [Case; 10] = [
        ("the first to join", |_| (), &asks, "TakingTurn", &["join"]),
        (
            "the Cluster removes a member",
            |c| c.turn = Some(turn(&c.uid.clone(), TurnAction::Remove)),
            &asks,
            "WaitingForTurn",
            &["belongs to no Machine is being removed"],
        ),
        (
            "with the turn",
            |c| c.turn = Some(turn(ME, TurnAction::Join)),
            &join,
            "KubeadmJoin",
            &[],
        ),
        (
            "another joins",
            |c| c.turn = Some(turn(OTHER, TurnAction::Join)),
            &asks,
            "WaitingForTurn",
            &["Machine cp-1 joins", "one at a time"],
        ),
        (
            "a turn of the init that is over",
            |c| c.turn = Some(turn(OTHER, TurnAction::Init)),
            &asks,
            "TakingTurn",
            &[],
        ),
        (
            "no endpoint that outlives a machine",
            |c| c.spec = Ok(ClusterProviderSpec::default()),
            &[],
            "EndpointMissing",
            &["controlPlaneEndpoint", "delete this Machine"],
        ),
        (
            "etcd was not asked yet",
            |c| c.etcd = Lookup::NotYet("not asked".into()),
            &[],
            "EtcdUnreachable",
            &["not asked"],
        ),
        (
            "one of two is down",
            |c| c.etcd = unhealthy(&[FIRST, SECOND], SECOND),
            &[],
            "TooFewMembersAnswer",
            &["1 of 2", "Restore SSH"],
        ),
        (
            "one of three is down",
            |c| c.etcd = unhealthy(&[FIRST, SECOND, "192.0.2.23"], SECOND),
            &[],
            "QuorumAtRisk",
            &["prepared", "node-2"],
        ),
        (
            "another learns",
            |c| c.etcd = learner(&[FIRST, SECOND], SECOND),
            &[],
            "MemberChanging",
            &[SECOND],
        ),
    ];
    for (case, change, actions, reason, parts) in cases {
        let observed = beside(prepared(control_plane(), &[]), change);
        let says = ("BootstrapReady", reason, parts);
        expect(case, &plan(&observed, at(0)), actions, says);
    }
}

#[test]
fn what_an_attempt_to_join_left_is_removed_before_the_next_wipes_it() {
    let left = etcd_at(&[OWN]).list[0].clone();
    let mut started = left.clone();
    started.id = MemberId(2);
    started.name = "node-2".into();
    let mut begun = started.clone();
    (begun.is_learner, begun.name) = (true, String::new());
    let third = etcd_at(&[FIRST, SECOND, OWN]).list[2].clone();
    let [remove_started, remove_begun, remove_third] =
        [started, begun, third].map(|member| [Action::RemoveMember(member)]);
    let cases: [Case; 4] = [
        (
            "an attempt was cut before its member started",
            |c| {
                c.turn = Some(turn(ME, TurnAction::Join));
                c.etcd = learner(&[FIRST, OWN], OWN);
            },
            &remove_begun,
            "MemberChanging",
            &["an attempt to join left"],
        ),
        (
            "an attempt was cut after its member voted",
            |c| {
                c.turn = Some(turn(ME, TurnAction::Join));
                c.etcd = Lookup::Known(etcd_at(&[FIRST, OWN]));
            },
            &remove_started,
            "MemberChanging",
            &["an attempt to join left"],
        ),
        (
            "the same, and its member is down: it is not wiped while etcd counts on it",
            |c| {
                c.turn = Some(turn(ME, TurnAction::Join));
                c.etcd = unhealthy(&[FIRST, OWN], OWN);
            },
            &[],
            "TooFewMembersAnswer",
            &["cannot be removed yet"],
        ),
        (
            "the same beside two that are well: they are a majority without it",
            |c| {
                c.turn = Some(turn(ME, TurnAction::Join));
                c.etcd = unhealthy(&[FIRST, SECOND, OWN], OWN);
            },
            &remove_third,
            "MemberChanging",
            &["an attempt to join left"],
        ),
    ];
    for (case, change, actions, reason, parts) in cases {
        let observed = beside(prepared(control_plane(), &[]), change);
        let says = ("BootstrapReady", reason, parts);
        expect(case, &plan(&observed, at(0)), actions, says);
    }
}

#[test]
fn the_turn_of_a_join_is_returned_once_its_member_votes() {
    let of = |etcd: Lookup<Arc<Members>>| {
        let observed = beside(running(control_plane()), |c| {
            c.turn = Some(turn(ME, TurnAction::Join));
            c.etcd = etcd;
        });
        plan(&observed, at(0)).actions
    };
    let votes = etcd_at(&[FIRST, OWN]);
    let proof = MemberProof::of(ME, (&[OWN], &[]), &votes).expect("a proof");
    let ends = [Action::ReturnTurn(TurnIsOver::Member(proof))];
    let is_turn = |action: &Action| matches!(action, Action::ReturnTurn(_));
    let turns = |actions: Vec<Action>| actions.into_iter().filter(is_turn).collect::<Vec<_>>();
    assert_eq!(turns(of(Lookup::Known(votes))), ends);
    assert_eq!(turns(of(learner(&[FIRST, OWN], OWN))), []);
    assert_eq!(turns(of(Lookup::Unknown("silent".into()))), []);
    assert_eq!(turns(of(Lookup::Known(etcd_at(&[FIRST])))), []);
}

#[test]
fn the_turn_of_a_join_is_returned_also_where_its_node_is_not_seen() {
    let of = |state: UnitState, votes: bool, node: Lookup<Option<Arc<NodeView>>>| {
        let mut joined = prepared(control_plane(), &[(JobKind::Join, state)]);
        if let Placement::Held(held) = &mut joined.placement
            && let Contact::Seen(seen) = &mut held.contact
            && let Ownership::Owner(owner) = &mut seen.owner
        {
            owner.joined = true;
        }
        joined.node = node;
        let mut members = Members::clone(&etcd_at(&[OWN, FIRST, SECOND]));
        members.list[0].is_learner = !votes;
        let joined = beside(joined, |c| {
            c.turn = Some(turn(ME, TurnAction::Join));
            c.etcd = Lookup::Known(Arc::new(members));
        });
        let plan = plan(&joined, at(1));
        matches!(plan.actions.first(), Some(Action::ReturnTurn(_)))
    };
    let none = || Lookup::Known(None);
    let unread = || Lookup::Unknown("the API does not answer".into());
    assert!(of(UnitState::Succeeded, true, none()));
    assert!(of(UnitState::Succeeded, true, unread()));
    assert!(of(failure("a command failed"), true, none()));
    assert!(!of(UnitState::Succeeded, false, none()), "a learner");
}

#[test]
fn a_turn_is_not_kept_by_one_that_cannot_join() {
    let of = |change: fn(&mut ObservedCluster)| {
        let observed = beside(prepared(control_plane(), &[]), |c| {
            c.turn = Some(turn(ME, TurnAction::Join));
            change(c);
        });
        plan(&observed, at(0))
    };
    let returns = |plan: &Plan| {
        let member = |action: &Action| matches!(action, Action::ReturnTurn(TurnIsOver::Member(_)));
        plan.actions.iter().all(member) && plan.actions.len() == 1
    };
    let at_risk = of(|c| c.etcd = unhealthy(&[FIRST, SECOND, "192.0.2.23"], SECOND));
    assert!(returns(&at_risk), "{:?}", at_risk.actions);
    let older = of(|c| c.version = Some("v1.36.4".into()));
    assert!(returns(&older), "{:?}", older.actions);
    assert_eq!(finding(&older, "BootstrapReady").reason(), "VersionSkew");
}

#[test]
fn a_machine_in_trouble_whose_member_does_not_vote_yet_says_that_it_stops_every_change() {
    let silent = |etcd: Lookup<Arc<Members>>| {
        let mut observed = beside(prepared(control_plane(), &[]), |c| c.etcd = etcd);
        observed.own_address = Some(OWN.into());
        observed.placement = held(Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "failed to reach host-a over SSH.\nsecond line".into(),
        });
        finding(&plan(&observed, at(0)), "Ready").message()
    };
    let said = silent(learner(&[FIRST, OWN], OWN));
    let (first, rest) = said.split_once('\n').expect("two lines");
    let also = "over SSH. Its etcd member 192.0.2.11 was added and does not vote yet: until it does, no other control plane of Cluster a";
    assert!(first.contains(also), "{said}");
    assert!(
        first.contains("kubectl -n default delete machine"),
        "{said}"
    );
    assert_eq!(rest, "second line");
    for well in [
        Lookup::Known(etcd_at(&[FIRST, OWN])),
        learner(&[FIRST, SECOND], SECOND),
    ] {
        let said = silent(well);
        assert!(!said.contains("does not vote"), "{said}");
    }
}
