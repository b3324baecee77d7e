//! One failure: how it is made, what has to be said of it and where, and how it is mended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::stage::Stage;

/// How long texts are waited for unless a failure takes longer by its nature. Times are printed, and judged by people.
pub const GIVE_UP: Duration = Duration::from_mins(2);

/// Texts that stand have to stay while the manager tries again.
const STEADY: Duration = Duration::from_secs(4);

/// A failure. Objects are `KIND/NAME`; `KIND/NAME-*` is any of that kind whose name begins so.
pub struct Case {
    pub name: &'static str,
    pub inject: fn(&Stage),
    /// Whose `Ready` has to say it: the Machine or Host, what is above it, and its Cluster.
    pub on: &'static [&'static str],
    /// Words of the cause.
    pub cause: &'static [&'static str],
    /// Words of the remedy.
    pub remedy: &'static [&'static str],
    pub undo: fn(&Stage),
    /// Makes room for the next one, once it is healed.
    pub end: fn(&Stage),
}

/// What came of a failure.
#[derive(Debug, Default)]
pub struct Told {
    /// After how many seconds cause and remedy stood on each object.
    pub cause: BTreeMap<String, f64>,
    pub remedy: BTreeMap<String, f64>,
    /// What was missing, or did not stay.
    pub wrong: Vec<String>,
}

impl Case {
    /// Makes the failure, looks at what is said, mends it, and sees it go.
    pub async fn run(&self, stage: &Stage, give_up: Duration) -> Told {
        eprintln!("\n{}", self.name);
        (self.inject)(stage);
        let mut told = self.told(stage, give_up).await;
        if told.wrong.is_empty() {
            self.stays(stage, &mut told).await;
        }
        self.described(stage, &mut told).await;
        (self.undo)(stage);
        self.heals(stage, &mut told).await;
        told
    }

    async fn told(&self, stage: &Stage, give_up: Duration) -> Told {
        let mut told = Told::default();
        let mut last = BTreeMap::new();
        let started = Instant::now();
        while started.elapsed() < give_up {
            for on in self.on {
                let text = stage.ready_says(on).await;
                let after = started.elapsed().as_secs_f64();
                if last.get(on) != Some(&text) {
                    eprintln!("  {after:5.1} s  {on}: {text}");
                    last.insert(on, text.clone());
                }
                for (words, times) in [
                    (self.cause, &mut told.cause),
                    (self.remedy, &mut told.remedy),
                ] {
                    if missing(&text, words).is_none() {
                        times.entry((*on).to_owned()).or_insert(after);
                    }
                }
            }
            if told.cause.len() + told.remedy.len() == 2 * self.on.len() {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for on in self.on {
            let text = last.get(on).cloned().unwrap_or_default();
            let absent = self.absent(&text);
            told.wrong
                .extend(absent.map(|what| format!("{on}: {what} in: {text}")));
        }
        told
    }

    /// A retry must not put its progress in the place of the cause.
    async fn stays(&self, stage: &Stage, told: &mut Told) {
        let started = Instant::now();
        while started.elapsed() < STEADY {
            for on in self.on {
                let text = stage.ready_says(on).await;
                if let Some(absent) = self.absent(&text) {
                    let wrong = format!("{on} does not keep it: {absent} in: {text}");
                    eprintln!("  {wrong}");
                    told.wrong.push(wrong);
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn described(&self, stage: &Stage, told: &mut Told) {
        for on in self.on {
            let text = stage.described(on).await;
            if let Some(absent) = self.absent(&text) {
                told.wrong
                    .push(format!("tatara describe {on}: {absent} in: {text}"));
            }
        }
    }

    /// What is no longer wrong is no longer said.
    async fn heals(&self, stage: &Stage, told: &mut Told) {
        let started = Instant::now();
        let mut still = None;
        while started.elapsed() < GIVE_UP * 2 {
            still = None;
            for on in self.on {
                let text = stage.ready_says(on).await;
                if missing(&text, self.cause).is_none() {
                    still = Some(format!("{on} still says, after it was mended: {text}"));
                }
            }
            if still.is_none() {
                eprintln!("  healed after {:.1} s", started.elapsed().as_secs_f64());
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        told.wrong.extend(still);
    }

    fn absent(&self, text: &str) -> Option<String> {
        let cause = missing(text, self.cause).map(|word| format!("no \"{word}\" (cause)"));
        cause.or_else(|| missing(text, self.remedy).map(|word| format!("no \"{word}\" (remedy)")))
    }
}

/// The first of these words that a text does not have.
fn missing<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    words.iter().find(|word| !text.contains(**word)).copied()
}
