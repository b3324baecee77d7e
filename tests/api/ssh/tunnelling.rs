//! TCP through a host, and a Kubernetes API through it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tatara::remote::{Pool, Route, RunError, Target, Targets, kube_client};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::ssh::sshd::Sshd;
use crate::support::ports;
use crate::support::wait::within;

const VERSION: &str = r#"{"major":"1","minor":"36","gitVersion":"v1.36.3","gitCommit":"c",
    "gitTreeState":"clean","buildDate":"d","goVersion":"g","compiler":"gc","platform":"linux/amd64"}"#;

/// Answers every request on `stream` with [`VERSION`], one after the other.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut request = Vec::new();
    while stream.read_buf(&mut request).await? > 0 {
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
        let answer = format!("{head} {}\r\n\r\n{VERSION}", VERSION.len());
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
    Ok(())
}

async fn plain_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// A server with a certificate for `kubernetes.test`; gives its address and the certificate.
async fn tls_server() -> (SocketAddr, Vec<u8>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(["kubernetes.test".to_string()]).unwrap();
    let certificate = made.cert.der().to_vec();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move { serve(acceptor.accept(stream).await?).await });
        }
    });
    (address, certificate)
}

async fn get(tunnel: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    tunnel
        .write_all(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(VERSION.as_bytes()) {
        assert_ne!(tunnel.read_buf(&mut answer).await.unwrap(), 0);
    }
    String::from_utf8(answer).unwrap()
}

fn config(url: &str, certificate: Option<Vec<u8>>) -> kube::Config {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.root_cert = certificate.map(|certificate| vec![certificate]);
    config.default_retry = false;
    config
}

fn fixed(pool: &Pool, target: &Target, address: SocketAddr) -> Route {
    Route::Tunnel {
        pool: pool.clone(),
        target: target.clone(),
        host: address.ip().to_string(),
        port: address.port(),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_tunnel_reaches_a_loopback_http_server_and_outlives_the_session() {
    let (sshd, server) = (Sshd::new(), plain_server().await);
    let pool = Pool::new();
    let session = pool.session(&sshd.target()).await.unwrap();
    let mut tunnel = session.open_tcp("127.0.0.1", server.port()).await.unwrap();
    assert!(get(&mut tunnel).await.starts_with("HTTP/1.1 200 OK"));
    drop(session);
    drop(pool);
    assert!(get(&mut tunnel).await.ends_with(VERSION));
    drop(tunnel);
    sshd.wait_logged("Connection closed", 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_tunnel_to_where_nobody_listens_is_refused_and_the_session_lives_on() {
    let sshd = Sshd::new();
    let session = Pool::new().session(&sshd.target()).await.unwrap();
    let free = ports::free().port();
    match session.open_tcp("127.0.0.1", free).await {
        Err(RunError::TunnelRefused { to, .. }) => assert_eq!(to, format!("127.0.0.1:{free}")),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("nobody listens"),
    }
    assert!(session.run("true").await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_tunnel_tells_an_orderly_end_from_a_lost_connection() {
    let sshd = Sshd::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let session = Pool::new().session(&sshd.target()).await.unwrap();
    let mut orderly = session.open_tcp("127.0.0.1", port).await.unwrap();
    let (mut peer, _) = listener.accept().await.unwrap();
    orderly.write_all(b"question").await.unwrap();
    orderly.shutdown().await.unwrap();
    let mut question = Vec::new();
    peer.read_to_end(&mut question).await.unwrap();
    peer.write_all(b"answer").await.unwrap();
    drop(peer);
    let mut answer = Vec::new();
    orderly.read_to_end(&mut answer).await.unwrap();
    assert_eq!(
        (question, answer),
        (b"question".to_vec(), b"answer".to_vec())
    );

    let mut lost = session.open_tcp("127.0.0.1", port).await.unwrap();
    let _peer = listener.accept().await.unwrap();
    sshd.kill_connections();
    assert_eq!(
        lost.read_u8().await.unwrap_err().kind(),
        io::ErrorKind::ConnectionReset
    );
    assert_eq!(
        lost.write_u8(0).await.unwrap_err().kind(),
        io::ErrorKind::BrokenPipe
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_reader_that_pauses_stops_nobody_else_and_fails_alone_in_the_end() {
    let sshd = Sshd::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let session = Pool::new().session(&sshd.target()).await.unwrap();
    let mut paused = session.open_tcp("127.0.0.1", port).await.unwrap();
    let (mut peer, _) = listener.accept().await.unwrap();
    // More than any buffer on the way: the write ends only because the tunnel is given up.
    let flood = vec![0; 64 << 20];
    assert!(peer.write_all(&flood).await.is_err());
    assert!(session.run("true").await.unwrap().success());
    let mut received = Vec::new();
    let error = paused.read_to_end(&mut received).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(received.len() <= 16 << 20);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_kube_client_goes_to_the_address_of_its_config_through_the_host() {
    let (sshd, server) = (Sshd::new(), plain_server().await);
    let route = Route::Through {
        pool: Pool::new(),
        targets: Arc::new(Targets::new(vec![sshd.target()])),
    };
    let client = kube_client(config(&format!("http://{server}"), None), route, "default").unwrap();
    assert_eq!(
        client.apiserver_version().await.unwrap().git_version,
        "v1.36.3"
    );
    assert_eq!(sshd.logged("Accepted publickey"), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_kube_client_goes_through_another_host_when_one_does_not_answer() {
    let (sshd, server) = (Sshd::new(), plain_server().await);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut off = sshd.target();
    off.hop.port = silent.local_addr().unwrap().port();
    drop(silent);
    let route = Route::Through {
        pool: Pool::new(),
        targets: Arc::new(Targets::new(vec![off, sshd.target()])),
    };
    let client = kube_client(config(&format!("http://{server}"), None), route, "default").unwrap();
    assert_eq!(
        client.apiserver_version().await.unwrap().git_version,
        "v1.36.3"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_kube_client_goes_to_a_fixed_address_and_checks_the_certificate_of_its_config() {
    let sshd = Sshd::new();
    let (server, certificate) = tls_server().await;
    let route = || fixed(&Pool::new(), &sshd.target(), server);
    let url = "https://kubernetes.test:6443";
    let client = kube_client(config(url, Some(certificate.clone())), route(), "default").unwrap();
    assert_eq!(
        client.apiserver_version().await.unwrap().git_version,
        "v1.36.3"
    );

    let other = "https://elsewhere.test:6443";
    let client = kube_client(config(other, Some(certificate)), route(), "default").unwrap();
    assert!(
        client.apiserver_version().await.is_err(),
        "the certificate is not for that name"
    );
    let (_, stranger) = tls_server().await;
    let client = kube_client(config(url, Some(stranger)), route(), "default").unwrap();
    assert!(
        client.apiserver_version().await.is_err(),
        "the certificate is not from that CA"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_kube_client_connects_again_after_its_connection_was_lost() {
    let sshd = Sshd::new();
    let (server, certificate) = tls_server().await;
    let (pool, target) = (Pool::new(), sshd.target());
    let config = config("https://kubernetes.test:6443", Some(certificate));
    let client = kube_client(config, fixed(&pool, &target, server), "default").unwrap();
    assert!(client.apiserver_version().await.is_ok());
    let session = pool.session(&target).await.unwrap();
    sshd.kill_connections();
    assert!(
        session.run("true").await.is_err(),
        "the loss has been noticed"
    );
    // a request may still be sent on the connection through it, of which HTTP hears a moment later
    within("an answer", 20, async || {
        client.apiserver_version().await.ok()
    })
    .await;
    assert_eq!(sshd.logged("Accepted publickey"), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_kube_client_without_a_way_names_the_cause() {
    let (mut sshd, server) = (Sshd::new(), plain_server().await);
    sshd.stop();
    let config = config("http://kubernetes.test", None);
    let client = kube_client(
        config,
        fixed(&Pool::new(), &sshd.target(), server),
        "default",
    )
    .unwrap();
    let error = client.apiserver_version().await.unwrap_err();
    let mut causes = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(&error);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    let chain = causes.join(": ");
    assert!(
        chain.contains(&format!("failed to reach root@127.0.0.1:{}", sshd.port)),
        "{chain}"
    );
}
