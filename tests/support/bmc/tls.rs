//! TLS of the simulated BMC: certificates that change, and connections that are dropped.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::State;

pub struct Identity {
    pub acceptor: TlsAcceptor,
    /// PEM and `sha256:…`.
    pub certificate: (String, String),
    pub authority: String,
}

/// An authority, and a certificate of it for loopback.
pub fn identity() -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&key).expect("an authority");
    let issuer = Issuer::new(parameters, key);
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(["127.0.0.1".into()]).expect("a name");
    let made = parameters.signed_by(&key, &issuer).expect("a certificate");
    let der = made.der().clone();
    let mut fingerprint = String::from("sha256:");
    for byte in Sha256::digest(&der) {
        write!(fingerprint, "{byte:02x}").expect("room in a String");
    }
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![der], key)
        .expect("a configuration");
    Identity {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        certificate: (made.pem(), fingerprint),
        authority: authority.pem(),
    }
}

pub struct Listener {
    pub tcp: TcpListener,
    pub tls: Arc<Mutex<TlsAcceptor>>,
    pub state: Arc<Mutex<State>>,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, from)) = self.tcp.accept().await else {
                continue;
            };
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.drops > 0 {
                    state.drops -= 1;
                    continue;
                }
            }
            let acceptor = self
                .tls
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            if let Ok(stream) = acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
