//! Real HTTP against the listener.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, Response, StatusCode};
use secrecy::ExposeSecret as _;
use secrecy::zeroize::Zeroizing;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::served::hex;
use super::*;
use crate::api::installation::IsoImage;
use crate::installer::{Area, AreaError};

const BEFORE: usize = 3 * 2048;
const ROOM: usize = 4096;
const AFTER: usize = 1_000_001;

/// An image with an embed area in it, by its bytes.
fn image(areas: usize) -> Vec<u8> {
    let mut image: Vec<u8> = (0..BEFORE)
        .map(|n| u8::try_from(n % 251).expect("a byte"))
        .collect();
    for _ in 0..areas {
        image.extend(crate::installer::empty_area(ROOM).expect("room").iter());
    }
    image.extend((0..AFTER).map(|n| u8::try_from(n % 241).expect("a byte")));
    image
}

struct World {
    folder: tempfile::TempDir,
    media: Arc<Media>,
    url: String,
    stop: CancellationToken,
    reports: Arc<AtomicUsize>,
    client: Client,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn library(folder: &Path, stop: &CancellationToken) -> Library {
    Library::new(folder.join("media"), TaskTracker::new(), stop.clone())
}

/// A listener with nothing open.
async fn world() -> World {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let folder = tempfile::tempdir().expect("a folder");
    let stop = CancellationToken::new();
    let listener = listen("127.0.0.1:0".parse().expect("an address"))
        .await
        .expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let media = Arc::new(Media::new(
        &format!("{url}/"),
        library(folder.path(), &stop),
    ));
    tokio::spawn(serve(listener, None, media.clone(), stop.clone()));
    World {
        folder,
        media,
        url,
        stop,
        reports: Arc::default(),
        client: Client::new(),
    }
}

impl World {
    /// An image that is open to Host `uid`, and all of what is served of it.
    fn open(&self, uid: &str) -> (Token, Vec<u8>) {
        let whole = image(1);
        let file = self.folder.path().join("base.iso");
        std::fs::File::create(&file)
            .and_then(|mut file| file.write_all(&whole))
            .expect("a file");
        let area = Area {
            offset: BEFORE as u64,
            size: ROOM,
        };
        let base = Base {
            file,
            size: whole.len() as u64,
            area,
        };
        let filled = Zeroizing::new(vec![b'x'; ROOM]);
        let mut served = whole;
        served[BEFORE..BEFORE + ROOM].fill(b'x');
        let token = Token::random().expect("random bits");
        let reports = self.reports.clone();
        let wake = Box::new(move || {
            reports.fetch_add(1, Ordering::SeqCst);
        });
        self.media.open(
            (uid, format!("default/{uid}")),
            &token,
            (base, filled),
            wake,
        );
        (token, served)
    }

    async fn ask(&self, method: Method, url: &str, range: Option<&str>) -> Response {
        let mut request = self.client.request(method, url);
        if let Some(range) = range {
            request = request.header("Range", range);
        }
        request.send().await.expect("an answer")
    }
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().expect("text"))
}

