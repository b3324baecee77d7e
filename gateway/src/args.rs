//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;

/// An HTTPS API for libvirt: machines from images and cloud-init seeds.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Args {
    /// Connection URI of libvirt
    #[arg(
        long,
        env = "TATARA_GATEWAY_LIBVIRT",
        default_value = "qemu:///system",
        value_name = "URI"
    )]
    pub libvirt: String,
    /// Address for HTTPS; needs --tls-cert, --tls-key, and --client-ca or --token-file
    #[arg(long, env = "TATARA_GATEWAY_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Unix socket to listen on, mode 0600: access to it grants full access
    #[arg(long, env = "TATARA_GATEWAY_UNIX_SOCKET", value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Certificate chain of this gateway (PEM); reloaded when it changes
    #[arg(
        long,
        env = "TATARA_GATEWAY_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(
        long,
        env = "TATARA_GATEWAY_TLS_KEY",
        value_name = "FILE",
        requires = "tls_cert"
    )]
    pub tls_key: Option<PathBuf>,
    /// CA of client certificates (PEM): each of its certificates grants full access
    #[arg(long, env = "TATARA_GATEWAY_CLIENT_CA", value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Bearer tokens, one per line: `TOKEN [not-after as RFC 3339]`; reloaded when it changes
    #[arg(long, env = "TATARA_GATEWAY_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Allocatable virtual CPUs per CPU of the hypervisor
    #[arg(long, env = "TATARA_GATEWAY_CPU_OVERCOMMIT", default_value_t = 4.0, value_parser = factor)]
    pub cpu_overcommit: f64,
    /// Allocatable memory per byte of the hypervisor's memory
    #[arg(long, env = "TATARA_GATEWAY_MEMORY_OVERCOMMIT", default_value_t = 1.0, value_parser = factor)]
    pub memory_overcommit: f64,
    /// Bytes of memory reserved for the hypervisor
    #[arg(long, env = "TATARA_GATEWAY_MEMORY_RESERVE", default_value_t = 1 << 30, value_name = "BYTES")]
    pub memory_reserve: u64,
    /// Size limit of an image
    #[arg(long, env = "TATARA_GATEWAY_IMAGE_LIMIT", default_value_t = 64 << 30, value_name = "BYTES")]
    pub image_limit: u64,
    /// Bytes of a pool's file system reserved for running machines when an image is downloaded; at
    /// most 5 % of its size
    #[arg(long, env = "TATARA_GATEWAY_POOL_RESERVE", default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_reserve: u64,
    /// Directory of the machines' console logs, written by QEMU or virtlogd
    #[arg(
        long,
        env = "TATARA_GATEWAY_CONSOLE_DIRECTORY",
        default_value = "/var/log/libvirt/qemu",
        value_name = "PATH"
    )]
    pub console_directory: PathBuf,
    /// Directory of the DHCP leases of libvirt networks
    #[arg(
        long,
        env = "TATARA_GATEWAY_LEASE_DIRECTORY",
        default_value = "/var/lib/libvirt/dnsmasq",
        value_name = "PATH"
    )]
    pub lease_directory: PathBuf,
    /// Log lines as JSON
    #[arg(long, env = "TATARA_GATEWAY_LOG_JSON")]
    pub log_json: bool,
}

/// Parses an overcommit factor.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value <= 1000.0 => Ok(value),
        _ => Err("it must be a number above 0 and at most 1000".to_owned()),
    }
}
