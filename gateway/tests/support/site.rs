//! A server of files, which counts how often each was asked for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use http::{StatusCode, Uri};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

type Files = Arc<Mutex<HashMap<String, (PathBuf, usize)>>>;

/// A server of files. It ends with the test.
pub struct Site {
    address: String,
    files: Files,
}

impl Site {
    pub async fn start(address: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("an address");
        let address = listener.local_addr().expect("an address").to_string();
        let files = Files::default();
        let router = Router::new().fallback(file).with_state(files.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, files }
    }

    /// Serves a file, and says where.
    pub fn serve(&self, file: &Path) -> String {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let url = format!("http://{}/{name}", self.address);
        self.files
            .lock()
            .expect("no panic")
            .insert(name, (file.to_owned(), 0));
        url
    }

    /// How often a file was asked for.
    pub fn served(&self, name: &str) -> usize {
        self.files
            .lock()
            .expect("no panic")
            .get(name)
            .map_or(0, |(_, count)| *count)
    }
}

/// Images are large: they are sent as they are read.
async fn file(State(files): State<Files>, uri: Uri) -> Result<Body, StatusCode> {
    let name = uri.path().trim_start_matches('/').to_owned();
    let path = {
        let mut files = files.lock().expect("no panic");
        let (path, count) = files.get_mut(&name).ok_or(StatusCode::NOT_FOUND)?;
        *count += 1;
        path.clone()
    };
    let file = File::open(path).await.map_err(|_| StatusCode::NOT_FOUND)?;
    let pieces = futures::stream::try_unfold(file, |mut file| async {
        let mut piece = vec![0; 1 << 18];
        let length = file.read(&mut piece).await?;
        piece.truncate(length);
        Ok::<_, std::io::Error>((length > 0).then_some((piece, file)))
    });
    Ok(Body::from_stream(pieces))
}
