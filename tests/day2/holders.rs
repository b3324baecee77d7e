//! Who has the virtual IP, looked at all the time from outside of the hosts.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::support::world::World;

/// Between two looks at all hosts.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// From when on it was held by these.
type Change = (Instant, Vec<String>);

/// Looks until it is dropped.
pub struct Holders {
    is_over: Arc<AtomicBool>,
    changes: Arc<Mutex<Vec<Change>>>,
    looking: Option<JoinHandle<()>>,
}

impl Holders {
    /// Begins to look at these hosts of a world. One that is off has no network, and no address.
    pub fn begin(world: &World, hosts: &[&str]) -> Self {
        let env = world.fleet(&["env"]);
        let fleet = env.lines().find_map(|line| line.strip_prefix("FLEET="));
        let fleet = fleet.expect("its name").to_owned();
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let address = format!("{}.100", world.subnet());
        let is_over = Arc::new(AtomicBool::new(false));
        let changes = Arc::new(Mutex::new(Vec::<Change>::new()));
        let (over, seen) = (is_over.clone(), changes.clone());
        let looking = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let has = |host: &&String| holds(&format!("{fleet}-{host}"), &address);
                let now: Vec<_> = hosts.iter().filter(has).cloned().collect();
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.last().is_none_or(|(_, last)| *last != now) {
                    println!("the virtual IP is on {now:?}");
                    seen.push((begun, now));
                }
                drop(seen);
                std::thread::sleep(LOOK_AGAIN);
            }
        });
        Self {
            is_over,
            changes,
            looking: Some(looking),
        }
    }

    /// Who has it.
    pub fn now(&self) -> Vec<String> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let last = changes.last().map(|(_, holders)| holders.clone());
        last.unwrap_or_default()
    }

    /// Who had it since then, in turn, and for how long.
    pub fn since(&self, begin: Instant) -> Vec<(Duration, Vec<String>)> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([now]);
        let spans = changes.iter().zip(ends).filter(|(_, end)| *end > begin);
        spans
            .map(|((at, holders), end)| (end - (*at).max(begin), holders.clone()))
            .collect()
    }

    /// The longest time in which several had it at once. A move that falls between the looks at two hosts is a moment.
    pub fn longest_shared(&self) -> Duration {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = changes.first().map(|(at, _)| *at);
        drop(changes);
        let spans = begin.map(|begin| self.since(begin)).unwrap_or_default();
        let shared = spans.into_iter().filter(|(_, holders)| holders.len() > 1);
        shared.map(|(time, _)| time).max().unwrap_or_default()
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looking) = self.looking.take() {
            looking.join().ok();
        }
    }
}

/// Whether a network, that of a host, has this address.
fn holds(network: &str, address: &str) -> bool {
    let show = ["-n", network, "-o", "addr", "show", "to", address];
    let output = Command::new("ip").args(show).output().expect("ip");
    !output.stdout.is_empty()
}
