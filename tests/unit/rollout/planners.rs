//! What holds for one plan, whatever it is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tatara_core::Why;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use tatara_core::api::conditions::Reason;
use tatara_core::api::machine_deployment::StrategyType;
use tatara_core::api::machine_set::DeletePolicy;
use tatara_core::api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_DESIRED_REPLICAS, ANNOTATION_MOVES_TO,
    ANNOTATION_REVISION,
};
use tatara_core::api::{MachineTemplate, ProviderSpec};
use tatara_core::machine_deployment::plan::{Action, Limits, Plan, plan};
use tatara_core::machine_deployment::{Counts, Observed, ObservedSet};
use tatara_core::machine_set::plan::Action as SetAction;
use tatara_core::machine_set::{self, Gate, ObservedMachine, Owner};

use crate::rollout::simulation::{in_place, on_delete, rolling, versions};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn template(version: usize) -> MachineTemplate {
    let mut template = MachineTemplate::default();
    template.metadata.labels = labels();
    template.spec.versions = Some(versions(&format!("v1.36.{version}")));
    template.spec.provider_spec = ProviderSpec {
        value: Some(json!({})),
        value_from: None,
    };
    template
}

fn be_control_plane(template: &mut MachineTemplate) {
    let versions = template.spec.versions.get_or_insert_default();
    versions.control_plane = Some(versions.kubelet.clone());
}

fn labels() -> BTreeMap<String, String> {
    [("pool".to_owned(), "a".to_owned())].into()
}

fn selector() -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels()),
        match_expressions: None,
    }
}

/// A set of one of three templates, with any counters that can be.
fn set() -> impl Strategy<Value = ObservedSet> {
    let machines = (0..4, 0..4, 0..3, 0..3, 0..3);
    let rest = (
        0..9,
        0..3_i32,
        0..3_usize,
        0..5_i64,
        proptest::option::of(0..9),
        0..8,
    );
    (machines, rest).prop_map(
        |(machines, (wanted, deleting, version, revision, desired, gone))| {
            let (available, settling, unhealthy, starting, not_ready) = machines;
            let mut annotations =
                BTreeMap::from([(ANNOTATION_REVISION.to_owned(), revision.to_string())]);
            annotations.extend(
                desired
                    .map(|count: i32| (ANNOTATION_DESIRED_REPLICAS.to_owned(), count.to_string())),
            );
            ObservedSet {
                created: at(revision),
                deleting: gone == 0,
                annotations,
                template: template(version),
                counts: Counts {
                    wanted,
                    current: available + settling + unhealthy + starting + not_ready,
                    ready: available + settling,
                    available,
                    unhealthy,
                    starting,
                    deleting,
                },
                last_progress: Some(at(100)),
                lagging: gone == 1,
                ..ObservedSet::default()
            }
        },
    )
}

fn deployment() -> impl Strategy<Value = Observed> {
    let numbers = (
        0..9,
        0..4,
        0..4,
        0..4_u8,
        0..6_u8,
        0..6_u8,
        0..3_u8,
        0..3_u8,
    );
    (numbers, proptest::collection::vec(set(), 0..5)).prop_map(
        |((replicas, surge, unavailable, how, paused, unresolved, role, gate), mut sets)| {
            let mut wanted = template(0);
            for (at, set) in sets.iter_mut().enumerate() {
                set.name = format!("set-{at}");
                set.uid.clone_from(&set.name);
            }
            if role == 0 {
                let templates = sets.iter_mut().map(|set| &mut set.template);
                templates.chain([&mut wanted]).for_each(be_control_plane);
            }
            let strategy = match how {
                0 => on_delete(),
                1 => in_place(Int(unavailable)),
                _ => rolling(Int(surge), Int(unavailable)),
            };
            let missing = Why::new(Reason::MachineClassMissing, String::new());
            Observed {
                name: "md".into(),
                namespace: "default".into(),
                uid: "md".into(),
                labels: BTreeMap::new(),
                replicas,
                min_ready_seconds: 0,
                revision_history_limit: 1,
                progress_deadline_seconds: 600,
                strategy,
                paused: paused == 0,
                paused_by: None,
                deleting: false,
                selector: selector(),
                template: wanted,
                provider_spec: if unresolved == 0 {
                    Err(missing)
                } else {
                    Ok(json!({}))
                },
                gate: (gate == 0).then(|| Gate {
                    reason: Reason::VersionSkew,
                    message: String::new(),
                }),
                orphans: Vec::new(),
                taken: BTreeSet::new(),
                work_since: Some(at(100)),
                sets,
            }
        },
    )
}

