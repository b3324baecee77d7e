mod control_plane;
mod gated;
mod held_back;
mod in_place;
mod kstatus;
mod on_delete;
mod scaling;
mod sets;
mod status;
mod stuck;

use crate::Why;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::{self, Int};
use serde_json::json;

use super::*;
use crate::api::conditions::Status;
use crate::api::machine_deployment::{RollingUpdate, Strategy};
use crate::api::names::{
    ANNOTATION_DESIRED_REPLICAS, ANNOTATION_DISABLE_CREATE, ANNOTATION_MAX_REPLICAS,
    ANNOTATION_REVISION, ANNOTATION_REVISION_X, LABEL_CLUSTER, LABEL_MACHINE_DEPLOYMENT,
    LABEL_MACHINE_DEPLOYMENT_X, LABEL_TEMPLATE_HASH,
};
use crate::api::{MachineVersions, ProviderSpec};
use crate::machine_deployment::{Counts, ObservedSet};
use crate::machine_set::Owner;

const NEW: &str = "v1.36.3";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn template(version: &str) -> MachineTemplate {
    let mut template = MachineTemplate::default();
    template.metadata.labels.insert("pool".into(), "a".into());
    template.spec.versions = Some(MachineVersions {
        kubelet: version.into(),
        control_plane: None,
    });
    template
}

fn rolling(surge: IntOrString, unavailable: IntOrString) -> Strategy {
    let rolling_update = RollingUpdate {
        max_surge: Some(surge),
        max_unavailable: Some(unavailable),
    };
    Strategy {
        type_: StrategyType::RollingUpdate,
        rolling_update: Some(rolling_update),
        ..Strategy::default()
    }
}

/// A deployment of [`NEW`] with these sets.
fn deployment(replicas: i32, strategy: Strategy, sets: Vec<ObservedSet>) -> Observed {
    Observed {
        name: "md".into(),
        namespace: "default".into(),
        uid: "md".into(),
        labels: [].into(),
        replicas,
        min_ready_seconds: 0,
        revision_history_limit: 1,
        progress_deadline_seconds: 600,
        strategy,
        paused: false,
        paused_by: None,
        deleting: false,
        selector: LabelSelector {
            match_labels: Some([("pool".to_owned(), "a".to_owned())].into()),
            match_expressions: None,
        },
        template: template(NEW),
        provider_spec: Ok(json!({"kind": "X"})),
        gate: None,
        orphans: Vec::new(),
        taken: sets.iter().map(|set| set.name.clone()).collect(),
        work_since: Some(at(100)),
        sets,
    }
}

/// A set as its deployment of three would leave it: wanted, current and available Machines.
fn set(
    name: &str,
    version: &str,
    revision: i64,
    (wanted, current, available): (i32, i32, i32),
) -> ObservedSet {
    let mut template = template(version);
    template
        .metadata
        .labels
        .insert(LABEL_MACHINE_DEPLOYMENT.into(), "md".into());
    template
        .metadata
        .labels
        .insert(LABEL_TEMPLATE_HASH.into(), name.into());
    template.spec.provider_spec = ProviderSpec {
        value: Some(json!({"kind": "X"})),
        value_from: None,
    };
    let annotations = [ANNOTATION_REVISION, ANNOTATION_REVISION_X];
    let annotations = annotations.map(|key| (key.to_owned(), revision.to_string()));
    let mut labels = template.metadata.labels.clone();
    labels.insert(LABEL_MACHINE_DEPLOYMENT_X.into(), "md".into());
    ObservedSet {
        name: name.into(),
        uid: name.into(),
        created: at(revision),
        labels,
        annotations: annotations.into(),
        template,
        counts: Counts {
            wanted,
            current,
            ready: available,
            available,
            ..Counts::default()
        },
        last_progress: Some(at(100)),
        ..ObservedSet::default()
    }
}

fn old(name: &str, counts: (i32, i32, i32)) -> ObservedSet {
    set(name, "v1.35.0", 1, counts)
}

fn new(counts: (i32, i32, i32)) -> ObservedSet {
    set("new", NEW, 9, counts)
}

fn unhealthy(mut set: ObservedSet) -> ObservedSet {
    set.counts.unhealthy = set.counts.current - set.counts.available;
    set
}

fn deleting(mut set: ObservedSet, count: i32) -> ObservedSet {
    set.counts.deleting = count;
    set
}

fn marked(mut set: ObservedSet, count: i32) -> ObservedSet {
    set.marked = count;
    set
}

/// The replicas that a plan changes, as `name to`.
fn steps(plan: &Plan) -> Vec<String> {
    let steps = plan.actions.iter().filter_map(|action| match action {
        Action::UpdateSet(update) => update
            .replicas
            .map(|(_, to)| format!("{} {to}", update.name)),
        Action::CreateSet(set) => Some(format!("+ {}", set.replicas)),
        _ => None,
    });
    steps.collect()
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    plan.findings
        .iter()
        .find(|finding| finding.condition == condition)
        .expect("the finding")
}

fn update<'a>(plan: &'a Plan, name: &str) -> &'a SetUpdate {
    let found = plan.actions.iter().find_map(|action| match action {
        Action::UpdateSet(update) if update.name == name => Some(update),
        _ => None,
    });
    found.expect("an update of the set")
}

type Case = (
    &'static str,
    i32,
    (i32, i32),
    Vec<ObservedSet>,
    &'static [&'static str],
);

fn check(cases: Vec<Case>) {
    for (name, replicas, (surge, unavailable), sets, expected) in cases {
        let observed = deployment(replicas, rolling(Int(surge), Int(unavailable)), sets);
        let plan = plan(&observed, at(110));
        assert_eq!(steps(&plan), expected, "{name}: {:?}", plan.findings);
    }
}
