//! Settings of the manager.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Namespace of the leader election Lease, unless another is named.
pub const DEFAULT_LEASE_NAMESPACE: &str = "tatara-system";

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
    #[arg(long, env = "TATARA_LEASE_NAMESPACE", default_value = DEFAULT_LEASE_NAMESPACE)]
    pub lease_namespace: String,
    /// Identity of this manager in the leader election; must be unique among running managers. With
    /// the name of its Pod it leads again at once after a crash. Default: a new identity at each
    /// start.
    #[arg(long, env = "POD_NAME")]
    pub identity: Option<String>,
    /// Let kubeconfigs and image URLs of users lead to loopback, link-local and like addresses, and
    /// to the API of the management cluster. For tests on one machine.
    #[arg(long, env = "TATARA_ALLOW_LOCAL_ENDPOINTS")]
    pub allow_local_endpoints: bool,
    /// Installers of operating systems.
    #[command(flatten)]
    pub media: MediaArgs,
    /// What is logged, such as `tatara=debug,warn`.
    #[arg(long, value_name = "FILTER", env = "TATARA_LOG")]
    pub log: Option<String>,
    /// Log as JSON, one object per line.
    #[arg(long, env = "TATARA_LOG_JSON")]
    pub log_json: bool,
}

/// Where BMCs read installers from. Without an address none are served.
#[derive(Clone, Debug, clap::Args)]
pub struct MediaArgs {
    /// Address at which BMCs read installers. It serves unguessable URLs only.
    #[arg(
        id = "media_address",
        long = "media-address",
        value_name = "ADDRESS",
        env = "TATARA_MEDIA_ADDRESS",
        requires = "media_url"
    )]
    pub address: Option<SocketAddr>,
    /// URL of that address as BMCs and hosts reach it, such as `http://192.0.2.5:8090`.
    #[arg(
        id = "media_url",
        long = "media-url",
        value_name = "URL",
        env = "TATARA_MEDIA_URL",
        requires = "media_address"
    )]
    pub url: Option<String>,
    /// Folder in which installers are kept. It may be emptied while no installation is under way.
    #[arg(
        id = "media_folder",
        long = "media-folder",
        value_name = "FOLDER",
        env = "TATARA_MEDIA_FOLDER",
        default_value = "/var/cache/tatara/media"
    )]
    pub folder: PathBuf,
    /// Certificate chain of that address, in PEM: https instead of http.
    #[arg(
        id = "media_certificate",
        long = "media-certificate",
        value_name = "FILE",
        env = "TATARA_MEDIA_CERTIFICATE",
        requires = "media_key"
    )]
    pub certificate: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(
        id = "media_key",
        long = "media-key",
        value_name = "FILE",
        env = "TATARA_MEDIA_KEY",
        requires = "media_certificate"
    )]
    pub key: Option<PathBuf>,
}
