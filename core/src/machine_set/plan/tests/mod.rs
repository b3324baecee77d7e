mod kstatus;
mod members;
mod number;
mod records;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::sync::Arc;

use super::*;
use crate::api::conditions::{Reason, Status};
use crate::api::machine::MachineDeletion;
use crate::api::machine_set::DeletePolicy;
use crate::api::names::{ANNOTATION_DELETE_MACHINE, ANNOTATION_PAUSED, LABEL_MACHINE_SET};
use crate::machine_set::{Gate, Seed};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn labels() -> std::collections::BTreeMap<String, String> {
    [("pool".to_owned(), "a".to_owned())].into()
}

fn set(replicas: i32) -> Observed {
    let mut set = Observed {
        name: "ms".into(),
        uid: "set".into(),
        replicas,
        selector: LabelSelector {
            match_labels: Some(labels()),
            match_expressions: None,
        },
        ..Observed::default()
    };
    set.template.metadata.labels = labels();
    set
}

/// An available Machine of the set.
fn machine(name: &str) -> ObservedMachine {
    let mut labels = labels();
    labels.insert(LABEL_MACHINE_SET.into(), "ms".into());
    ObservedMachine {
        name: name.into(),
        uid: name.into(),
        created: at(0),
        labels,
        ready_since: Some(at(0)),
        has_node: true,
        ..ObservedMachine::default()
    }
}

fn with(mut set: Observed, machines: impl IntoIterator<Item = ObservedMachine>) -> Observed {
    set.machines.extend(machines.into_iter().map(Arc::new));
    set
}

fn created(plan: &Plan) -> Vec<&str> {
    let names = plan.actions.iter().filter_map(|action| match action {
        Action::Create { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn deleted(plan: &Plan) -> Vec<&str> {
    let names = plan.actions.iter().filter_map(|action| match action {
        Action::Delete { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    plan.findings
        .iter()
        .find(|finding| finding.condition == condition)
        .expect("the finding")
}

#[test]
fn a_gate_holds_back_creation_and_nothing_else() {
    let gate = Gate {
        reason: Reason::VersionSkew,
        message: "the control plane is being upgraded".into(),
    };
    let mut observed = set(2);
    observed.gate = Some(gate);
    let up = plan(&observed, at(0));
    assert_eq!(up.actions, []);
    let finding = finding(&up, "ScalingUp");
    assert_eq!(
        (finding.status, finding.reason()),
        (Status::True, Reason::VersionSkew)
    );
    assert!(
        finding
            .message()
            .ends_with("the control plane is being upgraded")
    );
    observed.replicas = 0;
    assert_eq!(
        deleted(&plan(&with(observed, [machine("ms-0")]), at(0))),
        ["ms-0"]
    );
}

#[test]
fn the_annotation_of_on_delete_holds_back_creation() {
    for (value, made) in [("true", 0), ("", 0), ("false", 1)] {
        let mut observed = set(1);
        observed
            .annotations
            .insert(ANNOTATION_DISABLE_CREATE.into(), value.into());
        assert_eq!(created(&plan(&observed, at(0))).len(), made, "{value:?}");
    }
}

#[test]
fn nothing_is_done_while_paused_or_in_deletion_but_counted_all_the_same() {
    let mut paused = with(set(3), [machine("ms-0")]);
    paused.paused_by = Some("Cluster c".into());
    let plan_paused = plan(&paused, at(0));
    assert_eq!(
        (plan_paused.actions.len(), plan_paused.counts.replicas),
        (0, 1)
    );
    let message = &finding(&plan_paused, "Paused").message();
    assert!(message.starts_with("Cluster c") && message.contains(ANNOTATION_PAUSED));
    let deleting = Observed {
        deleting: true,
        ..with(set(3), [machine("ms-0")])
    };
    assert_eq!(plan(&deleting, at(0)).actions, []);
}

#[test]
fn a_machine_that_cannot_be_read_counts_and_is_left_alone() {
    let unreadable = ObservedMachine {
        unreadable: true,
        ready_since: None,
        ..machine("ms-0")
    };
    let mut observed = with(set(2), [unreadable, machine("ms-1")]);
    let enough = plan(&observed, at(10));
    assert_eq!(created(&enough), Vec::<&str>::new());
    assert_eq!((enough.counts.replicas, enough.counts.available), (2, 1));
    observed.replicas = 1;
    assert_eq!(deleted(&plan(&observed, at(10))), ["ms-1"]);
    observed.replicas = 0;
    assert_eq!(deleted(&plan(&observed, at(10))), ["ms-1"]);
    observed
        .template
        .metadata
        .labels
        .insert("new".into(), "label".into());
    let written = plan(&observed, at(10)).actions;
    let touched = |action: &&Action| !matches!(action, Action::Delete { .. });
    let written: Vec<_> = written.iter().filter(touched).collect();
    assert!(matches!(written[..], [Action::UpdateInPlace { name, .. }] if name == "ms-1"));
    let mut orphan = observed.clone();
    Arc::make_mut(&mut orphan.machines[0]).owner = Owner::Orphan;
    let adopts = |action: &Action| matches!(action, Action::Adopt { .. });
    assert!(!plan(&orphan, at(10)).actions.iter().any(adopts));
}