/// What a plan makes of the sets: for each its counters and its new number.
fn outcome(observed: &Observed, plan: &Plan) -> Vec<(Counts, i32)> {
    let sets = observed.sets.iter().filter(|set| !set.deleting);
    let mut outcome: BTreeMap<&str, (Counts, i32)> = sets
        .map(|set| (set.name.as_str(), (set.counts, set.counts.wanted)))
        .collect();
    for action in &plan.actions {
        match action {
            Action::UpdateSet(update) => {
                let to = update.replicas.map(|(_, to)| to);
                let entry = outcome.get_mut(update.name.as_str()).expect("the set");
                entry.1 = to.unwrap_or(entry.1);
            }
            Action::CreateSet(new) => {
                outcome.insert("new", (Counts::default(), new.replicas));
            }
            Action::DeleteSet { .. } | Action::AdoptSet { .. } | Action::AdoptMachine { .. } => {}
        }
    }
    outcome.into_values().collect()
}

/// Available Machines when every set has come to its number, as sets do: the worst go first.
fn available(sets: &[(Counts, i32)]) -> i32 {
    sets.iter()
        .map(|(counts, to)| counts.available.min(*to).max(0))
        .sum()
}

/// Machines that the sets shall have.
fn sum(sets: &[(Counts, i32)]) -> i32 {
    sets.iter().map(|(_, to)| *to).sum()
}

/// Machines that there may be until then.
fn most(sets: &[(Counts, i32)]) -> i32 {
    sets.iter()
        .map(|(counts, to)| counts.current.max(counts.wanted).max(*to))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_goes_below_or_above_what_there_must_and_may_be(observed in deployment(), late in any::<bool>()) {
        let plan = plan(&observed, at(if late { 900 } else { 110 }));
        let replicas = observed.wanted();
        let mut limits = Limits::of(&observed.strategy, replicas).expect("limits");
        if observed.is_control_plane() {
            limits = limits.of_control_plane();
        }
        let (minimum, maximum) = (limits.min_available(replicas), limits.max_total(replicas));
        let sets = outcome(&observed, &plan);
        let before: Vec<(Counts, i32)> = sets.iter().map(|(counts, _)| (*counts, counts.wanted)).collect();
        let (had, has) = (available(&before), available(&sets));
        prop_assert!(has >= had.min(minimum), "{has} of {had} available, {minimum} must be: {plan:?}");
        let counts = observed.sets.iter().map(|set| (set.deleting, set.counts));
        let leaving: i32 = counts
            .map(|(gone, counts)| counts.deleting + if gone { counts.current } else { 0 })
            .sum();
        // Under OnDelete a Machine is replaced as soon as it is told to go.
        let replaces_at_once = observed.strategy.type_ == StrategyType::OnDelete
            && !observed.paused && observed.provider_spec.is_ok();
        let leaving = if replaces_at_once { 0 } else { leaving };
        let moves = plan.actions.iter().any(|action| match action {
            Action::UpdateSet(update) => update.annotations.get(ANNOTATION_MOVES_TO).is_some_and(Option::is_some),
            _ => false,
        });
        // what moves is not created
        let counted = if moves { sum } else { most };
        let (had, has) = (counted(&before) + leaving, counted(&sets) + leaving);
        prop_assert!(has <= had.max(maximum), "{has} Machines, {maximum} may be: {plan:?}");
        prop_assert!(sets.iter().all(|(_, to)| *to >= 0));
    }

    #[test]
    fn every_change_of_a_number_has_its_reason_in_the_condition(observed in deployment()) {
        let plan = plan(&observed, at(110));
        let all: Vec<String> = plan.findings.iter().map(tatara_core::api::conditions::Finding::message).collect();
        let all = all.join("\n");
        for action in &plan.actions {
            if let Action::UpdateSet(update) = action && update.replicas.is_some() {
                prop_assert!(!update.because.is_empty());
                for reason in &update.because {
                    prop_assert!(observed.provider_spec.is_err() || all.contains(reason.as_str()), "{reason}: {all}");
                }
            }
        }
    }
}

