//! What no plan ever does, whatever is known and however it came to be known.

mod proven;

use crate::api::conditions::Reason;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::node::Follow;
use proven::may;

/// Deleting, made by, whose turn, certificates ready, workers left.
type ClusterCase = (
    bool,
    Option<&'static str>,
    Option<&'static str>,
    bool,
    usize,
);

/// All that a plan looks at, as choices.
#[derive(Clone, Debug)]
struct Case {
    control_plane: bool,
    adopted: bool,
    deleting: bool,
    paused: bool,
    spec: &'static str,
    cluster: Option<ClusterCase>,
    placement: &'static str,
    owner: &'static str,
    units: Vec<(JobKind, &'static str)>,
    node: &'static str,
    had_node: bool,
    follows: bool,
    claiming: bool,
    limit: Option<i64>,
    excluded: bool,
    age: i64,
}

fn case() -> impl Strategy<Value = Case> {
    let who = || select(vec![None, Some(ME), Some(OTHER)]);
    let cluster = (any::<bool>(), who(), who(), any::<bool>(), 0..3_usize);
    let unit = (
        select(vec![JobKind::Prepare, JobKind::Init, JobKind::Join]),
        select(vec!["running", "succeeded", "failed", "interrupted"]),
    );
    let machine = (
        any::<bool>(),
        prop::bool::weighted(0.9),
        any::<bool>(),
        prop::bool::weighted(0.3),
        select(vec!["ssh", "ssh", "ssh", "invalid"]),
        prop::option::weighted(0.9, cluster),
    );
    let place = (
        select(vec![
            "free",
            "none",
            "seen",
            "seen",
            "seen",
            "silent",
            "not asked",
            "releasing",
            "reset",
            "missing",
            "lost",
        ]),
        select(vec![
            "me",
            "me",
            "me",
            "made",
            "nobody",
            "occupied",
            "machine",
            "management",
            "broken",
        ]),
        prop::collection::vec(unit, 0..3),
        select(vec!["none", "ready", "unknown"]),
    );
    let rest = (
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.1),
        select(vec![None, Some(60)]),
        prop::bool::weighted(0.2),
        select(vec![1, 1000]),
    );
    (machine, place, rest).prop_map(|(machine, place, rest)| Case {
        control_plane: machine.0,
        adopted: machine.1,
        deleting: machine.2,
        paused: machine.3,
        spec: machine.4,
        cluster: machine.5,
        placement: place.0,
        owner: place.1,
        units: place.2,
        node: place.3,
        had_node: rest.0,
        follows: rest.1,
        claiming: rest.2,
        limit: rest.3,
        excluded: rest.4,
        age: rest.5,
    })
}

fn machine_of(case: &Case) -> Observed {
    let mut observed = observed(case.control_plane);
    let mut change = json!({ "metadata": { "annotations": {} } });
    if !case.adopted {
        change["metadata"]["finalizers"] = json!([]);
    }
    if case.excluded {
        change["metadata"]["annotations"][ANNOTATION_EXCLUDE_DRAIN] = "".into();
    }
    if let Some(limit) = case.limit {
        change["spec"]["deletion"] =
            json!({ "nodeDrainTimeoutSeconds": limit, "hostReleaseTimeoutSeconds": limit });
    }
    observed = edited(observed, &change);
    if case.deleting {
        observed = deleted(observed, at(0));
    }
    if case.had_node {
        observed = had_node(observed);
    }
    if case.spec != "ssh" {
        observed.spec = Err(Why::new(Reason::InvalidConfiguration, "wrong"));
    }
    observed
}

fn observed_of(case: &Case) -> Observed {
    let mut observed = machine_of(case);
    observed.paused_by = case.paused.then(|| "Cluster a".into());
    match &case.cluster {
        None => observed.cluster = None,
        Some((deleting, initialized_by, turn, certificates, workers)) => {
            observed = with_cluster(observed, |cluster| {
                cluster.deleting = *deleting;
                cluster.initialized_by = initialized_by.map(Into::into);
                cluster.turn = turn.map(turn_of);
                cluster.certificates_ready = *certificates;
                cluster.workers_left = *workers;
            });
        }
    }
    observed.node = match case.node {
        "ready" => Lookup::Known(Some(Arc::new(node()))),
        "unknown" => Lookup::Unknown("the API does not answer".into()),
        _ => Lookup::Known(None),
    };
    if case.follows {
        observed.follow = Some(Follow {
            retried: None,
            job: Job::new(JobKind::Prepare, "m"),
            progress: None,
            since: at(0),
        });
    }
    placed(case, observed)
}

