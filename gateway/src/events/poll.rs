//! The poll of libvirt. It pauses while there is no event stream.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::diff::{Snapshot, settled};
use super::hub::Look;
use crate::app::App;
use crate::images;
use crate::libvirt::{self, Link, capacity};
use crate::machines;

/// Time between two polls.
const INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two polls, also after a nudge.
const BREATH: Duration = Duration::from_millis(100);

/// Timeout of a poll; after it, all event streams end.
const PATIENCE: Duration = Duration::from_secs(40);

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Libvirt(#[from] libvirt::Error),
    #[error(transparent)]
    Machines(#[from] machines::Error),
    #[error(transparent)]
    Images(#[from] images::Error),
    #[error("libvirt did not answer in time")]
    Hangs,
}

/// Polls libvirt while there is an event stream, until the hub is closed.
pub async fn run(app: Arc<App>) {
    tokio::select! {
        () = app.hub.closed() => {}
        () = poll(&app) => {}
    }
}

async fn poll(app: &Arc<App>) {
    let turns = Arc::default();
    loop {
        if !app.hub.is_heard() {
            app.hub.nudged().await;
            continue;
        }
        look(app, &turns).await;
        tokio::time::sleep(BREATH).await;
        tokio::select! {
            () = app.hub.nudged() => {}
            () = tokio::time::sleep(INTERVAL.saturating_sub(BREATH)) => {}
        }
    }
}

/// Runs one poll at a time: polls that hang would otherwise occupy all workers.
async fn look(app: &Arc<App>, turns: &Arc<Mutex<()>>) {
    let number = app.hub.begin();
    let worker = app.clone();
    let seen = match turns.clone().try_lock_owned() {
        Ok(turn) => {
            let last = match app.hub.last() {
                Look::Seen(last) => Some(last),
                Look::None | Look::Failed(..) => None,
            };
            let look = move |link: &Link| {
                let _turn = turn;
                snapshot(&worker, link, number, last.as_deref())
            };
            let seen = tokio::time::timeout(PATIENCE, app.libvirt.run(look)).await;
            seen.unwrap_or(Err(Error::Hangs))
        }
        Err(_) => Err(Error::Hangs),
    };
    let look = match seen {
        Ok(mut snapshot) => {
            if let Look::Seen(last) = app.hub.last() {
                snapshot.capacity = settled(Some(&last.capacity), snapshot.capacity);
            }
            Look::Seen(Arc::new(snapshot))
        }
        Err(error) => Look::Failed(number, words(&error)),
    };
    if let Look::Failed(_, error) = &look {
        tracing::warn!(
            error,
            "ended all event streams because libvirt does not answer"
        );
    }
    app.hub.tell(look);
}

fn snapshot(
    app: &App,
    link: &Link,
    number: u64,
    last: Option<&Snapshot>,
) -> Result<Snapshot, Error> {
    let machines = machines::list(app, link)?;
    let images = images::list(app, link)?;
    let capacity = capacity::read(link, app.limits).map_err(Error::from);
    Ok(Snapshot {
        number,
        machines: machines
            .into_iter()
            .map(|machine| (machine.id, Arc::new(machine)))
            .collect(),
        images: images
            .into_iter()
            .map(|i| ((i.pool.clone(), i.sha256.clone()), i))
            .collect(),
        capacity: or_last("capacity", capacity, last.map(|last| &last.capacity))?,
    })
}

/// Replaces an unreadable part of a snapshot with its last value, so that the other parts, above
/// all machines, are published.
fn or_last<T: Clone>(
    part: &'static str,
    now: Result<T, Error>,
    last: Option<&T>,
) -> Result<T, Error> {
    match (now, last) {
        (Err(error), Some(last))
            if !libvirt_error(&error).is_some_and(libvirt::Error::is_unavailable) =>
        {
            tracing::debug!(
                part,
                error = words(&error),
                "failed to read a part of the state; keeping the last one"
            );
            Ok(last.clone())
        }
        (now, _) => now,
    }
}

fn libvirt_error(error: &Error) -> Option<&libvirt::Error> {
    match error {
        Error::Libvirt(error)
        | Error::Machines(machines::Error::Libvirt(error))
        | Error::Images(images::Error::Libvirt(error)) => Some(error),
        _ => None,
    }
}

fn words(error: &Error) -> String {
    libvirt_error(error).map_or_else(|| error.to_string(), libvirt::Error::words)
}
