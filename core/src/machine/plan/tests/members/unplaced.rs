//! A control plane without a place: nothing shows whose the member is that has the name of its
//! Node.

use super::*;

/// As after a restore, its member may be that of its successor, whose Node has the name of the same
/// Host.
#[test]
fn without_a_place_no_member_goes_whatever_a_person_says_of_the_server() {
    let named = json!({ "status": { "nodeRef": { "name": "node-1" } } });
    let gone = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let of = |is_down: bool, is_gone: bool, now: Unheld| {
        let mut members = Members::clone(&etcd_at(&[OWN, FIRST, SECOND]));
        if is_down {
            let dead = MemberHealth::Unhealthy("no route to host".into());
            members.health.insert(members.list[0].id, dead);
        }
        let mut lost = edited(running(control_plane()), &named);
        lost.placement = Placement::None(Ok("host-b".into()));
        lost.claims = Vec::new();
        lost.own_address = None;
        lost.chosen = Some(HostChoice {
            host: "host-a".into(),
            now,
        });
        let lost = beside(deleted(lost, at(0)), |c| {
            c.etcd = Lookup::Known(Arc::new(members));
        });
        plan(&if is_gone { edited(lost, &gone) } else { lost }, at(1))
    };
    let shows = |owner: Ownership| {
        Unheld::Asked(Contact::Seen(Box::new(Observation {
            owner,
            ..unmarked(Vec::new())
        })))
    };
    let silent = || {
        Unheld::Asked(Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "no route".into(),
        })
    };
    let theirs = || {
        shows(Ownership::Owner(Owner {
            marker: Marker {
                machine: "cp-9".into(),
                uid: OTHER.into(),
                ..control_plane().marker
            },
            initialized: false,
            joined: true,
        }))
    };
    let removes = |plan: &Plan| {
        let mut actions = plan.actions.iter();
        actions.any(|action| matches!(action, Action::RemoveMember(_)))
    };
    for (case, (is_down, is_gone), now, expected) in [
        ("nobody says", (true, false), Unheld::Missing, "NotReset"),
        ("nobody says", (true, false), silent(), "NotReset"),
        ("it serves", (false, true), Unheld::Missing, "Finishing"),
        ("it serves", (false, true), silent(), "Finishing"),
        ("it is down", (true, true), silent(), "Finishing"),
        ("another's", (false, false), theirs(), "NotReset"),
        ("another's, gone", (false, true), theirs(), "Finishing"),
    ] {
        let plan = of(is_down, is_gone, now);
        assert!(!removes(&plan), "{case}: {:?}", plan.actions);
        let deleting = finding(&plan, "Deleting").reason();
        assert_eq!(deleting.as_str(), expected, "{case}");
    }
}