#[tokio::test]
async fn an_image_is_read_whole_in_parts_and_by_its_size_with_its_area_filled() {
    let world = world().await;
    let (token, served) = world.open("h0");
    let url = world.media.image_url(&token);
    let url = url.expose_secret();
    let whole = world.ask(Method::GET, url, None).await;
    assert_eq!(whole.status(), StatusCode::OK);
    assert_eq!(header(&whole, "accept-ranges"), "bytes");
    assert_eq!(header(&whole, "content-length"), served.len().to_string());
    assert!(whole.bytes().await.expect("bytes") == served);

    let head = world.ask(Method::HEAD, url, None).await;
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(header(&head, "content-length"), served.len().to_string());
    assert_eq!(head.bytes().await.expect("nothing").len(), 0);

    // over both edges of the area, and to the end
    for (range, from, to) in [
        ("bytes=0-2047", 0, 2048),
        ("bytes=6000-6200", 6000, 6201),
        ("bytes=10000-10300", 10_000, 10_301),
        ("bytes=6100-", 6100, served.len()),
        ("bytes=-7", served.len() - 7, served.len()),
    ] {
        let part = world.ask(Method::GET, url, Some(range)).await;
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        let said = format!("bytes {from}-{}/{}", to - 1, served.len());
        assert_eq!(header(&part, "content-range"), said);
        assert!(
            part.bytes().await.expect("bytes") == served[from..to],
            "{range}"
        );
    }
    let beyond = format!("bytes={}-", served.len());
    let beyond = world.ask(Method::GET, url, Some(&beyond)).await;
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let post = world.ask(Method::POST, url, None).await;
    assert_eq!(post.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn nothing_is_told_without_the_token_or_after_it_was_revoked() {
    let world = world().await;
    let (first, _) = world.open("h0");
    let (other, _) = world.open("h1");
    let guessed = Token::random().expect("random bits");
    let urls = |token: &Token| world.media.image_url(token).expose_secret().to_owned();
    for url in [
        urls(&guessed),
        format!("{}/media/", world.url),
        format!("{}/media//installer.iso", world.url),
        format!("{}/media/{}/other.iso", world.url, first.expose()),
        world.url.clone(),
    ] {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            let answer = world.ask(method, &url, None).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{url}");
            assert_eq!(answer.bytes().await.expect("nothing").len(), 0, "{url}");
        }
    }
    // an answer that is under way breaks off
    let mut begun = world.ask(Method::GET, &urls(&first), None).await;
    begun.chunk().await.expect("a piece");
    world.media.revoke("h0");
    assert_eq!(
        world.ask(Method::GET, &urls(&first), None).await.status(),
        StatusCode::NOT_FOUND
    );
    let report = format!("{}/started", world.media.report_url(&first).expose_secret());
    assert_eq!(
        world.ask(Method::POST, &report, None).await.status(),
        StatusCode::NOT_FOUND
    );
    assert!(world.media.of("h0").is_none());
    // and that of another host goes on; a new one takes its place
    assert_eq!(
        world.ask(Method::HEAD, &urls(&other), None).await.status(),
        StatusCode::OK
    );
    let (newer, _) = world.open("h1");
    assert_eq!(
        world.ask(Method::HEAD, &urls(&other), None).await.status(),
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        world.ask(Method::HEAD, &urls(&newer), None).await.status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_installer_reports_in_known_words_and_what_ends_it_stands() {
    let world = world().await;
    let (token, _) = world.open("h0");
    let report = async |word: &str| {
        let url = format!("{}/{word}", world.media.report_url(&token).expose_secret());
        world.ask(Method::POST, &url, None).await.status()
    };
    let said = || world.media.of("h0").expect("it is open").report();
    assert_eq!(report("nonsense").await, StatusCode::NOT_FOUND);
    assert_eq!(said(), None);
    assert_eq!(report("started").await, StatusCode::NO_CONTENT);
    assert_eq!(said(), Some(Report::Started));
    assert_eq!(report("several-disks").await, StatusCode::NO_CONTENT);
    assert_eq!(report("installed").await, StatusCode::NO_CONTENT);
    assert_eq!(said(), Some(Report::SeveralDisks));
    assert_eq!(world.reports.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn with_a_certificate_it_speaks_tls_and_a_silent_client_keeps_nobody_waiting() {
    let world = world().await;
    let (token, served) = world.open("h0");
    let key = rcgen::KeyPair::generate().expect("a key");
    let made = rcgen::CertificateParams::new(["127.0.0.1".into()]).expect("a name");
    let made = made.self_signed(&key).expect("a certificate");
    let (certificate_file, key_file) = (
        world.folder.path().join("crt"),
        world.folder.path().join("key"),
    );
    std::fs::write(&certificate_file, made.pem()).expect("a file");
    std::fs::write(&key_file, key.serialize_pem()).expect("a file");
    let tls = Tls::read(&certificate_file, &key_file).expect("a pair");
    assert!(Tls::read(&key_file, &key_file).is_err());
    let listener = listen("127.0.0.1:0".parse().expect("an address"))
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(
        listener,
        Some(tls),
        world.media.clone(),
        world.stop.clone(),
    ));
    let silent = tokio::net::TcpStream::connect(address)
        .await
        .expect("a connection");
    let authority = reqwest::Certificate::from_pem(made.pem().as_bytes()).expect("a certificate");
    let client = Client::builder()
        .tls_certs_only([authority])
        .build()
        .expect("a client");
    let url = format!("https://{address}/media/{}/installer.iso", token.expose());
    let answer = client
        .get(url)
        .header("Range", "bytes=0-9")
        .send()
        .await
        .expect("an answer");
    assert!(answer.bytes().await.expect("bytes") == served[..10]);
    drop(silent);
}

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

/// What becomes of an image that is asked for.
async fn end(library: &Library, iso: &IsoImage) -> BaseState {
    for _ in 0..6000 {
        match library.image(iso, || {}) {
            BaseState::Fetching => tokio::time::sleep(Duration::from_millis(10)).await,
            state => return state,
        }
    }
    panic!("still fetching");
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
