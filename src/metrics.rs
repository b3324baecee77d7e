//! Prometheus metrics, with few and bounded labels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tatara_core::api::Cluster;
use tatara_core::api::cluster::{HeldTurn, TurnAction};

/// Labels of reconciles: the controller and the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReconcileLabels {
    /// Name of the controller.
    pub controller: &'static str,
    /// `ok`, or the kind of the error.
    pub result: &'static str,
}

/// Labels of the units of steps that run on hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StepLabels {
    /// prepare, init, join or reset.
    pub unit: &'static str,
    /// succeeded, failed or disconnected.
    pub result: &'static str,
}

/// Labels of the time that Machines spend in a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StageLabels {
    /// Stage of a Machine.
    pub stage: &'static str,
}

/// Labels of requests to the management cluster's API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// GET, PATCH, POST or DELETE.
    pub method: String,
}

/// Labels of counts of objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabels {
    /// Kind of the objects.
    pub kind: String,
}

/// Labels of the turn of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TurnLabels {
    /// Namespace of the Cluster.
    pub namespace: String,
    /// Its name.
    pub cluster: String,
    /// init, join, remove or upgrade.
    pub action: &'static str,
}

/// The metrics of the manager.
#[derive(Clone)]
pub struct Metrics {
    /// Reconciles by controller and result.
    pub reconciles: Family<ReconcileLabels, Counter>,
    /// Finished units of steps, by result.
    pub steps: Family<StepLabels, Counter>,
    /// Seconds that Machines spend in a stage before the next one.
    pub stages: Family<StageLabels, Histogram>,
    /// Requests to the API server of the management cluster, by method.
    pub requests: Family<RequestLabels, Counter>,
    /// Objects that fail to decode, by kind.
    pub unreadable: Family<KindLabels, Gauge>,
    /// Since when somebody has the turn of a control plane, in seconds since 1970; nothing where
    /// nobody has it.
    pub turns: Family<TurnLabels, Gauge>,
    /// When each Machine entered its stage, by UID.
    since: Arc<Mutex<HashMap<String, (&'static str, Timestamp)>>>,
    registry: Arc<Registry>,
}

impl Default for Metrics {
    fn default() -> Self {
        let reconciles = Family::<ReconcileLabels, Counter>::default();
        let steps = Family::<StepLabels, Counter>::default();
        let requests = Family::<RequestLabels, Counter>::default();
        let stages = Family::<StageLabels, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.5, 2.0, 14))
        });
        let mut registry = Registry::with_prefix("tatara");
        registry.register(
            "reconciles",
            "Reconciles by controller and result",
            reconciles.clone(),
        );
        registry.register(
            "steps",
            "Finished units of steps on hosts, by result",
            steps.clone(),
        );
        registry.register(
            "machine_stage_seconds",
            "Seconds that Machines spend in a stage",
            stages.clone(),
        );
        registry.register(
            "api_requests",
            "Requests to the API server of the management cluster, by method",
            requests.clone(),
        );
        let unreadable = Family::<KindLabels, Gauge>::default();
        registry.register(
            "unreadable_objects",
            "Objects that fail to decode and are not reconciled, by kind",
            unreadable.clone(),
        );
        let turns = Family::<TurnLabels, Gauge>::default();
        registry.register(
            "control_plane_turn_start_timestamp_seconds",
            "Since when somebody has the turn to change a control plane",
            turns.clone(),
        );
        Self {
            turns,
            unreadable,
            reconciles,
            steps,
            stages,
            requests,
            since: Arc::default(),
            registry: Arc::new(registry),
        }
    }
}

impl Metrics {
    /// Counts one reconcile.
    pub fn reconciled(&self, controller: &'static str, result: &'static str) {
        self.reconciles
            .get_or_create(&ReconcileLabels { controller, result })
            .inc();
    }

    /// Counts one request to the API server of the management cluster.
    pub fn requested(&self, method: &str) {
        let method = method.to_owned();
        self.requests.get_or_create(&RequestLabels { method }).inc();
    }

