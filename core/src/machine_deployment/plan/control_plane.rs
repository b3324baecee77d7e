//! The next step of a RollingUpdate of a control plane. Its limits are one Machine
//! ([`Limits::of_control_plane`]); the Machines themselves see to it that etcd keeps its quorum,
//! and that the last one stays.
//!
//! What differs from workers: kubeadm renders the static pods of a join at the version that it has
//! recorded for the cluster, which rises with the first newer join. So from the first step on old
//! sets create none, and what they lost is made up from the current template. Where none is
//! available none is given up: one may be running `kubeadm init`.

use super::super::observed::ObservedSet;
use super::Limits;
use super::breaker;
use super::roll::{Roll, Target, Targets};
use super::rolling_update::{grow_current, lost_of_current, remove_unhealthy, shrink_old};
use crate::Why;
use crate::api::conditions::Reason;

/// Fewer members than this cannot miss one.
const REDUNDANT: i32 = 3;

/// The next step of a RollingUpdate of a control plane.
pub fn targets(roll: &Roll) -> Targets {
    let mut targets = Targets::unchanged(roll);
    if roll.current.is_some() {
        for target in &mut targets.old {
            let text = "what it lacks is created from the current template";
            target.set(target.staying(), text);
        }
    }
    let others_stay = targets.old.iter().any(|target| target.staying() > 0);
    let is_moving = roll.sets().any(ObservedSet::gives_away);
    if roll.current.is_some_and(ObservedSet::creates_none) && others_stay && !is_moving {
        // an edit was set back: it may create again, and others may have grown in place of what it
        // lacks
        let text = "what it lacks is created when there is room";
        targets.current.set(targets.current.staying(), text);
    }
    grow_current(roll, &mut targets, true);
    if let Some(refused) = refused(roll, &targets) {
        targets.refused = Some(Why::new(Reason::InvalidConfiguration, refused));
        return targets;
    }
    let is_rolling = targets.old.iter().any(|target| target.staying() > 0);
    if is_rolling && targets.available() == 0 {
        let text = "no Machine of this MachineDeployment is available, so no old one is deleted. Conditions ControlPlaneInitialized, ControlPlaneHealthy and EtcdHealthy of the Cluster say why. Only if ControlPlaneInitialized is not True, and the old Machine cannot get as far as kubeadm init, delete it yourself: where a control plane ran, its data may be needed";
        targets.waiting.push(text.into());
        return targets;
    }
    remove_unhealthy(roll, &mut targets);
    match lost_of_current(roll) {
        Some(reason) => targets.waiting.push(reason),
        None => shrink_old(roll, &mut targets),
    }
    if !targets.changes() {
        give_up_dead(&mut targets);
    }
    breaker::step(roll, &mut targets);
    targets
}

/// Nothing joins beside a dead member, so one is given up before the new one is there, while the
/// others are a majority.
fn give_up_dead(targets: &mut Targets) {
    // one without a Node is no member yet
    let members = |target: &Target| (target.staying() - target.counts.starting).max(0);
    let all: i32 = targets.all().map(members).sum();
    if targets.available() * 2 <= all {
        return;
    }
    if let Some(target) = targets.old.iter_mut().find(|old| old.unhealthy() > 0) {
        let to = target.staying() - 1;
        target.set(
            to,
            "one of its Machines is unhealthy, and none joins beside a dead member",
        );
    }
}

/// One or two control planes cannot be replaced without one more beside them.
fn refused(roll: &Roll, targets: &Targets) -> Option<String> {
    let Limits { surge, .. } = roll.limits;
    let replicas = roll.replicas();
    let is_rolling = targets.old.iter().map(Target::staying).sum::<i32>() > 0;
    (is_rolling && surge == 0 && replicas < REDUNDANT).then(|| {
        format!(
            "spec.strategy.rollingUpdate.maxSurge is 0, and a control plane of {replicas} cannot do without one while another is prepared; nothing is replaced, nor scaled down. Set maxSurge to 1, which needs a free Host; or spec.replicas to 3; or, if only versions changed, spec.strategy to {{type: InPlace}}"
        )
    })
}
