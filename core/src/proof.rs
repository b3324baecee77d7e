//! Evidence that nothing of a Machine runs any more where it ran. Pure.
//!
//! That no Host shows a claim, that a Node is missing or that nothing answers is no evidence.
//! Whatever cannot be undone takes one of these as an argument, so that the compiler asks for it:
//!
//! | act | takes | made from |
//! |---|---|---|
//! | a host is freed, a Machine claims another | [`Clean`] | reset, installed anew, never started |
//! | the control-plane turn is returned | [`Ended`] | these, powered off, ended at the gateway, the user's act, simulated |
//! | the Node is deleted, the finalizer removed | [`Over`] | these, the user's time limit, kubelet stopped for good |
//! | a later turn (join, removal) is returned | [`MemberProof`] | a list of etcd's members that the quorum confirmed |
//!
//! These three can only be created from a [`Proof`]. Its constructors take what was read; where one
//! takes a `bool`, the caller has determined it, and the comment of the constructor says what it
//! means.

use serde::Serialize;

use crate::control_plane::Members;
use crate::node::{JobKind, LAST_OF_RESET, Marker, Observation, Ownership, UnitState};
use crate::power::PowerState;

/// Why nothing of a Machine runs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Evidence {
    /// The record on the host shows that Tatara's reset of this Machine succeeded: its last step
    /// removes the marker, after all else was checked.
    Reset,
    /// The host answers from an operating system that we installed after its release.
    Reinstalled,
    /// The host has no marker, unit, kubelet or etcd data of this Machine, and kubeadm was never
    /// started for it.
    NeverStarted,
    /// Its BMC reports, in a live query, that the host is off.
    PoweredOff,
    /// Its gateway reports, in a live query, that the virtual machine and its disks do not exist.
    VirtualMachineDeleted,
    /// The user wrote `tatara.dev/host-is-gone` with the UID of this Machine.
    UserSaysGone,
    /// A simulated machine, which exists in the manager's memory only, and ends with the manager at
    /// the latest.
    Simulated,
    /// The time limit `hostReleaseTimeoutSeconds`, an act of the user that was given before, has
    /// passed.
    TimeLimit,
    /// The kubelet is stopped and disabled, no process of a pod runs, and the data is kept as
    /// `wipePolicy: retain` says.
    KubeletStopped,
}

/// Evidence about one Machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    machine: String,
    evidence: Evidence,
}

/// The user's annotation, where it counts.
#[derive(Clone, Copy, Debug)]
pub struct HostIsGone<'a> {
    /// Its value: the UID of a Machine.
    pub value: &'a str,
    /// The Machine of that UID holds the turn or a claim; otherwise the annotation is ignored.
    pub counts: bool,
}

impl Proof {
    /// From the state of a host, read live. `begun`: kubeadm was started for the Machine, according
    /// to records elsewhere; a host that lost its disk shows no trace either, and may get its disk
    /// back.
    ///
    /// # Errors
    /// Why the host proves nothing, as a message.
    pub fn of_host(marker: &Marker, begun: bool, seen: &Observation) -> Result<Self, String> {
        let proven = |evidence| {
            Ok(Self {
                machine: marker.uid.clone(),
                evidence,
            })
        };
        match &seen.owner {
            Ownership::Owner(owner) if owner.marker.is_same_machine(marker) => {
                return Err("its marker names this Machine, so it was not reset".into());
            }
            Ownership::Unreadable(_) => {
                return Err(
                    "its marker /var/lib/tatara/owner.json cannot be read; inspect it on the host"
                        .into(),
                );
            }
            Ownership::Owner(_) | Ownership::Nobody => (),
        }
        let reset = seen.job(&marker.job(JobKind::Reset));
        // the last step removes the marker, and nothing else does
        let is_reset = reset.is_some_and(|unit| match &unit.state {
            UnitState::Succeeded => true,
            UnitState::Interrupted(at) => at.index == at.total && at.step == LAST_OF_RESET,
            UnitState::Running(_) | UnitState::Failed(_) => false,
        });
        let is_foreign = matches!(seen.owner, Ownership::Owner(_));
        let is_empty = seen.occupied.is_empty() || is_foreign;
        let has_units = seen.units.iter().any(|unit| unit.job.key == marker.uid);
        if is_reset && is_empty {
            return proven(Evidence::Reset);
        }
        if reset.is_some() {
            return Err("its reset has not ended".into());
        }
        if has_units {
            return Err(
                "it has steps of this Machine but no marker; inspect /var/lib/tatara on the host"
                    .into(),
            );
        }
        if begun {
            return Err(
                "kubeadm was started for this Machine, and the host has neither a marker nor a record of its reset, for example because its disk was replaced"
                    .into(),
            );
        }
        proven(Evidence::NeverStarted)
    }

