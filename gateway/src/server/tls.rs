//! TLS: the gateway's certificate, and the verification of client certificates.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::Error;

/// Files of the TLS configuration.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// CA of client certificates.
    pub client_ca: Option<PathBuf>,
    /// Client certificates are optional, because bearer tokens are configured.
    pub tokens: bool,
}

/// The TLS configuration, reloaded when its files change.
pub(super) struct Tls {
    files: Files,
    made: Mutex<(Vec<Option<SystemTime>>, TlsAcceptor)>,
}

impl Tls {
    /// Loads the files.
    ///
    /// # Errors
    /// [`Error::Read`] or [`Error::Pem`] for an unusable file, [`Error::Tls`] or
    /// [`Error::ClientAuthority`] when rustls rejects the certificates or the key.
    pub fn open(files: Files) -> Result<Self, Error> {
        let made = Mutex::new((stamps(&files), acceptor(&files)?));
        Ok(Self { files, made })
    }

    /// The acceptor of the next connection. If changed files are invalid, the previous
    /// configuration stays in use.
    pub fn acceptor(&self) -> TlsAcceptor {
        let now = stamps(&self.files);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.0 != now {
            match acceptor(&self.files) {
                Ok(acceptor) => {
                    tracing::info!("reloaded the certificates");
                    made.1 = acceptor;
                }
                Err(error) => {
                    tracing::error!(%error, "failed to reload the certificates; keeping the old ones");
                }
            }
            made.0 = now;
        }
        made.1.clone()
    }
}

fn stamps(files: &Files) -> Vec<Option<SystemTime>> {
    let all = [
        Some(&files.cert),
        Some(&files.key),
        files.client_ca.as_ref(),
    ];
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    all.into_iter().flatten().map(modified).collect()
}

fn acceptor(files: &Files) -> Result<TlsAcceptor, Error> {
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider.clone());
    let config = config.with_safe_default_protocol_versions()?;
    let config = match &files.client_ca {
        None => config.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = if files.tokens {
                verifier.allow_unauthenticated()
            } else {
                verifier
            };
            config.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = config.with_single_cert(certificates(&files.cert)?, key(&files.key)?)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(wrong(path, "it has no certificate".to_owned())),
        Err(error) => Err(wrong(path, error.to_string())),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| wrong(path, error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

fn wrong(path: &Path, problem: String) -> Error {
    Error::Pem {
        path: path.to_owned(),
        problem,
    }
}
