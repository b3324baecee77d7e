//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;

/// An HTTPS API for libvirt: machines from images and cloud-init seeds.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Args {
    /// libvirt to connect to
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
    /// Unix socket to answer on, mode 0600: whoever can open it may do everything
    #[arg(long, env = "TATARA_GATEWAY_UNIX_SOCKET", value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Certificate chain of this gateway (PEM); read again when it changes
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
    /// Authority of client certificates (PEM): whoever has one of its certificates may do everything
    #[arg(long, env = "TATARA_GATEWAY_CLIENT_CA", value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Bearer tokens, one per line: `TOKEN [not-after as RFC 3339]`; read again when it changes
    #[arg(long, env = "TATARA_GATEWAY_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Virtual CPUs that may be given out, per CPU of the hypervisor
    #[arg(long, env = "TATARA_GATEWAY_CPU_OVERCOMMIT", default_value_t = 4.0, value_parser = factor)]
    pub cpu_overcommit: f64,
    /// Memory that may be given out, per byte of the hypervisor's
    #[arg(long, env = "TATARA_GATEWAY_MEMORY_OVERCOMMIT", default_value_t = 1.0, value_parser = factor)]
    pub memory_overcommit: f64,
    /// Bytes of memory that stay with the hypervisor
    #[arg(long, env = "TATARA_GATEWAY_MEMORY_RESERVE", default_value_t = 1 << 30, value_name = "BYTES")]
    pub memory_reserve: u64,
    /// Bytes that an image may have
    #[arg(long, env = "TATARA_GATEWAY_IMAGE_LIMIT", default_value_t = 64 << 30, value_name = "BYTES")]
    pub image_limit: u64,
    /// Bytes of a pool's file system that images leave to running machines; at most a twentieth of it
    #[arg(long, env = "TATARA_GATEWAY_POOL_RESERVE", default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_reserve: u64,
    /// Folder for the machines' console logs; QEMU (or virtlogd) writes there
    #[arg(
        long,
        env = "TATARA_GATEWAY_CONSOLE_DIRECTORY",
        default_value = "/var/log/libvirt/qemu",
        value_name = "PATH"
    )]
    pub console_directory: PathBuf,
    /// Folder where libvirt's networks keep their DHCP leases
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

/// A factor above zero.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value <= 1000.0 => Ok(value),
        _ => Err("it must be a number above 0 and at most 1000".to_owned()),
    }
}
