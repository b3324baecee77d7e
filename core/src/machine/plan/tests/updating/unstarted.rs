//! A job of an update that cannot be started, as where the disk of its host is full.

use super::*;

const SAID: &str = "the disk is full. Free it. kubelet update could not be started (attempt 3)";

/// kubeadm's part is over, and the job for the kubelet could not be started three times.
fn unstarted(kubelet: Option<UnitState>) -> Observed {
    let mut jobs = vec![(JobKind::Upgrade, UnitState::Succeeded)];
    jobs.extend(kubelet.map(|state| (JobKind::Kubelet, state)));
    let attempts = Attempts {
        failed: 3,
        last: Some(at(0)),
        since: None,
        error: Some("why: the disk is full\ndo: Free it".into()),
    };
    let observed = with_cluster(old_worker(&jobs), |c| c.peers = Peers::default());
    Observed {
        attempts: [(JobKind::Kubelet, attempts)].into(),
        ..observed
    }
}

/// What it did before does not matter: an earlier update, or one whose work somebody has undone,
/// went before.
#[test]
fn a_job_of_an_update_that_cannot_be_started_says_so_and_waits_between_attempts() {
    let with_others = |state: UnitState| {
        let mut observed = unstarted(Some(state));
        let kubelet = observed.marker.job(JobKind::Kubelet);
        let Placement::Held(held) = &mut observed.placement else {
            panic!("a host")
        };
        let Contact::Seen(seen) = &mut held.contact else {
            panic!("it answers")
        };
        for unit in seen.units.iter_mut().filter(|unit| unit.job == kubelet) {
            unit.identity = "another".into();
        }
        observed
    };
    for (case, observed) in [
        ("never run", unstarted(None)),
        ("an earlier update", with_others(UnitState::Succeeded)),
        ("that failed", with_others(failure("no"))),
        ("undone", unstarted(Some(UnitState::Succeeded))),
    ] {
        let waits = plan(&observed, at(0));
        let says = ("Updating", "UpdateFailed", &[SAID][..]);
        expect(case, &waits, &[], says);
        assert_ne!(waits.next, Next::OnChange, "{case}");
        let again = plan(&observed, at(60));
        let run = [Action::RunJob(JobKind::Kubelet)];
        expect(case, &again, &run, says);
    }
}

/// The condition is read back while the job is being started, with what was added to it.
#[test]
fn what_a_failed_update_leaves_is_said_once_while_it_is_tried_again() {
    let cordoned = format!(
        "{SAID}\nNode host-a is cordoned meanwhile; it takes pods again when the update has ended, also when what was edited is set back"
    );
    let cordon = |observed: &mut Observed| {
        node_is(observed, |node| {
            node.unschedulable = true;
            node.annotations
                .insert(ANNOTATION_CORDONED.into(), "true".into());
        });
    };
    let mut waits = unstarted(None);
    cordon(&mut waits);
    assert_eq!(
        finding(&plan(&waits, at(0)), "Updating").message(),
        cordoned
    );
    let told = json!({ "status": { "conditions": [{
        "type": "Updating", "status": "True", "reason": "UpdateFailed", "message": cordoned,
        "lastTransitionTime": at(0).to_string(),
    }] } });
    let mut starts = edited(waits, &told);
    starts.placement = held(Contact::NotAsked);
    starts.follow = Some(Follow {
        job: starts.marker.job(JobKind::Kubelet),
        progress: None,
        since: at(0),
        retried: None,
    });
    let said = plan(&starts, at(0));
    assert_eq!(finding(&said, "Updating").message(), cordoned);
}
