//! Settings of the manager.

use std::net::SocketAddr;

/// Settings of `tatara manager`. Each may come from the environment instead.
#[derive(Clone, Debug, clap::Args)]
pub struct ManagerArgs {
    /// Watch this namespace only.
    #[arg(long, env = "TATARA_NAMESPACE")]
    pub namespace: Option<String>,
    /// Namespaces beside a Cluster's own in which ClusterProfiles may be published.
    #[arg(long, env = "TATARA_PROFILE_NAMESPACES", value_delimiter = ',')]
    pub profile_namespaces: Vec<String>,
    /// Address of /healthz, /readyz and /metrics.
    #[arg(long, env = "TATARA_HTTP_ADDRESS", default_value = "0.0.0.0:8080")]
    pub http_address: SocketAddr,
    /// Namespace of the leader election Lease.
    #[arg(long, env = "TATARA_LEASE_NAMESPACE", default_value = "tatara-system")]
    pub lease_namespace: String,
    /// Who this manager is in the leader election. No two living managers may have the same: with the name of
    /// its Pod it leads again at once after a crash. Without it every start is somebody else.
    #[arg(long, env = "POD_NAME")]
    pub identity: Option<String>,
    /// Log as JSON, one object per line.
    #[arg(long, env = "TATARA_LOG_JSON")]
    pub log_json: bool,
}
