//! What a plan for a Machine consists of.

use k8s_openapi::jiff::Timestamp;

use super::Plan;
use crate::api::conditions::Finding;
use crate::control_plane::Member;
use crate::node::JobKind;
use crate::proof::{Clean, Over, TurnIsOver};
use crate::{Next, Reports};

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Action {
    /// Write our finalizer and the resolved spec on the Machine; and, once there is one, the host
    /// that it chose, with its provider ID.
    Adopt {
        /// Name of the host, or of the simulated machine.
        host: Option<String>,
    },
    /// Perform one step of acquiring a place, or one that is due while it is held.
    Acquire(Acquire),
    /// Switch what it runs on.
    Power(Power),
    /// Write the ownership marker on the host.
    TakeHost,
    /// Start the Machine's job of this kind on the host, or attach to it.
    RunJob(JobKind),
    /// Have another control plane hold the virtual IP, before this one leaves.
    GiveAddress,
    /// Take the turn of kubeadm init by compare-and-swap.
    TakeTurn,
    /// Wait until kubeadm's record of the cluster lets a control plane join, before it asks for the
    /// turn.
    AwaitRecord,
    /// Remove this member from etcd, if it is still allowed by then. Leadership is moved to another
    /// member before.
    RemoveMember(Member),
    /// Wait until the components of the control plane on its machine serve; they are asked now.
    AwaitComponents,
    /// Return the control-plane turn.
    ReturnTurn(TurnIsOver),
    /// Remove from the Cluster that kubeadm's addons are to follow to this version, if that still
    /// stands there.
    EndAddons(String),
    /// Record the settings of its node on the Machine.
    RecordSettings {
        /// What is recorded.
        record: String,
        /// Its node begins to follow those of the Cluster, as the only one.
        begins: bool,
    },
    /// Record on the Cluster and its CA Secret that the control plane exists.
    RecordInitialized,
    /// Set labels, annotations and taints of the Node according to the Machine's spec.
    UpdateNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Cordon the Node and evict its pods.
    Drain {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Wait until no volume is attached to the Node.
    AwaitVolumes {
        /// Name of the Node.
        node: String,
    },
    /// Wait until the hooks that hold the release are removed; the finding names them.
    AwaitHooks(Finding),
    /// Uncordon the Node, if it was cordoned by Tatara.
    UncordonNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Release the host or virtual machine.
    Release(Release),
    /// Delete the Node, if it is still this one.
    DeleteNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
        /// Nothing of the Machine runs any more.
        over: Over,
    },
    /// Delete the Node of a Machine that does not exist, if it is still this one, and not Ready.
    DeleteLeftNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Remove the token that the machine joined with.
    RemoveToken,
    /// Remove the finalizer of the Machine: nothing of it runs any more.
    RemoveFinalizer(Over),
}

/// The steps by which a provider gives a Machine its place. Each is done once, however often it is
/// asked for; one that a provider does not have is done already.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Acquire {
    /// Write the place down, if another was chosen before, and claim it by compare-and-swap.
    Place {
        /// Name of the host, of the hypervisor, or of the simulated machine.
        name: String,
        /// Nothing of the Machine is on the one that it chose before.
        instead: Option<Clean>,
    },
    /// Choose another hypervisor: nothing of the virtual machine exists on this one.
    Elsewhere,
    /// Request the download of the virtual machine's image.
    Image,
    /// Create the virtual machine, with keys of its own.
    Machine,
    /// Write a second record of the hypervisor on which the virtual machine was created.
    Record,
    /// Remove the seed image, with its keys, from the hypervisor.
    RemoveSeed,
    /// Bring a machine that no host of ours is behind to the versions of its Machine.
    Update,
}

/// The power state to which a machine is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Power {
    /// Switched on.
    On,
    /// Running again after a pause.
    Resume,
}

/// How a place is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Release {
    /// Everything that runs there is stopped and removed now.
    Now,
    /// It cannot be removed now, and its Machine is removed anyway: the provider records it, and
    /// removes it as soon as it can.
    Later,
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next.sooner(self.late)
    }

    fn reports(&self) -> Reports {
        if super::update::ends(self) {
            Reports::OutcomeOrFailure
        } else if self.is_quick() {
            Reports::Outcome
        } else if self.actions == [Action::Acquire(Acquire::Update)] {
            // it begins at once, and takes its time by itself
            Reports::Last
        } else {
            Reports::First
        }
    }
}

impl Plan {
    /// All that is done is quick, and the next pass follows at once: its findings are worth
    /// writing, these are not yet.
    pub fn is_quick(&self) -> bool {
        let quick = |action: &Action| {
            matches!(
                action,
                Action::Adopt { .. }
                    | Action::Acquire(
                        Acquire::Place { .. } | Acquire::Elsewhere | Acquire::RemoveSeed,
                    )
                    | Action::TakeHost
                    | Action::TakeTurn
                    | Action::AwaitRecord
                    | Action::RecordInitialized
            )
        };
        // a guest may keep hold of its seed for long: meanwhile the rest is written
        let is_lone_seed = self.actions == [Action::Acquire(Acquire::RemoveSeed)];
        !self.actions.is_empty() && !is_lone_seed && self.actions.iter().all(quick)
    }
}
