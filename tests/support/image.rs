//! An image with an embed area, and a server of it: what a Host's installer is made of. There is no installer in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::get;
use axum::serve::Listener;
use secrecy::zeroize::Zeroizing;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tatara_core::installer::{Area, File};
use tokio::net::TcpListener;

use super::bmc::loopback_tls;

/// Where the area begins, and how large it is.
pub const AREA: Area = Area {
    offset: 20_480,
    size: 65_536,
};

/// The image; without its area, if it is to have none.
pub fn image(has_area: bool) -> Vec<u8> {
    let begin = usize::try_from(AREA.offset).expect("an offset");
    let mut image = vec![3; begin];
    if has_area {
        let content = format!("TATARA-EMBED-AREA-1 size={:08}\n", AREA.size).into_bytes();
        let file = File {
            path: "tatara-embed-area",
            mode: 0o644,
            content: Zeroizing::new(content),
        };
        image.extend(AREA.fill(&[file]).expect("room").iter());
    }
    image.resize(image.len() + 300_000, 5);
    image
}

/// A server of one image on loopback.
pub struct Origin {
    /// `installation.iso` of a Host.
    pub iso: Value,
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Origin {
    pub async fn start(image: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        Self::serve(listener, &format!("http://{address}"), image)
    }

    /// The same over https. Also returns the authority of its certificate, in PEM.
    pub async fn over_tls(image: Vec<u8>) -> (Self, String) {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = tcp.local_addr().expect("an address");
        let (listener, authority) = loopback_tls(tcp);
        let origin = Self::serve(listener, &format!("https://{address}"), image);
        (origin, authority)
    }

    fn serve<L>(listener: L, base: &str, image: Vec<u8>) -> Self
    where
        L: Listener<Addr: std::fmt::Debug>,
    {
        let mut sha256 = String::new();
        for byte in Sha256::digest(&image) {
            std::fmt::Write::write_fmt(&mut sha256, format_args!("{byte:02x}")).expect("room");
        }
        let asked: Arc<AtomicUsize> = Arc::default();
        let count = asked.clone();
        let answer = move || {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(image.clone())
        };
        let router = Router::new().route("/installer.iso", get(answer));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.ok();
        });
        Self {
            iso: json!({"url": format!("{base}/installer.iso"), "sha256": sha256}),
            asked,
            task,
        }
    }

    /// How often the image was fetched.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
