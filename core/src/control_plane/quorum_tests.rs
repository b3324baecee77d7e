use proptest::prelude::*;

use super::super::members::MemberHealth;
use super::*;

/// Members by one letter each: `+` healthy, `-` unhealthy, `?` of no Machine, so that it is not
/// asked, `l` a learner, `u` a learner that has not started, `v` a voter that has not started
/// (neither has a name), `c` a healthy one that raised CORRUPT, `n` the same with NOSPACE. Their
/// IDs are 1, 2, 3...
fn members(letters: &str) -> Members {
    let mut members = Members::default();
    for (id, letter) in (1..).map(MemberId).zip(letters.chars()) {
        let is_started = !matches!(letter, 'u' | 'v');
        members.list.push(Member {
            id,
            name: if is_started {
                format!("m{id}")
            } else {
                String::new()
            },
            peer_urls: vec![format!("https://10.0.0.{id}:2380")],
            is_learner: matches!(letter, 'l' | 'u'),
        });
        let health = match letter {
            '-' => Some(MemberHealth::Unhealthy("it does not answer".into())),
            '?' | 'u' | 'v' => None,
            _ => Some(MemberHealth::Healthy),
        };
        members.health.extend(health.map(|health| (id, health)));
        let alarm = match letter {
            'c' => Some("CORRUPT"),
            'n' => Some("NOSPACE"),
            _ => None,
        };
        members
            .alarms
            .extend(alarm.map(|alarm| (id, alarm.to_owned())));
    }
    members
}

