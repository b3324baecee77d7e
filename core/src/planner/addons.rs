//! Which control plane runs kubeadm's phase for its addons, once all of them run the version to
//! which they are brought.

use kube::ResourceExt;

use crate::api::Machine;
use crate::api::conditions::{ConditionType, is_true};
use crate::kubeadm::KubernetesVersion;
use crate::machine::AddonsDue;
use crate::machine::peer_versions::runs;

/// What a Machine has to do about the addons, which are `due` to this version: the first by name of
/// the control planes that are ready and run it brings them to it; the others have nothing to do.
pub fn of<'a>(
    machine: &Machine,
    due: &str,
    control_planes: impl IntoIterator<Item = &'a Machine>,
) -> Option<AddonsDue> {
    let version: KubernetesVersion = due.parse().ok()?;
    let mut machines: Vec<&Machine> = control_planes.into_iter().collect();
    machines.sort_by_key(|machine| machine.name_any());
    let runs = |machine: &Machine| runs(machine)?.parse::<KubernetesVersion>().ok();
    let follows = |machine: &Machine| runs(machine).is_some_and(|runs| runs >= version);
    let runs_the_job = |machine: &&&Machine| {
        let status = machine.status.as_ref();
        let is_ready = status.is_some_and(|s| is_true(&s.conditions, ConditionType::NodeHealthy));
        is_ready && machine.metadata.deletion_timestamp.is_none() && follows(machine)
    };
    let first = machines.iter().find(runs_the_job)?;
    let waits_for = machines.iter().find(|machine| !follows(machine));
    (first.uid() == machine.uid()).then(|| AddonsDue {
        version: due.to_owned(),
        waits_for: waits_for.map(|machine| machine.name_any()),
    })
}
