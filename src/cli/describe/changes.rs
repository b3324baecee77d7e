//! Plain lines, one for each change: for files, pipes, and trees higher than the terminal.

use std::collections::BTreeMap;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::render::{Style, fit, notice, plain};
use super::snapshot::Snapshot;
use super::tree::{free_hosts, rows};
use crate::cli::printable;

/// The last printed line of each object.
#[derive(Debug)]
pub struct Changes {
    started: Timestamp,
    said: BTreeMap<String, String>,
    is_unmanaged: bool,
}

impl Changes {
    /// Starts with nothing printed; times count from `started`.
    pub fn since(started: Timestamp) -> Self {
        Self {
            started,
            said: BTreeMap::new(),
            is_unmanaged: false,
        }
    }

    /// The lines of objects that changed since the last call, each with the time since start.
    pub fn lines(&mut self, snapshot: &Snapshot, now: Timestamp, style: Style) -> Vec<String> {
        let rows = rows(snapshot);
        let object = |row: &super::tree::Row| format!("{}/{}", row.kind, row.name);
        let mut order: Vec<(String, String)> = rows
            .iter()
            .map(|row| (object(row), plain(row, style)))
            .collect();
        order.extend(free_hosts(snapshot).map(|text| (String::new(), text)));
        let notice = notice(snapshot, now);
        let mut changed = Vec::new();
        match (&notice, self.is_unmanaged) {
            (Some(notice), false) => changed.push(fit(notice.clone(), style)),
            (None, true) => changed.push("a manager is running".into()),
            _ => {}
        }
        self.is_unmanaged = notice.is_some();
        for (object, line) in &order {
            if self.said.get(object) != Some(line) {
                changed.push(line.clone());
            }
        }
        let now_there: BTreeMap<String, String> = order.into_iter().collect();
        let gone = self
            .said
            .keys()
            .filter(|object| !now_there.contains_key(*object));
        changed.extend(gone.map(|object| match object.strip_prefix("Host/") {
            Some(name) if snapshot.hosts.get(name).is_some() => {
                format!("  {object}  no longer used by this {}", snapshot.kind)
            }
            _ => format!("  {object}  deleted"),
        }));
        self.said = now_there;
        let time = time(now.duration_since(self.started));
        changed
            .into_iter()
            .map(|line| format!("{time}  {line}"))
            .collect()
    }

    /// A line that concerns no single object, with the time since start.
    pub fn line(&self, text: &str, now: Timestamp) -> String {
        format!(
            "{}  {}",
            time(now.duration_since(self.started)),
            printable(text)
        )
    }
}

fn time(elapsed: SignedDuration) -> String {
    let tenths = elapsed.as_millis().max(0) / 100;
    format!("{:>6}s", format!("{}.{}", tenths / 10, tenths % 10))
}