#[test]
fn what_etcd_allows() {
    use Change::{Add, Remove, Restart};
    let table = [
        // add: those of Cluster API, and what is under way
        ("+", Add, "ok"),
        ("-", Add, "TooFewMembersAnswer"),
        ("++", Add, "ok"),
        ("+-", Add, "TooFewMembersAnswer"),
        ("+++", Add, "ok"),
        ("++-", Add, "QuorumAtRisk"),
        ("++?", Add, "QuorumAtRisk"),
        ("++++", Add, "ok"),
        ("+++-", Add, "ok"),
        ("++--", Add, "TooFewMembersAnswer"),
        ("+++++", Add, "ok"),
        ("+++--", Add, "QuorumAtRisk"),
        ("+l", Add, "MemberChanging"),
        ("++u", Add, "MemberChanging"),
        ("++v", Add, "MemberChanging"),
        ("+c+", Add, "EtcdCorrupt"),
        ("+n+", Add, "EtcdNoSpace"),
        ("", Add, "TooFewMembersAnswer"),
        ("?", Add, "TooFewMembersAnswer"),
        ("+?", Add, "TooFewMembersAnswer"),
        ("???", Add, "TooFewMembersAnswer"),
        ("+++?", Add, "ok"),
        ("l", Add, "TooFewMembersAnswer"),
        // remove the first
        ("+", Remove(MemberId(1)), "LastControlPlane"),
        ("-", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("++", Remove(MemberId(1)), "ok"),
        ("-+", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("+-", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("+++", Remove(MemberId(1)), "ok"),
        ("-++", Remove(MemberId(1)), "ok"),
        ("?++", Remove(MemberId(1)), "ok"),
        ("++-", Remove(MemberId(1)), "QuorumAtRisk"),
        ("--+", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("++++", Remove(MemberId(1)), "ok"),
        ("-+++", Remove(MemberId(1)), "ok"),
        ("+++-", Remove(MemberId(1)), "ok"),
        ("--++", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("+++++", Remove(MemberId(1)), "ok"),
        ("++++-", Remove(MemberId(1)), "ok"),
        ("+++--", Remove(MemberId(1)), "QuorumAtRisk"),
        ("-+++-", Remove(MemberId(1)), "ok"),
        // what never voted may always go, and is all that may go meanwhile
        ("u+", Remove(MemberId(1)), "ok"),
        ("l+", Remove(MemberId(1)), "ok"),
        ("u++", Remove(MemberId(1)), "ok"),
        ("u-", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("v++", Remove(MemberId(1)), "ok"),
        ("v+", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("++u", Remove(MemberId(1)), "MemberChanging"),
        ("++l", Remove(MemberId(1)), "MemberChanging"),
        ("uu+", Remove(MemberId(1)), "MemberChanging"),
        ("+u", Remove(MemberId(1)), "MemberChanging"),
        ("l", Remove(MemberId(1)), "TooFewMembersAnswer"),
        // one that belongs to no Machine: it counts, and leaves as one that is dead
        ("?", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("?+", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("?+++", Remove(MemberId(1)), "ok"),
        ("??+++", Remove(MemberId(1)), "ok"),
        ("?-++", Remove(MemberId(1)), "TooFewMembersAnswer"),
        ("?-+++", Remove(MemberId(1)), "ok"),
        ("?++u", Remove(MemberId(1)), "MemberChanging"),
        ("++?", Remove(MemberId(1)), "QuorumAtRisk"),
        ("c++", Remove(MemberId(1)), "EtcdCorrupt"),
        ("?c+", Remove(MemberId(1)), "EtcdCorrupt"),
        ("?n+", Remove(MemberId(1)), "ok"),
        ("+n-", Remove(MemberId(1)), "QuorumAtRisk"),
        ("+n+", Remove(MemberId(2)), "ok"),
        // a Machine whose member is not listed (any more)
        ("++", Remove(MemberId(9)), "MemberUnknown"),
        ("", Remove(MemberId(1)), "MemberUnknown"),
        // restart the first
        ("+", Restart(MemberId(1)), "ok"),
        ("++", Restart(MemberId(1)), "ok"),
        ("-+", Restart(MemberId(1)), "TooFewMembersAnswer"),
        ("+++", Restart(MemberId(1)), "ok"),
        ("-++", Restart(MemberId(1)), "ok"),
        ("++-", Restart(MemberId(1)), "QuorumAtRisk"),
        ("++++", Restart(MemberId(1)), "ok"),
        ("+++-", Restart(MemberId(1)), "QuorumAtRisk"),
        ("+++++", Restart(MemberId(1)), "ok"),
        ("++++-", Restart(MemberId(1)), "ok"),
        ("+++--", Restart(MemberId(1)), "QuorumAtRisk"),
        ("++u", Restart(MemberId(1)), "MemberChanging"),
        ("++n", Restart(MemberId(1)), "EtcdNoSpace"),
        ("+c+", Restart(MemberId(1)), "EtcdCorrupt"),
        ("l+", Restart(MemberId(1)), "MemberChanging"),
        ("++?", Restart(MemberId(1)), "QuorumAtRisk"),
        ("+++?", Restart(MemberId(1)), "QuorumAtRisk"),
        ("++", Restart(MemberId(9)), "MemberUnknown"),
    ];
    for (letters, change, expected) in table {
        let found = permits(&members(letters), change);
        let found = found.map_err(|obstacle| obstacle.reason().as_str());
        assert_eq!(
            found.err().unwrap_or("ok"),
            expected,
            "{letters} {change:?}"
        );
    }
}

#[test]
fn an_obstacle_names_who_is_in_the_way_and_what_helps() {
    let message = |letters, change| permits(&members(letters), change).map_err(|o| o.message());
    assert_eq!(
        message("+-", Change::Add).unwrap_err(),
        "only 1 of 2 etcd members answers the manager, and 2 are needed before it changes the control plane (m2: it does not answer). etcd itself has its quorum: it confirmed this list. Restore SSH to the hosts of these members, or start them. Do not follow docs/day-2.md#lost-quorum"
    );
    assert_eq!(
        message("++?", Change::Remove(MemberId(1))).unwrap_err(),
        "etcd would have 1 of 2 members healthy, and needs 2, because of m3: it belongs to no Machine of this Cluster, so it is not asked. Start those members. If a server is lost for good, delete its Machine; of a member without a Machine, condition EtcdHealthy of the Cluster says when it is removed, or how"
    );
    assert_eq!(
        message("++u", Change::Add).unwrap_err(),
        "etcd member 10.0.0.3 was added and does not vote yet, and members change one at a time. If that lasts, delete the Machine that has it: the member is then removed. If none has it, condition EtcdHealthy of the Cluster has the command"
    );
}

proptest! {
    /// Whatever is allowed leaves more than half of the voters healthy, as far as it can: an added
    /// one may not start.
    #[test]
    fn nothing_that_is_allowed_gives_the_quorum_away(letters in "[-+?luvcn]{1,7}", id in 1_u64..8) {
        let before = members(&letters);
        let (id, voters) = (MemberId(id), before.voters().count());
        let healthy = healthy_without(&before, None);
        for change in [Change::Add, Change::Remove(id), Change::Restart(id)] {
            if permits(&before, change).is_err() {
                continue;
            }
            prop_assert!(is_quorum(healthy, voters));
            let mut after = before.clone();
            match change {
                Change::Add if voters > 1 => {
                    let id = MemberId(99);
                    after.list.push(Member { id, name: "m99".into(), ..Member::default() });
                }
                Change::Remove(id) => after.list.retain(|member| member.id != id),
                Change::Restart(id) if voters > 2 => {
                    after.health.remove(&id);
                }
                Change::Add | Change::Restart(_) => {}
            }
            prop_assert!(is_quorum(healthy_without(&after, None), after.voters().count()), "{letters} {change:?}");
        }
    }
}

#[test]
fn the_leadership_goes_to_the_first_other_that_votes_and_serves() {
    let none = Err("no other etcd member is healthy".to_owned());
    for (letters, leader, leaving, expected) in [
        ("+++", Some(1), 1, Ok(Some(MemberId(2)))),
        ("+++", Some(2), 2, Ok(Some(MemberId(1)))),
        ("+-+", Some(1), 1, Ok(Some(MemberId(3)))),
        ("+l+", Some(1), 1, Ok(Some(MemberId(3)))),
        ("+?-", Some(1), 1, none.clone()),
        ("+", Some(1), 1, none),
        ("+++", Some(2), 1, Ok(None)),
        ("+++", None, 1, Ok(None)),
        ("+++", Some(9), 9, Ok(None)),
    ] {
        let members = Members {
            leader: leader.map(MemberId),
            ..members(letters)
        };
        let found = successor(&members, MemberId(leaving));
        assert_eq!(found, expected, "{letters}, led by {leader:?}");
    }
}
