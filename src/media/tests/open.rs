//! Images that are open to their hosts.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Client, Method, Response, StatusCode};
use secrecy::ExposeSecret as _;
use secrecy::zeroize::Zeroizing;
use tokio::io::AsyncReadExt as _;

use super::*;
use tatara_core::installer::Area;

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

#[tokio::test]
async fn strangers_shut_out_neither_those_elsewhere_nor_who_has_shown_a_token() {
    let world = world().await;
    let (token, whole) = world.open("1");
    let url = world.media.image_url(&token);
    let known = world.client.get(url.expose_secret()).send();
    let known = known.await.expect("an answer");
    let address = world.url.trim_start_matches("http://");
    let mut strangers = Vec::new();
    for _ in 0..300 {
        let stranger = tokio::net::TcpStream::connect(address).await;
        strangers.push(stranger.expect("a connection"));
    }
    let mut last = strangers.pop().expect("a connection");
    let closed = last.read_u8();
    let closed = tokio::time::timeout(std::time::Duration::from_secs(10), closed);
    assert!(
        closed
            .await
            .expect("one too many is closed at once")
            .is_err()
    );
    let elsewhere = Client::builder().local_address(core::net::IpAddr::from([127, 0, 0, 2]));
    let elsewhere = elsewhere
        .build()
        .expect("a client")
        .get(url.expose_secret());
    let answer = tokio::time::timeout(std::time::Duration::from_secs(10), elsewhere.send());
    let answer = answer.await.expect("at once").expect("an answer");
    assert!(answer.bytes().await.expect("an image") == whole);
    assert!(known.bytes().await.expect("an image") == whole);
}
