//! Whose node follows the settings of its Cluster next: one of a cluster does at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;

use crate::api::conditions::{ConditionType, is_true};
use crate::api::names::ANNOTATION_SETTINGS;
use crate::api::{ClusterProviderSpec, Machine};
use crate::machine::plan::update::waits_for_person;
use crate::settings;

/// The Machine of a Cluster whose node follows the settings next: one that has begun, else the
/// first by name of the control planes, else of the workers; before others one that can begin: its
/// Node is Ready, its versions run, and neither a pause nor something that a person has to mend is
/// in its way. Only one for which `is_ours` holds.
pub fn next_to_follow(
    machines: &[Arc<Machine>],
    spec: &ClusterProviderSpec,
    is_ours: impl Fn(&Machine) -> bool,
    is_paused: impl Fn(&Machine) -> bool,
) -> Option<Arc<Machine>> {
    // many have the same record
    let mut judged = BTreeMap::<&str, bool>::new();
    let mut behind = Vec::new();
    let stays = |machine: &&Arc<Machine>| machine.metadata.deletion_timestamp.is_none();
    for machine in machines.iter().filter(stays) {
        if let Some(text) = machine.annotations().get(ANNOTATION_SETTINGS) {
            let judge = || settings::behind(machine, spec).can_follow();
            if *judged.entry(text.as_str()).or_insert_with(judge) {
                behind.push(machine);
            }
        }
    }
    let ours = |machine: &&&Arc<Machine>| is_ours(machine);
    // of one whose edit was taken back and that cannot go back now, the others need not wait: they
    // had what they get
    let is_ready = |machine: &Machine| {
        let status = machine.status.as_ref();
        status.is_some_and(|status| is_true(&status.conditions, ConditionType::NodeHealthy))
    };
    let begun = behind.iter().find(|machine| {
        let of_edit = || !settings::behind(machine, spec).is_taken_back();
        settings::is_unfinished(machine) && (is_ready(machine) || of_edit())
    });
    let can_begin = |machine: &&&Arc<Machine>| {
        is_ready(machine)
            && machine.runs_other() == Some(false)
            && !waits_for_person(machine)
            && !is_paused(machine)
    };
    let rank = |machine: &&Arc<Machine>| (!machine.is_control_plane(), machine.name_any());
    let all = || behind.iter().filter(ours);
    // else one of those that cannot, so that never two begin
    let first = || all().filter(can_begin).min_by_key(|one| rank(one));
    let any = || all().min_by_key(|one| rank(one));
    let next = begun.filter(ours).or_else(first).or_else(any);
    next.map(|machine| Arc::clone(machine))
}
