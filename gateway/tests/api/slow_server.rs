//! A simulated server of images that sends some bytes, and then no more until it is told.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The URL of the file, and what lets the rest of it go.
pub async fn serve(address: &str, first: Vec<u8>, rest: Vec<u8>) -> (String, oneshot::Sender<()>) {
    let listener = TcpListener::bind((address, 0)).await.expect("an address");
    let url = format!(
        "http://{}/image",
        listener.local_addr().expect("an address")
    );
    let (go, wait) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a request");
        let _ = stream.read(&mut [0; 4096]).await;
        let length = first.len() + rest.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("written");
        stream.write_all(&first).await.expect("written");
        // dropped, it means "now" as well: the connection ends early
        if wait.await.is_ok() {
            let _ = stream.write_all(&rest).await;
        }
    });
    (url, go)
}
