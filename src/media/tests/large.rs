//! An image that is larger than any installer.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// A server that answers with this head, and then nothing more.
async fn says(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let read = stream.read(&mut [0; 4096]).await;
            read.expect("a request");
            let written = stream.write_all(head.as_bytes()).await;
            written.expect("an answer");
        }
    });
    format!("http://{address}/i.iso")
}

#[tokio::test]
async fn an_image_that_is_too_large_is_refused_before_its_first_byte() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let library = library(folder.path(), &stop);
    let url = says("HTTP/1.1 200 OK\r\ncontent-length: 17179869185\r\n\r\n").await;
    let iso = IsoImage {
        url,
        sha256: "1".repeat(64),
    };
    let state = end(&library, &iso).await;
    let BaseState::Failed(Failure::Fetch(message)) = state else {
        panic!("{state:?}")
    };
    assert!(message.contains("larger than 16 GiB"), "{message}");
    assert!(
        message.contains("correct installation.iso.url"),
        "{message}"
    );
    let left = std::fs::read_dir(folder.path().join("media"));
    assert_eq!(left.expect("a folder").count(), 0);
}
