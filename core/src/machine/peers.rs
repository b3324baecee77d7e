//! The place of a Machine among those of its cluster of which one at a time does something beside
//! the control-plane turn. The [planner](crate::planner) decides it.

use super::peer_versions::PeerVersions;

/// What the other Machines of its cluster, and their Nodes, mean for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Their versions, once the Machine has one to be brought to.
    pub versions: PeerVersions,
    /// What this Machine does in its order among others.
    pub lane: Lane,
    /// Another Node takes ordinary pods, so that that of this Machine can be drained; determined
    /// once it has a Node.
    pub take_pods: bool,
}

/// The place of a Machine among those of its cluster of which one at a time does something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// kubeadm's addons are to follow, and this is the Machine that runs the job.
    pub addons: Option<AddonsDue>,
    /// Another worker that is updated before this one, of those that are not drained together.
    pub drained_after: Option<String>,
    /// Another Machine whose node follows the settings of the Cluster before this one; determined
    /// once it is behind.
    pub follows_after: Option<String>,
}

/// kubeadm's addons are to follow the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddonsDue {
    /// The version to which they are brought.
    pub version: String,
    /// A control-plane Machine that does not run it yet, or has not gone yet.
    pub waits_for: Option<String>,
}