fn machine(index: usize) -> impl Strategy<Value = ObservedMachine> {
    let state = (0..6_u8, 0..5_u8, 0..6_u8, 0..100_i64, any::<u32>());
    state.prop_map(move |(health, owner, other, age, uid)| {
        let mut machine = ObservedMachine {
            name: format!("ms-{index}"),
            uid: uid.to_string(),
            created: at(age),
            labels: labels(),
            owner: [
                Owner::Ours,
                Owner::Ours,
                Owner::Ours,
                Owner::Orphan,
                Owner::Other,
            ][usize::from(owner)],
            has_node: true,
            ..ObservedMachine::default()
        };
        match health {
            0 => machine.failed = true,
            1 => machine.has_node = false,
            2 => {}
            3 => machine.ready_since = Some(at(195)),
            _ => machine.ready_since = Some(at(0)),
        }
        match other {
            0 => machine.deleting = Some(at(50)),
            1 => drop(
                machine
                    .annotations
                    .insert(ANNOTATION_DELETE_MACHINE.into(), "yes".into()),
            ),
            _ => {}
        }
        machine
    })
}

fn machine_set_of() -> impl Strategy<Value = machine_set::Observed> {
    let machines: Vec<_> = (0..10).map(machine).collect();
    (
        machines,
        0..10,
        0..3_usize,
        proptest::sample::subsequence((0..10).collect::<Vec<usize>>(), 0..10),
    )
        .prop_map(|(machines, replicas, policy, kept)| machine_set::Observed {
            name: "ms".into(),
            uid: "set".into(),
            replicas,
            min_ready_seconds: 10,
            delete_policy: [
                DeletePolicy::Random,
                DeletePolicy::Newest,
                DeletePolicy::Oldest,
            ][policy],
            selector: selector(),
            template: template(0),
            machines: kept
                .into_iter()
                .map(|at| Arc::new(machines[at].clone()))
                .collect(),
            ..machine_set::Observed::default()
        })
}

fn is_available(machine: &ObservedMachine) -> bool {
    machine.ready_since == Some(at(0)) && !machine.failed
}

fn is_marked(machine: &ObservedMachine) -> bool {
    machine.annotations.contains_key(ANNOTATION_DELETE_MACHINE)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_comes_to_its_number_in_one_plan_and_gives_up_nothing_available_for_something_worse(
        observed in machine_set_of(),
    ) {
        let plan = machine_set::plan::plan(&observed, at(200));
        let live: Vec<&ObservedMachine> = observed
            .machines
            .iter()
            .map(AsRef::as_ref)
            .filter(|machine: &&ObservedMachine| machine.owner != Owner::Other && machine.deleting.is_none())
            .collect();
        let mut made = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for action in &plan.actions {
            match action {
                SetAction::Create { name, .. } => {
                    prop_assert!(observed.machines.iter().all(|machine| machine.name != *name), "{name} is taken");
                    prop_assert!(made.insert(name.clone()));
                }
                SetAction::Delete { name, .. } | SetAction::Move { name, .. } => prop_assert!(gone.insert(name.clone())),
                SetAction::Adopt { .. } | SetAction::UpdateInPlace { .. } => {}
            }
        }
        let replicas = usize::try_from(observed.replicas).expect("not negative");
        prop_assert_eq!(live.len() + made.len() - gone.len(), replicas);
        prop_assert!(made.is_empty() || gone.is_empty());
        let worse_is_kept = live.iter().any(|machine| !gone.contains(&machine.name) && !is_available(machine));
        let good_is_gone = live.iter().any(|machine| {
            gone.contains(&machine.name) && is_available(machine) && !is_marked(machine)
        });
        prop_assert!(!(worse_is_kept && good_is_gone), "{:?}", plan.actions);
        prop_assert_eq!(plan, machine_set::plan::plan(&observed, at(200)));
    }
}
