//! A stream that is cut or stuck fails, and only then.

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;

const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_cut_stream_fails_a_waiting_reader() {
    let (here, _there) = duplex(16);
    let cut = CancellationToken::new();
    let mut transport = Transport::new(Box::new(here), cut.clone(), LONG);
    let reader = tokio::spawn(async move { transport.read_u8().await });
    tokio::task::yield_now().await;
    cut.cancel();
    let error = reader.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn a_cut_stream_fails_a_waiting_writer() {
    let (here, _there) = duplex(16);
    let cut = CancellationToken::new();
    let mut transport = Transport::new(Box::new(here), cut.clone(), LONG);
    let writer = tokio::spawn(async move { transport.write_all(&[0; 64]).await });
    tokio::task::yield_now().await;
    cut.cancel();
    let error = writer.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn a_write_that_the_peer_never_takes_fails() {
    let (here, _there) = duplex(16);
    let patience = Duration::from_millis(20);
    let mut transport = Transport::new(Box::new(here), CancellationToken::new(), patience);
    let error = transport.write_all(&[0; 64]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn progress_renews_the_patience() {
    let (here, mut there) = duplex(16);
    let patience = Duration::from_secs(2);
    let mut transport = Transport::new(Box::new(here), CancellationToken::new(), patience);
    let peer = tokio::spawn(async move {
        let mut buffer = [0; 16];
        // Longer than the patience in all, shorter at each step.
        for _ in 0..5 {
            sleep(patience / 4).await;
            there.read_exact(&mut buffer).await.unwrap();
        }
    });
    transport.write_all(&[0; 80]).await.unwrap();
    peer.await.unwrap();
}