    /// A Machine that never chose a place, and for which nothing was begun.
    pub fn of_no_place(machine_uid: &str, is_begun: bool) -> Option<Self> {
        Self::when(!is_begun, machine_uid, Evidence::NeverStarted)
    }

    /// A host that answers from the operating system which was installed on it after this Machine
    /// had released it.
    pub fn of_installation(machine_uid: &str, wanted: &str, seen: &Observation) -> Option<Self> {
        let is_new = seen.installation.as_deref() == Some(wanted);
        let is_empty = seen.owner == Ownership::Nobody && seen.occupied.is_empty();
        Self::when(is_new && is_empty, machine_uid, Evidence::Reinstalled)
    }

    /// From the power state of its host, read live from the BMC.
    pub fn of_power(machine_uid: &str, power: PowerState) -> Option<Self> {
        Self::when(power == PowerState::Off, machine_uid, Evidence::PoweredOff)
    }

    /// What its gateway answered, just now, to the request to delete its virtual machine.
    pub fn of_gateway<E>(machine_uid: &str, deleted: &Result<(), E>) -> Option<Self> {
        let evidence = Evidence::VirtualMachineDeleted;
        Self::when(deleted.is_ok(), machine_uid, evidence)
    }

    /// The user's explicit act, if it is about this Machine and counts.
    pub fn of_user(machine_uid: &str, says: HostIsGone<'_>) -> Option<Self> {
        let is_about = says.counts && says.value == machine_uid;
        Self::when(is_about, machine_uid, Evidence::UserSaysGone)
    }

    /// A simulated machine that is not in the manager's memory (any more).
    pub fn of_simulation(machine_uid: &str, is_in_memory: bool) -> Option<Self> {
        Self::when(!is_in_memory, machine_uid, Evidence::Simulated)
    }

    /// The user's time limit. Whether it has passed is the caller's to compute.
    pub fn of_time_limit(machine_uid: &str, has_passed: bool) -> Option<Self> {
        Self::when(has_passed, machine_uid, Evidence::TimeLimit)
    }

    /// A host with `wipePolicy: retain`, whose kubelet is stopped and disabled, and which runs no
    /// process of a pod.
    pub fn of_retained(machine_uid: &str, is_retained: bool) -> Option<Self> {
        Self::when(is_retained, machine_uid, Evidence::KubeletStopped)
    }

    fn when(holds: bool, machine_uid: &str, evidence: Evidence) -> Option<Self> {
        holds.then(|| Self {
            machine: machine_uid.to_owned(),
            evidence,
        })
    }

    /// Why.
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }
}

