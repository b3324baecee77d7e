//! The listener: images by GET, HEAD and Range, reports of installers by POST. Other requests get
//! 404, and log lines name only the Host of a request, never its URL.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path as Parts, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, post};
use axum::{Extension, Router};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tatara_net::Place;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::connections;
use super::content;
use super::range::{RangeRequest, asked};
use super::served::{ImageShare, Media};
use tatara_core::installer::Report;

/// Certificate and key of the listener.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or contains no PEM of the expected kind.
    #[error("failed to read {} as PEM", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key do not belong together, or cannot be used.
    #[error("failed to use the certificate and key of the media listener")]
    Pair(#[from] rustls::Error),
}

impl Tls {
    /// Reads a certificate chain and its private key from PEM files.
    ///
    /// # Errors
    /// A file cannot be read, or the certificate and key cannot be used.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let failed = |file: &Path| {
            let file = file.to_owned();
            move |source| TlsError::File { file, source }
        };
        let chain = CertificateDer::pem_file_iter(certificate).map_err(failed(certificate))?;
        let chain: Result<Vec<_>, _> = chain.collect();
        let chain = chain.map_err(failed(certificate))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

/// Binds the address.
///
/// # Errors
/// The address cannot be bound.
pub async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `stop` is cancelled.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    media: Arc<Media>,
    stop: CancellationToken,
) {
    let router = Router::new()
        .route("/media/{token}/installer.iso", any(image))
        .route("/media/{token}/report/{word}", post(report))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(media);
    connections::serve(listener, tls.map(|Tls(acceptor)| acceptor), router, stop).await;
}

async fn image(
    State(media): State<Arc<Media>>,
    Extension(place): Extension<Place>,
    Parts(token): Parts<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(served) = media.by_token(&token) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    place.leave();
    if method != Method::GET && method != Method::HEAD {
        return (
            StatusCode::METHOD_NOT_ALLOWED,
            [(header::ALLOW, "GET, HEAD")],
        )
            .into_response();
    }
    let size = served.size();
    let range = headers
        .get(header::RANGE)
        .and_then(|value| value.to_str().ok());
    let (status, part) = match asked(range, size) {
        RangeRequest::Beyond => {
            let range = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            return (StatusCode::RANGE_NOT_SATISFIABLE, range).into_response();
        }
        RangeRequest::Part(part) => (StatusCode::PARTIAL_CONTENT, part),
        RangeRequest::Whole => (StatusCode::OK, 0..size),
    };
    if part.start == 0 && method == Method::GET {
        tracing::info!(host = %served.host, "serving media");
    }
    let mut answer = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/x-iso9660-image")
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::CONTENT_LENGTH, part.end - part.start);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{size}", part.start, part.end - 1);
        answer = answer.header(header::CONTENT_RANGE, range);
    }
    let body = if method == Method::HEAD {
        Ok(Body::empty())
    } else {
        body(served.clone(), part).await
    };
    let answer = body.map(|body| answer.body(body));
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => broken(&served, &error),
        Err(error) => broken(&served, &error),
    }
}

async fn body(served: Arc<ImageShare>, part: core::ops::Range<u64>) -> std::io::Result<Body> {
    Ok(Body::from_stream(content::pieces(served, part).await?))
}

fn broken(served: &ImageShare, error: &dyn std::error::Error) -> Response {
    tracing::warn!(host = %served.host, error = %error, "failed to read media");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

async fn report(
    State(media): State<Arc<Media>>,
    Extension(place): Extension<Place>,
    Parts((token, word)): Parts<(String, String)>,
) -> StatusCode {
    match (media.by_token(&token), Report::read(&word)) {
        (Some(served), Some(report)) => {
            place.leave();
            tracing::info!(host = %served.host, ?report, "received an installer's report");
            served.hear(report);
            StatusCode::NO_CONTENT
        }
        _ => StatusCode::NOT_FOUND,
    }
}
