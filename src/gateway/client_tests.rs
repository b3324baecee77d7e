//! A gateway that says more than any has to say, over real TLS.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Port and certificate of a server that answers every request with this head, and then says `x`
/// without end.
async fn server(head: &'static str) -> (u16, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("made");
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let server = rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a pair");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut request = [0; 4096];
                let read = stream.read(&mut request).await.expect("a request");
                assert!(read > 0, "a request");
                let mut said = stream.write_all(head.as_bytes()).await;
                while said.is_ok() {
                    said = stream.write_all(&[b'x'; 1 << 14]).await;
                }
            });
        }
    });
    (port, made.cert.der().clone())
}

/// A client that trusts this authority.
fn client(port: u16, authority: &CertificateDer<'static>) -> Client {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.clone()).expect("an authority");
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let credentials = Credentials { tls, token: None };
    Client::new(&format!("https://localhost:{port}"), credentials).expect("a client")
}

async fn rogue(head: &'static str) -> Client {
    let (port, authority) = server(head).await;
    client(port, &authority)
}

#[tokio::test]
async fn an_answer_without_end_is_read_no_further_than_answers_are_long() {
    let client = rogue("HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n").await;
    let error = client.machine("a").await.expect_err("no machine");
    assert_eq!(error.reason().as_str(), "UnreadableAnswer");
    assert!(error.to_string().contains("larger than"), "{error}");
}

#[tokio::test]
async fn a_refusal_without_end_is_said_in_part() {
    let client = rogue("HTTP/1.1 500 No\r\ncontent-length: 1000000000000\r\n\r\n").await;
    let error = client.delete("a").await.expect_err("refused");
    assert_eq!(error.reason().as_str(), "GatewayRefused");
    assert!(error.to_string().len() < 1200, "{error}");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere() {
    let client = rogue(
        "HTTP/1.1 302 Found\r\nlocation: https://127.0.0.1:1/\r\ncontent-length: 1000000000000\r\n\r\n",
    )
    .await;
    let error = client
        .power("a", PowerAction::On)
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("302"), "{error}");
}

#[tokio::test]
async fn whose_certificate_is_not_accepted_is_told_from_who_does_not_answer() {
    let head = "HTTP/1.1 204 No Content\r\n\r\n";
    let ((port, _), (_, other)) = (server(head).await, server(head).await);
    let error = client(port, &other).delete("a").await.expect_err("TLS");
    assert_eq!(error.reason().as_str(), "CertificateUnknown", "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let error = client(port, &other).delete("a").await.expect_err("nobody");
    assert_eq!(error.reason().as_str(), "HypervisorUnreachable", "{error}");
}
