//! What came of all failures, as a table.

use std::time::Duration;

use crate::case::{Case, GIVE_UP, Told};
use crate::stage::Stage;

#[derive(Default)]
pub struct Score {
    lines: Vec<String>,
    cause: usize,
    remedy: usize,
    on_cluster: usize,
    slowest: f64,
    wrong: Vec<String>,
}

impl Score {
    /// Unless its name lacks the text that `hack/test failures TEXT` asks for.
    pub async fn run(&mut self, stage: &Stage, case: &Case) {
        self.run_for(stage, case, GIVE_UP).await;
    }

    /// Of a failure that takes long by its nature.
    pub async fn run_for(&mut self, stage: &Stage, case: &Case, give_up: Duration) {
        let wanted = std::env::var("TATARA_FILTER").unwrap_or_default();
        if case.name.contains(&wanted) {
            let told = case.run(stage, give_up).await;
            self.add(case, told);
            (case.end)(stage);
        }
    }

    fn add(&mut self, case: &Case, told: Told) {
        let has = |times: &std::collections::BTreeMap<String, f64>| times.len() == case.on.len();
        let both = |on: &str| Some(told.cause.get(on)?.max(*told.remedy.get(on)?));
        let times: Vec<(&str, Option<f64>)> = case.on.iter().map(|on| (*on, both(on))).collect();
        let (clusters, objects): (Vec<_>, Vec<_>) =
            times.iter().partition(|(on, _)| on.starts_with("cluster/"));
        let first = objects
            .iter()
            .chain(&clusters)
            .find(|(on, _)| told.cause.contains_key(*on));
        self.cause += usize::from(first.is_some());
        self.remedy += usize::from(
            objects
                .iter()
                .chain(&clusters)
                .any(|(_, time)| time.is_some()),
        );
        let is_on_cluster = clusters.iter().all(|(_, time)| time.is_some());
        self.on_cluster += usize::from(is_on_cluster && !clusters.is_empty());
        let slowest = times
            .iter()
            .filter_map(|(_, time)| *time)
            .fold(0.0, f64::max);
        self.slowest = self.slowest.max(slowest);
        let says = |(on, time): &(&str, Option<f64>)| match time {
            Some(time) => format!("{on} {time:.1}"),
            None => format!("{on} -"),
        };
        let places: Vec<String> = times.iter().map(says).collect();
        let is_whole = has(&told.cause) && has(&told.remedy) && told.wrong.is_empty();
        let mark = if is_whole { "told" } else { "LACKS" };
        let line = format!(
            "{mark:5} {:44} {slowest:6.1} s   {}",
            case.name,
            places.join(", ")
        );
        eprintln!("{line}");
        self.lines.push(line);
        let wrong = told.wrong.into_iter();
        self.wrong
            .extend(wrong.map(|text| format!("{}: {text}", case.name)));
    }

    /// One line for each failure, with the seconds until cause and remedy stood on each object, and the sum.
    pub fn print(&self) {
        let all = self.lines.len();
        println!("{}", self.lines.join("\n"));
        println!(
            "cause {}/{all}, remedy {}/{all}, on the Cluster {}/{all}, slowest {:.1} s",
            self.cause, self.remedy, self.on_cluster, self.slowest
        );
    }

    pub fn assert(&self) {
        assert!(!self.lines.is_empty(), "no failure has a name like that");
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
    }
}