fn placed(case: &Case, mut observed: Observed) -> Observed {
    let refused = Why::new(
        Reason::NoHostAvailable,
        "1 host matches the selector: 1 claimed",
    );
    observed.placement = match case.placement {
        "free" => Placement::None(Ok("host-a".into())),
        "none" => Placement::None(Err(refused)),
        "silent" => held(Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "no answer".into(),
        }),
        "seen" => return seen_by(case, observed),
        "missing" => return lost(observed, Unheld::Missing),
        // its claim is edited away, and its host says what it says
        "lost" => {
            let seen = match seen_by(case, observed.clone()).placement {
                Placement::Held(held) => held.contact,
                Placement::None(_) => Contact::NotAsked,
            };
            return lost(observed, Unheld::Asked(seen));
        }
        "reset" => held(says(reset_of(ME))),
        _ => held(Contact::NotAsked),
    };
    match &mut observed.placement {
        Placement::Held(held) => {
            held.releasing = matches!(case.placement, "releasing" | "reset");
        }
        Placement::None(_) if case.claiming => observed.claiming = Some("host-a".into()),
        Placement::None(_) => (),
    }
    observed
}

fn seen_by(case: &Case, observed: Observed) -> Observed {
    let name = observed.marker.machine.clone();
    let mut owner = Owner {
        marker: marker(&name, ME),
        initialized: case.owner == "made",
        joined: false,
    };
    match case.owner {
        "machine" => owner.marker.uid = OTHER.into(),
        "management" => owner.marker.management = "another".into(),
        _ => (),
    }
    let owner = match case.owner {
        "nobody" | "occupied" => Ownership::Nobody,
        "broken" => Ownership::Unreadable("{".into()),
        _ => Ownership::Owner(owner),
    };
    let units = case.units.iter().map(|(name, state)| {
        let state = match *state {
            "running" => UnitState::Running(step("one")),
            "failed" => failure("no"),
            "interrupted" => UnitState::Interrupted(step("one")),
            _ => UnitState::Succeeded,
        };
        unit(&observed, *name, state)
    });
    let units = units.collect();
    let mut observed = on(observed, owner, units);
    if let (
        "occupied",
        Placement::Held(Infrastructure {
            contact: Contact::Seen(seen),
            ..
        }),
    ) = (case.owner, &mut observed.placement)
    {
        seen.occupied = vec![crate::node::Finding::from(
            "finding: kubelet: here".to_owned(),
        )];
    }
    observed
}

/// What waits says why, and who must do what.
fn says_why(plan: &Plan) -> Result<(), TestCaseError> {
    for finding in plan.findings.iter().filter(|f| f.condition != "Paused") {
        let says = finding.status == Status::True || !finding.message().is_empty();
        prop_assert!(says, "without a message: {finding:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_action_has_its_proof(case in case()) {
        let observed = observed_of(&case);
        let plan = plan(&observed, at(case.age));
        for action in &plan.actions {
            prop_assert!(may(&case, action), "{action:?} in {plan:#?}");
        }
        if case.paused {
            prop_assert!(plan.actions.is_empty());
        }
        if !case.deleting && case.spec != "ssh" {
            prop_assert!(plan.actions.is_empty());
        }
        // The last control-plane machine, and one whose workers are still there, stay.
        if case.cluster.is_some_and(|(deleting, by, turn, _, workers)| {
            let is_its = by == Some(ME) || turn == Some(ME);
            if deleting { workers > 0 && (is_its || case.control_plane) } else { by == Some(ME) }
        }) {
            let goes = |a: &Action| matches!(a, Action::Release(Release::Now) | Action::RemoveFinalizer(_));
            prop_assert!(!plan.actions.iter().any(goes));
        }
        let place = |wanted: fn(&Action) -> bool| plan.actions.iter().position(wanted);
        if let Some(drain) = place(|a| matches!(a, Action::Drain { .. })) {
            let volumes = place(|a| matches!(a, Action::AwaitVolumes { .. }));
            let release = place(|a| matches!(a, Action::Release(Release::Now)));
            prop_assert!(Some(drain) < volumes && volumes < release);
        }
    }

    #[test]
    fn what_waits_says_why(case in case()) {
        let observed = observed_of(&case);
        let plan = plan(&observed, at(case.age));
        says_why(&plan)?;
        let is_ours = !plan.hands_off && (case.adopted || !case.deleting);
        if plan.actions.is_empty() && is_ours && !case.paused {
            let ready = finding(&plan, "Ready");
            let waits = ready.status != Status::True;
            prop_assert!(!waits || ready.reason() != "Starting", "{plan:#?}");
        }
    }

    #[test]
    fn the_same_knowledge_gives_the_same_plan(case in case()) {
        let now = at(case.age);
        prop_assert_eq!(plan(&observed_of(&case), now), plan(&observed_of(&case), now));
    }
}
