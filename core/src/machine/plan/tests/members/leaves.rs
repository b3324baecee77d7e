//! A control plane that leaves: when it may, and the turn that it has meanwhile.

use super::*;
use crate::machine::observed::Stuck;
use crate::machine::{Released, must_ask_released};

#[test]
fn one_that_may_not_leave_yet_keeps_no_turn_from_those_in_its_way() {
    let three = &[OWN, FIRST, SECOND];
    let proof = MemberProof::of(ME, (&[OWN], &[]), &etcd_at(three)).expect("a proof");
    let ends = [Action::ReturnTurn(TurnIsOver::Member(proof))];
    for action in [TurnAction::Join, TurnAction::Upgrade, TurnAction::Remove] {
        let of = |etcd: Lookup<Arc<Members>>, holder: &str| {
            let observed = beside(deleted(running(control_plane()), at(0)), |c| {
                c.turn = Some(turn(holder, action));
                c.etcd = etcd;
            });
            plan(&ours(observed, Vec::new()), at(1))
        };
        let waits = of(unhealthy(three, FIRST), ME);
        assert_eq!(waits.actions, ends, "{action:?}");
        assert_eq!(finding(&waits, "Deleting").reason(), Reason::QuorumAtRisk);
        let other = of(unhealthy(three, FIRST), OTHER);
        assert_eq!(other.actions, [], "{action:?}");
        let down = of(Lookup::Unknown("nobody answers".into()), ME);
        assert_eq!(down.actions, [], "{action:?}");
    }
    let last = beside(deleted(running(control_plane()), at(0)), |c| {
        c.turn = Some(turn(ME, TurnAction::Remove));
        c.etcd = Lookup::Known(etcd_at(&[OWN]));
    });
    let stays = plan(&ours(last, Vec::new()), at(1));
    let returns = |action: &Action| matches!(action, Action::ReturnTurn(_));
    assert_eq!(
        finding(&stays, "Deleting").reason(),
        Reason::LastControlPlane
    );
    assert!(stays.actions.iter().any(returns), "{:?}", stays.actions);
}

#[test]
fn a_control_plane_leaves_after_its_drain_and_through_etcd() {
    let three = &[OWN, FIRST, SECOND];
    let member = etcd_at(three).list[0].clone();
    let (node, uid) = (|| "host-a".to_owned(), || "node".to_owned());
    let leave = [
        Action::Drain {
            node: node(),
            uid: uid(),
        },
        Action::AwaitVolumes { node: node() },
        Action::TakeTurn(TurnAction::Remove),
        Action::RemoveMember(member.clone()),
    ];
    let gone = etcd_at(&[FIRST, SECOND]);
    let proof = MemberProof::of(ME, (&[OWN], &[]), &gone).expect("a proof");
    let left = [
        leave[0].clone(),
        leave[1].clone(),
        Action::ReturnTurn(TurnIsOver::Member(proof)),
        Action::Release(Release::Now),
    ];
    let release = [leave[0].clone(), leave[1].clone(), left[3].clone()];
    let cases: [Case; 8] = [
        (
            "one of three",
            |c| c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND])),
            &leave,
            "Draining",
            &[],
        ),
        (
            "its member is removed, and it has the turn",
            |c| {
                c.etcd = Lookup::Known(etcd_at(&[FIRST, SECOND]));
                c.turn = Some(turn(ME, TurnAction::Remove));
            },
            &left,
            "Draining",
            &[],
        ),
        (
            "its member is removed",
            |c| c.etcd = Lookup::Known(etcd_at(&[FIRST, SECOND])),
            &release,
            "Draining",
            &[],
        ),
        (
            "another leaves",
            |c| {
                c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
                c.turn = Some(turn(OTHER, TurnAction::Remove));
            },
            &[],
            "WaitingForTurn",
            &["Machine cp-1 leaves"],
        ),
        (
            "another is down",
            |c| c.etcd = unhealthy(&[OWN, FIRST, SECOND], FIRST),
            &[],
            "QuorumAtRisk",
            &["node-1 stays", "node-2"],
        ),
        (
            "the last member",
            |c| c.etcd = Lookup::Known(etcd_at(&[OWN])),
            &[],
            "LastControlPlane",
            &["only copy"],
        ),
        (
            "no list",
            |c| c.etcd = Lookup::Unknown("nobody answers".into()),
            &[],
            "EtcdUnreachable",
            &["stays until", "nobody answers"],
        ),
        (
            "it is down itself, and the others are not",
            |c| c.etcd = unhealthy(&[OWN, FIRST, SECOND], OWN),
            &leave,
            "Draining",
            &[],
        ),
    ];
    for (case, change, actions, reason, parts) in cases {
        let observed = beside(deleted(running(control_plane()), at(0)), change);
        let says = ("Deleting", reason, parts);
        expect(case, &plan(&observed, at(1)), actions, says);
    }
    // with its Cluster nothing of that is asked
    let all = beside(deleted(running(control_plane()), at(0)), |c| {
        (c.deleting, c.workers_left) = (true, 0);
        c.etcd = Lookup::Unknown("nobody answers".into());
    });
    let says = ("Deleting", "Releasing", &[][..]);
    expect("all go", &plan(&all, at(1)), &[left[3].clone()], says);
}