macro_rules! accepted {
    ($(#[$doc:meta])* $name:ident: $($evidence:ident)|+) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct $name(Proof);

        impl $name {
            /// From evidence that is accepted for it.
            pub fn from(proof: &Proof) -> Option<Self> {
                matches!(proof.evidence, $(Evidence::$evidence)|+).then(|| Self(proof.clone()))
            }

            /// Whether it is about the Machine of this UID.
            pub fn is_about(&self, machine_uid: &str) -> bool {
                self.0.machine == machine_uid
            }

            /// Why.
            pub fn evidence(&self) -> Evidence {
                self.0.evidence
            }
        }
    };
}

accepted! {
    /// Nothing of the Machine is on the host: it may be handed out, and the Machine may claim
    /// another.
    Clean: Reset | Reinstalled | NeverStarted
}
accepted! {
    /// Nothing of the Machine runs, and nothing of it will: the turn may be given to another.
    Ended: Reset | Reinstalled | NeverStarted | PoweredOff | VirtualMachineDeleted | UserSaysGone | Simulated
}
accepted! {
    /// The Machine is over: its Node and its finalizer may be removed. Its host may have to stay
    /// quarantined.
    Over: Reset | Reinstalled | NeverStarted | PoweredOff | VirtualMachineDeleted | UserSaysGone | Simulated | TimeLimit | KubeletStopped
}

impl Clean {
    /// The same, for the turn of the Machine of this UID.
    pub fn ended(&self, machine_uid: &str) -> Option<Ended> {
        Ended::from(&self.0).filter(|ended| ended.is_about(machine_uid))
    }
}

/// Evidence that a Machine created the control plane of a Cluster, if neither object records it any
/// more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitProof(Marker);

impl InitProof {
    /// From the state of a host, read live: its marker, which names the Cluster and a Machine,
    /// records that `kubeadm init` succeeded, and the host has the key of the Cluster's present CA.
    /// A Cluster that was created again under the same name has another CA.
    pub fn of_host(management: &str, authority: Option<&str>, seen: &Observation) -> Option<Self> {
        let Ownership::Owner(owner) = &seen.owner else {
            return None;
        };
        let has_key = authority.is_some() && seen.authority.as_deref() == authority;
        let is_made = owner.initialized && owner.marker.management == management;
        (is_made && has_key).then(|| Self(owner.marker.clone()))
    }

    /// The Machine, and its Cluster.
    pub fn by(&self) -> &Marker {
        &self.0
    }
}

/// Evidence about the etcd member of a Machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberProof {
    machine: String,
    state: MemberState,
}

/// The state of a member, according to a list that the quorum confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum MemberState {
    /// It has started, and votes.
    Votes,
    /// No member is at the address of the Machine.
    NotListed,
}

impl MemberProof {
    /// Of the member that has one of these addresses or names, from a list that was read after the
    /// turn was taken. `None` if it is on its way: a learner, or not started.
    pub fn of(
        machine_uid: &str,
        (addresses, names): (&[&str], &[&str]),
        members: &Members,
    ) -> Option<Self> {
        let state = match members.of(addresses, names) {
            None => MemberState::NotListed,
            Some(member) if member.is_started() && !member.is_learner => MemberState::Votes,
            Some(_) => return None,
        };
        Some(Self {
            machine: machine_uid.to_owned(),
            state,
        })
    }

    /// The state of the member.
    pub fn state(&self) -> MemberState {
        self.state
    }
}

/// Why the control-plane turn of a Machine may be returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum TurnIsOver {
    /// The control plane is recorded as initialised: there is no second init, whichever Machine has
    /// the turn.
    Recorded,
    /// Nothing of the Machine runs, or will.
    Proven(Ended),
    /// What a later turn is for has ended: its etcd member votes, or is removed.
    Member(MemberProof),
    /// The Machine with this UID does not exist, and its turn is a later one: etcd itself guards
    /// what it was for.
    Vacant(String),
}

impl TurnIsOver {
    /// Whether it may be returned for the Machine of this UID.
    pub fn is_about(&self, machine_uid: &str) -> bool {
        match self {
            Self::Recorded => true,
            Self::Proven(ended) => ended.is_about(machine_uid),
            Self::Member(proof) => proof.machine == machine_uid,
            Self::Vacant(uid) => uid == machine_uid,
        }
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