    /// Records how many objects of a kind fail to decode now.
    pub fn unreadable(&self, kind: &str, count: usize) {
        let kind = kind.to_owned();
        let gauge = self.unreadable.get_or_create(&KindLabels { kind });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records who has the turn of a control plane now.
    pub fn turn(&self, cluster: &Cluster, held: Option<&HeldTurn>) {
        for action in TurnAction::ALL {
            let labels = TurnLabels {
                namespace: cluster.namespace().unwrap_or_default(),
                cluster: cluster.name_any(),
                action: action.as_str(),
            };
            match held.filter(|held| held.action == action.as_str()) {
                Some(held) => {
                    let since = held.since.0.as_second();
                    self.turns.get_or_create(&labels).set(since);
                }
                None => {
                    self.turns.remove(&labels);
                }
            }
        }
    }

    /// Records that a Machine enters this stage, and counts the seconds of the stage before.
    pub fn entered(&self, uid: &str, stage: &'static str, now: Timestamp) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match since.insert(uid.to_owned(), (stage, now)) {
            Some((before, at)) if before != stage => {
                let seconds = now.duration_since(at).as_secs_f64();
                let labels = StageLabels { stage: before };
                self.stages.get_or_create(&labels).observe(seconds);
            }
            Some(same) => {
                since.insert(uid.to_owned(), same);
            }
            None => {}
        }
    }

    /// Forgets a Machine that is deleted.
    pub fn gone(&self, uid: &str) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.remove(uid);
    }

    /// Counts a finished unit of steps.
    pub fn step_ended(&self, unit: &'static str, result: &'static str) {
        self.steps.get_or_create(&StepLabels { unit, result }).inc();
    }

    /// The metrics in the `OpenMetrics` text format.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a String cannot fail; an empty answer would show on the scraper.
        text::encode(&mut out, &self.registry).ok();
        out
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn steps_and_failed_passes_are_counted_by_what_came_of_them() {
        let metrics = Metrics::default();
        metrics.step_ended("init", "failed");
        metrics.step_ended("init", "failed");
        metrics.reconciled("host", "api");
        let text = metrics.text();
        for line in [
            "tatara_steps_total{unit=\"init\",result=\"failed\"} 2",
            "tatara_reconciles_total{controller=\"host\",result=\"api\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_turn_is_told_while_somebody_has_it() {
        let metrics = Metrics::default();
        let mut cluster = Cluster::new("a", Default::default());
        cluster.metadata.namespace = Some("lab".into());
        let held = |action: TurnAction, at| HeldTurn {
            name: "cp-0".into(),
            action: action.as_str().into(),
            since: Time(Timestamp::from_second(at).expect("a time")),
        };
        let told = || {
            let text = metrics.text();
            let lines = text
                .lines()
                .filter(|line| line.contains("turn") && !line.starts_with('#'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        metrics.turn(&cluster, Some(&held(TurnAction::Join, 70)));
        metrics.turn(&cluster, Some(&held(TurnAction::Upgrade, 90)));
        let name = "tatara_control_plane_turn_start_timestamp_seconds";
        let labels = r#"namespace="lab",cluster="a",action="upgrade""#;
        assert_eq!(told(), [format!("{name}{{{labels}}} 90")]);
        metrics.turn(&cluster, None);
        assert!(told().is_empty());
    }

    #[test]
    fn the_time_in_a_stage_is_told_when_it_ends() {
        let metrics = Metrics::default();
        let at = |second| Timestamp::from_second(second).expect("a time");
        metrics.entered("m", "Choosing", at(100));
        metrics.entered("m", "Choosing", at(103));
        metrics.entered("m", "Running", at(110));
        let text = metrics.text();
        assert!(
            text.contains("tatara_machine_stage_seconds_sum{stage=\"Choosing\"} 10.0"),
            "{text}"
        );
        assert!(!text.contains("stage=\"Running\""), "{text}");
    }
}
