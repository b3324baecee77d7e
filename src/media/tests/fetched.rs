//! Images that are fetched, verified and kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::media::served::hex;
use tatara_core::installer::{Area, AreaError};

/// A server of one file on loopback, with how often it was asked.
async fn origin(content: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let asked: Arc<AtomicUsize> = Arc::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!(
        "http://{}/i.iso",
        listener.local_addr().expect("an address")
    );
    let count = asked.clone();
    let router = axum::Router::new().route(
        "/i.iso",
        axum::routing::get(move || {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(content.clone())
        }),
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

#[tokio::test]
async fn an_image_is_fetched_once_and_verified_also_after_a_restart() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let content = image(1);
    let (url, asked) = origin(content.clone()).await;
    let iso = IsoImage {
        url,
        sha256: hex(&Sha256::digest(&content)),
    };
    let area = Area {
        offset: BEFORE as u64,
        size: ROOM,
    };
    let kept = folder
        .path()
        .join("media")
        .join(format!("{}.iso", iso.sha256));
    for round in 0..3 {
        if round == 2 {
            std::fs::write(&kept, "damaged").expect("a file");
        }
        let library = library(folder.path(), &stop);
        for _ in 0..2 {
            let BaseState::Ready(base) = end(&library, &iso).await else {
                panic!("not ready")
            };
            assert_eq!((base.area, base.size), (area, content.len() as u64));
            assert!(std::fs::read(&base.file).expect("a file") == content);
        }
    }
    assert_eq!(
        asked.load(Ordering::SeqCst),
        2,
        "once, and once for the damaged one"
    );
    assert_eq!(
        std::fs::read_dir(folder.path().join("media"))
            .expect("a folder")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_bad_url_for_the_image_of_another_delays_and_fails_nobody_else() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let content = image(1);
    let sha256 = hex(&Sha256::digest(&content));
    let (good, asked) = origin(content).await;
    // accepts, and never answers
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = silent.local_addr().map(|at| format!("http://{at}/i.iso"));
    let at = |url: &str| IsoImage {
        url: url.to_owned(),
        sha256: sha256.clone(),
    };
    let (bad, silent) = (at("http://127.0.0.1:9/i.iso"), at(&url.expect("a URL")));
    let library = library(folder.path(), &stop);
    let failed = end(&library, &bad).await;
    assert!(matches!(failed, BaseState::Failed(_)), "{failed:?}");
    assert_eq!(library.image(&silent, || {}), BaseState::Fetching);
    let state = end(&library, &at(&good)).await;
    assert!(matches!(state, BaseState::Ready(_)), "{state:?}");
    for url in [&bad, &silent] {
        let shared = library.image(url, || {});
        assert_eq!(shared, state, "verified content is shared");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_a_bad_url_says_late_is_no_part_of_a_verified_image() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let content = image(1);
    let sha256 = hex(&Sha256::digest(&content));
    let (good, _) = origin(content.clone()).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let bad = format!("http://{}/i.iso", listener.local_addr().expect("a port"));
    let (say_rest, rest) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        assert_ne!(stream.read(&mut [0; 4096]).await?, 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&[b'x'; 1000]).await?;
        rest.await.ok();
        stream.write_all(&[b'x'; 1000]).await
    });
    let library = library(folder.path(), &stop);
    let at = |url: String| IsoImage {
        url,
        sha256: sha256.clone(),
    };
    let (told, ended) = tokio::sync::oneshot::channel();
    let wake = move || told.send(()).expect("it is waited for");
    assert_eq!(library.image(&at(bad), wake), BaseState::Fetching);
    let begun = || {
        let kept = std::fs::read_dir(folder.path().join("media"));
        let mut kept = kept.into_iter().flatten().flatten();
        kept.any(|entry| entry.metadata().is_ok_and(|file| file.len() == 1000))
    };
    while !begun() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let BaseState::Ready(base) = end(&library, &at(good)).await else {
        panic!("not ready")
    };
    say_rest.send(()).expect("it is waited for");
    ended.await.expect("an end");
    assert!(std::fs::read(&base.file).expect("a file") == content);
}

#[tokio::test]
async fn an_image_that_nobody_uses_for_a_month_goes_and_nothing_that_is_not_ours() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let media = folder.path().join("media");
    std::fs::create_dir(&media).expect("a folder");
    let content = image(1);
    let sha256 = hex(&Sha256::digest(&content));
    let month = Duration::from_hours(31 * 24);
    let recent = "c".repeat(64) + ".iso";
    let (old, piece) = ("a".repeat(64) + ".iso", "b".repeat(64) + ".part");
    let wanted = format!("{sha256}.iso");
    for (name, bytes) in [
        (&old, &b"x"[..]),
        (&piece, b"x"),
        (&recent, b"x"),
        (&wanted, &content),
        (&"debian.iso".to_owned(), b"x"),
    ] {
        let path = media.join(name);
        std::fs::write(&path, bytes).expect("a file");
        if *name != recent {
            let file = std::fs::File::options().append(true).open(&path);
            let then = std::time::SystemTime::from(crate::clock::now()) - month;
            file.and_then(|file| file.set_modified(then))
                .expect("an age");
        }
    }
    let (url, asked) = origin(content).await;
    let iso = IsoImage { url, sha256 };
    // twice: the second manager finds it used by the first
    for _ in 0..2 {
        let state = end(&library(folder.path(), &stop), &iso).await;
        assert!(matches!(state, BaseState::Ready(_)), "{state:?}");
        let used = std::fs::metadata(media.join(&wanted)).and_then(|meta| meta.modified());
        let age = used.expect("an age").elapsed().unwrap_or_default();
        assert!(age < Duration::from_hours(1), "{age:?}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0, "it was here");
    let entries = std::fs::read_dir(&media).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string())
        .collect::<Result<_, _>>()
        .expect("text");
    names.sort();
    let mut expected = [recent, wanted, "debian.iso".to_owned()];
    expected.sort();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn what_cannot_be_used_is_said_and_leaves_nothing() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let library = library(folder.path(), &stop);
    let of = async |content: Vec<u8>, sha256: Option<String>| {
        let sum = hex(&Sha256::digest(&content));
        let (url, _) = origin(content).await;
        end(
            &library,
            &IsoImage {
                url,
                sha256: sha256.unwrap_or(sum),
            },
        )
        .await
    };
    let wrong = of(image(1), Some("0".repeat(64))).await;
    let BaseState::Failed(Failure::Checksum(message)) = wrong else {
        panic!("{wrong:?}")
    };
    assert!(
        message.contains("installation.iso.sha256 is 0000") && message.contains("/i.iso have "),
        "{message}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path().join("media"))
            .expect("a folder")
            .count(),
        0
    );
    for (areas, error) in [(0, AreaError::None), (2, AreaError::Several { count: 2 })] {
        assert_eq!(
            of(image(areas), None).await,
            BaseState::Failed(Failure::Area(error))
        );
    }
    let nowhere = IsoImage {
        url: "http://127.0.0.1:9/i.iso".into(),
        sha256: "1".repeat(64),
    };
    for _ in 0..2 {
        let state = end(&library, &nowhere).await;
        let BaseState::Failed(Failure::Fetch(message)) = state else {
            panic!("{state:?}")
        };
        assert!(
            message.contains("failed to fetch http://127.0.0.1:9/i.iso"),
            "{message}"
        );
    }
}
