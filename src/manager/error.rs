//! Errors that prevent the manager from starting, or stop it.

use tatara_core::remedy;

/// An error that prevents the manager from starting, or stops it.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// There is no kubeconfig, and the process does not run in a cluster.
    #[error(
        "failed to find out how to reach the management cluster; set KUBECONFIG, or run inside a cluster"
    )]
    Config(#[from] kube::config::InferConfigError),
    /// A client could not be created.
    #[error("failed to create a client for the management cluster")]
    Client(#[source] kube::Error),
    /// The API server refused or did not answer.
    #[error("failed to {what}")]
    Api {
        /// The attempted operation.
        what: String,
        /// The server's answer.
        #[source]
        source: kube::Error,
    },
    /// A kind is not defined in the management cluster.
    #[error(
        "{kind} is not served by the management cluster; install the definitions first: {}",
        remedy::definition::apply_own()
    )]
    MissingDefinition {
        /// The kind, as `plural.group`.
        kind: String,
    },
    /// A kind's definition is of an older release.
    #[error(
        "the definition of {kind} is older than this manager: it has no {field}, which the API server would drop; apply those of this release first: {}",
        remedy::definition::apply_own()
    )]
    OlderDefinition {
        /// The kind, as `plural.group`.
        kind: String,
        /// The first field that it lacks.
        field: String,
    },
    /// A kind of ours is defined by another product in this management cluster.
    #[error(
        "{kind} is defined by another product in the management cluster (it has no label app.kubernetes.io/managed-by: tatara), and was left alone; \
         use another management cluster, or remove that product and then its definition, with all its objects: {}",
        remedy::definition::delete(kind)
    )]
    ForeignDefinition {
        /// The kind, as `plural.group`.
        kind: String,
    },
    /// The files of the media listener's certificate cannot be used.
    #[error("failed to read --media-certificate and --media-key")]
    MediaTls(#[from] crate::media::TlsError),
    /// Another process holds the Lease, or it was not renewed in time.
    #[error(
        "leadership lost: another manager leads, or the Lease could not be renewed in time; this one must do nothing more"
    )]
    LeadershipLost,
    /// Serving probes and metrics failed.
    #[error("failed to serve the probes")]
    Serve(#[source] std::io::Error),
    /// The address of the probes, or of media, is in use, or not local.
    #[error("failed to listen on {address}; choose another with {option}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The option that names it.
        option: &'static str,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}
