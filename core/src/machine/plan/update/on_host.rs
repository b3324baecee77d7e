//! What a host shows of the jobs of an update.

use super::super::super::observed::{Contact, Observed, Placement};
use super::super::{Plan, job};
use super::ends::is_unwell;
use super::versions::{control_plane, is_other, runs_other};
use crate::kubeadm::KubernetesVersion;
use crate::node::{JobKind, Observation, PlannedUnit, UPGRADE_STEP, UnitState, UnitStatus};

/// The Machine, and what its host shows.
pub(super) struct OnHost<'a> {
    pub(super) observed: &'a Observed,
    pub(super) seen: &'a Observation,
}

impl OnHost<'_> {
    pub(super) fn job(&self, kind: JobKind) -> Option<&UnitStatus> {
        self.seen.job(&self.observed.marker.job(kind))
    }

    pub(super) fn runs(&self, kind: JobKind) -> bool {
        self.seen.runs(&self.observed.marker.job(kind))
    }

    /// A job that runs comes to its end, also where something else is wanted by now.
    pub(super) fn runs_on(&self, unit: &PlannedUnit, mut plan: Plan) -> Plan {
        let job = self.job(unit.kind);
        if job.is_some_and(|job| job.identity != unit.identity) {
            for finding in &mut plan.findings {
                finding.reword(format!(
                    "{}; what was edited since follows when this attempt has ended",
                    finding.message()
                ));
            }
        }
        plan
    }

    /// It was begun, and did not succeed.
    pub(super) fn broke_off(&self, kind: JobKind) -> bool {
        let job = self.job(kind);
        job.is_some_and(|job| !job.has_succeeded())
    }

    /// It has succeeded, with these steps.
    pub(super) fn is_done(&self, unit: &PlannedUnit) -> bool {
        job::of_unit(self.observed, unit).is_done(self.job(unit.kind))
    }

    /// The kubelet that is installed is the one that is wanted.
    pub(super) fn has_kubelet(&self) -> bool {
        let installed = self.seen.versions.kubelet.as_deref();
        let wanted = self.observed.machine.versions();
        let wanted = wanted.map(|versions| versions.kubelet.as_str());
        let parse = |version: Option<&str>| version?.parse::<KubernetesVersion>().ok();
        parse(installed) == parse(wanted)
    }

    /// Nothing else brings back the API that kubeadm and a drain need: the kubelet was being
    /// replaced, and no Node is read.
    pub(super) fn needs_kubelet_first(&self) -> bool {
        let is_behind = control_plane(self.observed).as_ref().is_some_and(is_other);
        self.broke_off(JobKind::Kubelet) && self.observed.known_node().is_none() && !is_behind
    }

    /// A job that did not succeed may have stopped its member.
    pub(super) fn may_have_stopped(&self) -> bool {
        self.is_half_upgraded() || self.broke_off(JobKind::Kubelet)
    }

    /// The same, also of an earlier attempt, of which the last one says nothing.
    pub(super) fn is_half_done(&self) -> bool {
        self.may_have_stopped() || self.broke_off(JobKind::Upgrade)
    }

    /// kubeadm has not changed its static pods, or its settings alone, with which they serve.
    pub(super) fn is_whole(&self) -> bool {
        let serves = || runs_other(self.observed) == Some(false) && !is_unwell(self.observed);
        !self.is_half_upgraded() || serves()
    }

    /// kubeadm may have changed the static pods, and has not succeeded.
    pub(super) fn is_half_upgraded(&self) -> bool {
        let step = self.job(JobKind::Upgrade).and_then(|job| match &job.state {
            UnitState::Running(at) | UnitState::Interrupted(at) => Some(&at.step),
            UnitState::Failed(failure) => Some(&failure.at.step),
            UnitState::Succeeded => None,
        });
        step.is_some_and(|step| step == UPGRADE_STEP)
    }
}

/// Whether a job of an update runs, or has broken off where it may have stopped the member of its
/// machine.
pub(super) fn is_under_way(observed: &Observed, seen: &Observation) -> bool {
    let host = OnHost { observed, seen };
    host.runs(JobKind::Upgrade) || host.may_have_stopped()
}

/// Whether a job on its host broke off that may have stopped its member.
pub fn may_have_stopped(observed: &Observed) -> bool {
    on_host(observed).is_some_and(|host| host.may_have_stopped())
}

pub(super) fn on_host(observed: &Observed) -> Option<OnHost<'_>> {
    let Placement::Held(held) = &observed.placement else {
        return None;
    };
    match &held.contact {
        Contact::Seen(seen) => Some(OnHost { observed, seen }),
        _ => None,
    }
}