#[test]
fn what_leaves_a_control_plane_without_a_record_says_how_that_is_recorded() {
    let of = |secret: Option<&str>| {
        beside(deleted(running(control_plane()), at(0)), |cluster| {
            cluster.initialized_by = None;
            cluster.initialized_by_secret = secret.map(Into::into);
            cluster.etcd = Lookup::NotYet("not asked".into());
            cluster.turn = Some(turn(ME, TurnAction::Remove));
        })
    };
    let parts = ["annotate cluster", "delete the Cluster"];
    for (case, secret, reason) in [
        ("none is left", None, "InitRecordMissing"),
        ("that on the Secret", Some(OTHER), "ControlPlaneInDoubt"),
    ] {
        expect(
            case,
            &plan(&of(secret), at(1)),
            &[],
            ("Deleting", reason, &parts),
        );
    }
}

/// As after a restore from before that Machine: etcd lists its member at the same address.
#[test]
fn a_member_stays_whose_host_shows_that_it_is_anothers() {
    let marker = Marker {
        machine: "cp-9".into(),
        uid: OTHER.into(),
        ..control_plane().marker
    };
    let joined = |marker| {
        Ownership::Owner(Owner {
            marker,
            initialized: false,
            joined: true,
        })
    };
    let seen = |owner| {
        says(Observation {
            owner,
            ..unmarked(Vec::new())
        })
    };
    let of = |releasing, contact, (why, strange): (Option<&str>, bool)| {
        let mut observed = beside(deleted(running(control_plane()), at(0)), |c| {
            c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
        });
        observed.placement = held(contact);
        if let Placement::Held(held) = &mut observed.placement {
            held.releasing = releasing;
            held.why = why.map(|reason| (reason.into(), "words".into()));
            held.strange = strange.then(|| "words".into());
        }
        plan(&observed, at(1))
    };
    let unreadable = || Ownership::Unreadable("{".into());
    let theirs = || joined(marker.clone());
    for releasing in [false, true] {
        for (contact, why, part) in [
            (
                seen(theirs()),
                (None, false),
                "its marker names Machine default/cp-9",
            ),
            (
                seen(unreadable()),
                (None, false),
                "its marker cannot be read ({)",
            ),
            (
                Contact::NotAsked,
                (Some("Orphaned"), true),
                "Host host-a: words",
            ),
            // it was seen before it fell silent
            (
                Contact::NotAsked,
                (Some("SshUnreachable"), true),
                "Host host-a: words",
            ),
        ] {
            let says = ("Deleting", "Orphaned", &["etcd member", part][..]);
            expect(part, &of(releasing, contact, why), &[], says);
        }
        let leaves = |contact, why| {
            let removes = |action: &Action| matches!(action, Action::RemoveMember(_));
            of(releasing, contact, why).actions.iter().any(removes)
        };
        let own = seen(joined(control_plane().marker));
        assert!(leaves(own, (None, true)), "as it is now");
        assert!(leaves(Contact::NotAsked, (Some("SshUnreachable"), false)));
    }
}

#[test]
fn a_released_host_is_asked_where_its_conditions_may_be_old() {
    let three = etcd_at(&[OWN, FIRST, SECOND]);
    let of = |listed: bool, limit: i64| {
        let limit = json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": limit } } });
        beside(
            edited(deleted(running(control_plane()), at(0)), &limit),
            |c| {
                let left = etcd_at(&[FIRST, SECOND]);
                c.etcd = Lookup::Known(if listed { three.clone() } else { left });
            },
        )
    };
    let silent = Some(Stuck::Silent(at(0)));
    for (case, (listed, limit), stuck, is_freed, asked) in [
        ("it is being reset", (false, 60), None, false, false),
        ("it was reset", (false, 60), None, true, true),
        ("its member is listed", (true, 60), None, false, true),
        ("it is silent", (false, 600), silent, false, false),
        ("without a limit", (false, 0), silent, false, false),
        ("its limit has passed", (false, 60), silent, false, true),
        ("retained", (false, 60), Some(Stuck::Retained), false, true),
        (
            "left alone",
            (false, 60),
            Some(Stuck::LeftAlone),
            true,
            false,
        ),
    ] {
        let host = Released {
            address: OWN,
            stuck,
            is_freed,
        };
        assert_eq!(
            must_ask_released(&of(listed, limit), host, at(60)),
            asked,
            "{case}"
        );
    }
}
