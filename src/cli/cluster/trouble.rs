//! What is wrong with the records of a Cluster. Pure.

use kube::ResourceExt;

use super::known::Known;
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::control_plane::turn::Doubt;
use tatara_core::shown::MadeThere;
use tatara_core::words::word;

/// What is wrong with the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Cluster and CA Secret contradict each other.
    Doubt(Doubt),
    /// They agree, and the hosts of these Machines say that `kubeadm init` succeeded there, too.
    MadeTwice(Vec<String>),
    /// Neither has a record, and this shows that there may be a control plane.
    Unrecorded(String),
    /// An object reports a doubt that what is read now does not show.
    Reported {
        /// Kind and name.
        of: String,
        /// Reason and message.
        says: String,
    },
}

/// What is wrong with the records, if anything is.
pub fn trouble(known: &Known) -> Option<Trouble> {
    let both = known.marks();
    if let Some(doubt) = both.doubt() {
        return Some(Trouble::Doubt(doubt));
    }
    let recorded = known.records();
    if recorded.is_empty() {
        return unrecorded(known)
            .map(Trouble::Unrecorded)
            .or_else(|| reported(known));
    }
    let twice = known.control_planes().filter_map(|machine| {
        let candidate = known.candidate(machine.metadata.uid.as_deref()?);
        let is_so = candidate.made_there() == Some(MadeThere::ByAnother) && !candidate.is_recorded;
        is_so.then_some(candidate.uid)
    });
    let twice: Vec<String> = twice.collect();
    if twice.is_empty() {
        reported(known)
    } else {
        Some(Trouble::MadeTwice(twice))
    }
}

/// What shows that there may be a control plane, where none is recorded. Not while the one that may
/// run `kubeadm init` is the only one for which anything was begun.
fn unrecorded(known: &Known) -> Option<String> {
    let holders = known.holders();
    if let Some(later) = holders.iter().find(|turn| turn.is_later()) {
        return Some(format!(
            "the control-plane turn is Machine {}'s for {}, which comes after kubeadm init",
            word(&later.name),
            later.action.as_str()
        ));
    }
    let has_turn = |uid: &str| holders.iter().any(|turn| turn.machine == uid);
    let all = known.candidates();
    let mut others = all.iter().filter(|candidate| !has_turn(&candidate.uid));
    let other = others.find(|candidate| candidate.is_begun() || candidate.shows_init);
    let by = other.map(|candidate| {
        if candidate.shows_init {
            format!(
                "the host of {} shows that kubeadm init succeeded there",
                candidate.called()
            )
        } else {
            format!("kubeadm was started for {}", candidate.called())
        }
    });
    by.or_else(|| {
        let worker = known.joined_worker()?;
        Some(format!(
            "kubeadm was started for worker {worker}, so there was a control plane to join"
        ))
    })
}

/// What an object reports that is not seen, for example because it is about to be reported anew.
fn reported(known: &Known) -> Option<Trouble> {
    let is_doubt = |reason: &str| {
        Reason::parse(reason)
            .is_some_and(|reason| reason.is_doubt() || reason == Reason::InitRecordMissing)
    };
    let status = known.cluster.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice());
    let own = find(
        conditions.unwrap_or_default(),
        ConditionType::ControlPlaneInitialized,
    );
    if let Some(own) = own.filter(|own| is_doubt(&own.reason)) {
        return Some(Trouble::Reported {
            of: format!("Cluster {}", known.name()),
            says: format!("{}: {}", own.reason, own.message),
        });
    }
    known.control_planes().find_map(|machine| {
        let status = machine.status.as_ref()?;
        let mut conditions = status.conditions.iter();
        let said = conditions.find(|condition| is_doubt(&condition.reason))?;
        Some(Trouble::Reported {
            of: format!("Machine {}", machine.name_any()),
            says: format!("{}: {}", said.reason, said.message),
        })
    })
}
