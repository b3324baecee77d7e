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
        Action::RemoveMember(member.clone()),
    ];
    let gone = etcd_at(&[FIRST, SECOND]);
    let proof = MemberProof::of(ME, (&[OWN], &[]), &gone).expect("a proof");
    let left = [
        Action::ReturnTurn(TurnIsOver::Member(proof)),
        leave[0].clone(),
        leave[1].clone(),
        Action::Release(Release::Now),
    ];
    let release = [leave[0].clone(), leave[1].clone(), left[3].clone()];
    let cases: [Case; 9] = [
        (
            "one of three, before it asks",
            |c| c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND])),
            &leave[..2],
            "Draining",
            &[],
        ),
        (
            "the same, with the turn",
            |c| {
                c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
                c.turn = Some(turn(ME, TurnAction::Remove));
            },
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
            &leave[..2],
            "Draining",
            &[],
        ),
    ];
    for (case, change, actions, reason, parts) in cases {
        let observed = beside(deleted(running(control_plane()), at(0)), change);
        let says = ("Deleting", reason, parts);
        expect(case, &plan(&observed, at(1)), actions, says);
    }
}

/// What it asks for once its plan was carried out, with the reasons of its deletion and its drain.
#[test]
fn one_that_is_drained_asks_once_and_is_drained_no_more_while_it_asks() {
    let of = |status: Value| {
        let observed = beside(deleted(running(control_plane()), at(0)), |c| {
            c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
        });
        edited(observed, &json!({ "status": status }))
    };
    let said = |plan: &Plan| {
        let findings = plan.findings.iter();
        let draining = findings.filter(|found| found.condition == ConditionType::Draining);
        let draining: Vec<_> = draining.map(Finding::reason).collect();
        let asks = plan.asks.map(|asks| asks.action);
        (asks, finding(plan, "Deleting").reason(), draining)
    };
    let time = "2027-01-15T08:00:00Z";
    let draining = |status: &str, reason: &str| {
        json!([{
            "type": "Draining", "status": status, "reason": reason, "message": "",
            "lastTransitionTime": time,
        }])
    };
    let remove = Some(TurnAction::Remove);
    let drains = of(json!({ "conditions": draining("True", "Draining") }));
    let first = plan(&drains, at(1));
    assert_eq!(first.actions.len(), 2);
    assert_eq!(first.asks, None);
    let (_, then) = after(&drains, &first, |_| (), at(1)).expect("it asks");
    assert_eq!(then.actions, []);
    let told = (remove, Reason::TakingTurn, vec![Reason::Drained]);
    assert_eq!(said(&then), told);
    for reason in ["Drained", "PodsUnconfirmed"] {
        let asks = of(json!({
            "lastUpdated": time, "recordedAt": time,
            "turnRequest": { "action": "remove", "since": time },
            "conditions": draining("False", reason),
        }));
        let waits = plan(&asks, at(1));
        assert_eq!(waits.actions, [], "{reason}");
        let told = (remove, Reason::TakingTurn, Vec::new());
        assert_eq!(said(&waits), told, "{reason}");
        let granted = beside(asks, |c| {
            c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
            c.turn = Some(turn(ME, TurnAction::Remove));
        });
        let granted = plan(&granted, at(1));
        let removes = |action: &Action| matches!(action, Action::RemoveMember(_));
        assert!(
            matches!(&*granted.actions, [one] if removes(one)),
            "{granted:?}"
        );
    }
    // a limit that has passed stays told, and no volume is waited for
    let mut limited = of(json!({ "conditions": draining("True", "Draining") }));
    let limit = json!({ "spec": { "deletion": { "nodeDrainTimeoutSeconds": 1 } } });
    limited = edited(limited, &limit);
    let late = plan(&limited, at(60));
    assert_eq!(late.actions, []);
    let told = (remove, Reason::TakingTurn, vec![Reason::DrainTimedOut]);
    assert_eq!(said(&late), told);
}

#[test]
fn with_its_cluster_a_control_plane_goes_without_asking_etcd() {
    let all = beside(deleted(running(control_plane()), at(0)), |c| {
        (c.deleting, c.workers_left) = (true, 0);
        c.etcd = Lookup::Unknown("nobody answers".into());
    });
    let says = ("Deleting", "Releasing", &[][..]);
    let release = [Action::Release(Release::Now)];
    expect("all go", &plan(&all, at(1)), &release, says);
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
    let parts = ["tatara cluster resolve", "delete the Cluster"];
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
            let asks = of(releasing, contact, why);
            asks.asks.or(asks.asks_then).is_some()
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
