//! What an API server was asked, read from its audit log.

use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The manager's service account.
pub const MANAGER: &str = "system:serviceaccount:tatara-system:tatara-manager";

/// One request, when it ended; a watch also when it started.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub verb: String,
    pub user: User,
    #[serde(default)]
    pub object_ref: Object,
}

#[derive(Clone, Debug, Deserialize)]
pub struct User {
    pub username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Object {
    #[serde(default)]
    pub resource: String,
    #[serde(default)]
    #[allow(dead_code)] // not every test program asks
    pub subresource: String,
    #[serde(default)]
    #[allow(dead_code)]
    pub name: String,
}

impl Request {
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// A place in an audit log, from which on requests are read.
pub struct Mark {
    path: PathBuf,
    at: u64,
}

impl Mark {
    /// The present end of the log.
    pub fn end_of(path: &Path) -> Self {
        let at = std::fs::metadata(path).expect("an audit log").len();
        Self {
            path: path.into(),
            at,
        }
    }

    /// Requests of `user` since, to anything but Leases.
    pub fn requests_of(&self, user: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.user.username == user);
        requests
    }

    /// Everybody's requests since, to anything but Leases.
    pub fn requests(&self) -> Vec<Request> {
        let mut file = std::fs::File::open(&self.path).expect("an audit log");
        file.seek(SeekFrom::Start(self.at)).expect("a place in it");
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        // the last line may be half written
        let requests = lines.filter_map(|line| serde_json::from_str::<Request>(&line).ok());
        requests
            .filter(|request| request.object_ref.resource != "leases")
            .collect()
    }
}
