//! Breadth-first search through the states of a world, on two threads. A state that was met is known by a digest of 64 bits.

mod graph;
mod rests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::world::events::{self, Event, Faults, Next};
use crate::world::safety::broken;
use crate::world::state::State;
use rests::Rests;

/// So many threads search.
const THREADS: usize = 2;
/// The digests are kept in so many parts, each with a lock of its own.
const PARTS: usize = 64;
/// How often a search that lasts tells how far it is.
const SAYS: Duration = Duration::from_secs(30);

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No further level is begun with so many states.
    pub states: usize,
    pub depth: usize,
}

/// What came of a search.
#[derive(Debug)]
pub struct Found {
    pub states: usize,
    pub transitions: usize,
    pub depth: usize,
    /// Nothing was left.
    pub exhausted: bool,
    /// What is wrong first, and the shortest history that leads there.
    pub trouble: Option<(String, Vec<Event>)>,
}

/// The digest of a state.
pub fn digest(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// The states that were met, by number.
struct Known {
    parts: Vec<Mutex<HashMap<u64, u32>>>,
    count: AtomicUsize,
}

impl Known {
    fn new() -> Self {
        Self {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
        }
    }

    /// The number of a state, and whether it is new.
    fn number(&self, digest: u64) -> (u32, bool) {
        let part = usize::try_from(digest % 64).unwrap_or_default();
        let mut part = self.parts[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = part.get(&digest) {
            return (*number, false);
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let number = u32::try_from(number).expect("fewer states than numbers");
        part.insert(digest, number);
        (number, true)
    }
}

/// What one thread finds in one level.
#[derive(Default)]
struct Part {
    /// Each new state, with its number, and from which one it was reached by which event.
    new: Vec<(u32, State, u32, Event)>,
    /// Transitions without a fault.
    calm: Vec<(u32, u32)>,
    transitions: usize,
    /// What is wrong: in which state, and by which event.
    troubles: Vec<(String, u32, Option<Event>)>,
}

/// Everything that a search knows.
struct Search<'a> {
    faults: &'a Faults,
    known: Known,
    rests: Rests,
    stop: AtomicBool,
}

/// Searches from this state.
pub fn search(start: &State, faults: &Faults, bounds: Bounds) -> Found {
    let search = Search {
        faults,
        known: Known::new(),
        rests: Rests::new(),
        stop: AtomicBool::new(false),
    };
    let (first, _) = search.known.number(digest(start));
    let mut parents: Vec<Option<(u32, Event)>> = vec![None];
    let mut level = vec![(first, start.clone())];
    let mut graph = graph::Graph::default();
    let (mut depth, mut transitions) = (0, 0);
    let mut trouble = first_trouble(&search, start).map(|what| (what, first, None));
    let mut said = Instant::now();
    while trouble.is_none()
        && !level.is_empty()
        && depth < bounds.depth
        && parents.len() < bounds.states
    {
        let parts = one_level(&search, &level);
        let mut next = Vec::new();
        for part in parts {
            transitions += part.transitions;
            graph.add(&part.calm);
            trouble = trouble.or_else(|| part.troubles.into_iter().next());
            for (number, state, parent, event) in part.new {
                let at = usize::try_from(number).unwrap_or_default();
                if parents.len() <= at {
                    parents.resize(at + 1, None);
                }
                parents[at] = Some((parent, event));
                next.push((number, state));
            }
        }
        graph.expanded(level.iter().map(|(number, _)| *number));
        level = next;
        depth += 1;
        if said.elapsed() >= SAYS {
            said = Instant::now();
            println!("  depth {depth}: {} states", parents.len());
        }
    }
    let exhausted = level.is_empty();
    let history = |at: u32, last: Option<Event>| history(&parents, at, last);
    let mut found = trouble.map(|(what, at, last)| (what, history(at, last)));
    if found.is_none() {
        for at in graph.bottoms(parents.len()) {
            let history = history(at, None);
            let state = replay(start, &history);
            let troubles = crate::world::rest::troubles(&state);
            if let Some(what) = troubles.first() {
                found = Some((format!("nothing goes on: {what}"), history));
                break;
            }
        }
    }
    Found {
        states: parents.len(),
        transitions,
        depth,
        exhausted,
        trouble: found,
    }
}

/// Whether a state comes to rest by fair rounds.
///
/// # Errors
/// What is wrong on the way, or there.
pub fn comes_to_rest(state: &State) -> Result<(), String> {
    Rests::new().comes_to_rest(state)
}

fn first_trouble(search: &Search<'_>, state: &State) -> Option<String> {
    broken(state).or_else(|| search.rests.comes_to_rest(state).err())
}

/// Everything that may happen in the states of one level.
fn one_level(search: &Search<'_>, level: &[(u32, State)]) -> Vec<Part> {
    let next = AtomicUsize::new(0);
    let one = || {
        let mut part = Part::default();
        while !search.stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((number, state)) = level.get(at) else {
                break;
            };
            expand(search, *number, state, &mut part);
        }
        part
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        let parts = threads
            .into_iter()
            .map(|thread| thread.join().expect("a part"));
        parts.collect()
    })
}

fn expand(search: &Search<'_>, from: u32, state: &State, part: &mut Part) {
    events::all(state, search.faults, &mut |event, next| match next {
        Next::Nothing => (),
        Next::Broken(what) => {
            part.troubles.push((what, from, Some(event)));
            search.stop.store(true, Ordering::Relaxed);
        }
        Next::State(after) => {
            part.transitions += 1;
            let (number, is_new) = search.known.number(digest(&after));
            if !event.is_fault() {
                part.calm.push((from, number));
            }
            if !is_new {
                return;
            }
            if let Some(what) = first_trouble(search, &after) {
                part.troubles.push((what, from, Some(event)));
                search.stop.store(true, Ordering::Relaxed);
            }
            part.new.push((number, *after, from, event));
        }
    });
}

fn history(parents: &[Option<(u32, Event)>], at: u32, last: Option<Event>) -> Vec<Event> {
    let mut events: Vec<Event> = last.into_iter().collect();
    let mut at = at;
    while let Some((parent, event)) = parents[usize::try_from(at).unwrap_or_default()] {
        events.push(event);
        at = parent;
    }
    events.reverse();
    events
}

/// The state to which a history leads.
pub fn replay(start: &State, history: &[Event]) -> State {
    let mut state = start.clone();
    for event in history {
        if let Next::State(next) = events::happen(&state, *event) {
            state = *next;
        }
    }
    state
}
