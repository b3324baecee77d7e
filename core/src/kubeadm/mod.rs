//! kubeadm configuration and version rules; no I/O.
//!
//! | module | what it holds |
//! |---|---|
//! | [`version`] | which versions run, and which steps between them are safe |
//! | [`config`] | the documents for `kubeadm init` and `kubeadm join`, ours with the user's parts |
//! | [`feature_gates`] | which of them a version no longer knows |
//! | [`labels`] | which labels the kubelet sets itself, and which are left to the controller |
//! | [`difference`] | what differs between two configurations, for people |

mod change;
pub mod config;
mod contradiction;
mod difference;
mod documents;
pub mod feature_gates;
mod input;
pub mod labels;
mod marks;
mod merge;
mod network;
mod owned;
pub mod record;
mod rules;
pub mod version;

pub use change::{ChangeError, Kept, change};
pub use config::{
    ClusterDocuments, ConfigError, addons, check, cluster_documents, init, join, upgrade,
};
pub use contradiction::Contradiction;
pub use difference::difference;
pub use input::{
    CERTIFICATES_DIR, CONTROL_PLANE_TAINT, CRI_SOCKET, ClusterInput, Discovery, Endpoint, LocalApi,
    NodeInput,
};
pub use marks::{CONTROL_PLANE_LABELS, control_plane_taints};
pub use merge::merge;
pub use owned::{Compared, Owned, owned};
pub use version::{KubernetesVersion, VersionError};
