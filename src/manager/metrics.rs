//! Prometheus metrics, with few and bounded labels.

use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Labels of reconciles: the controller, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReconcileLabels {
    /// Name of the controller.
    pub controller: &'static str,
    /// `ok`, or the kind of the error.
    pub result: &'static str,
}

/// Labels of steps on hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StepLabels {
    /// prepare, init, join or reset.
    pub unit: &'static str,
    /// succeeded, failed or disconnected.
    pub result: &'static str,
}

/// Labels of time in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PhaseLabels {
    /// Phase of a Machine.
    pub phase: String,
}

/// What the manager counts.
#[derive(Clone)]
pub struct Metrics {
    /// Reconciles by controller and result.
    pub reconciles: Family<ReconcileLabels, Counter>,
    /// Units of steps that ended, by result.
    pub steps: Family<StepLabels, Counter>,
    /// Seconds that Machines spent in a phase before the next.
    pub phases: Family<PhaseLabels, Histogram>,
    registry: Arc<Registry>,
}

impl Default for Metrics {
    fn default() -> Self {
        let reconciles = Family::<ReconcileLabels, Counter>::default();
        let steps = Family::<StepLabels, Counter>::default();
        let phases = Family::<PhaseLabels, Histogram>::new_with_constructor(|| {
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
            "Units of steps on hosts that ended, by result",
            steps.clone(),
        );
        registry.register(
            "machine_phase_seconds",
            "Time of Machines in a phase",
            phases.clone(),
        );
        Self {
            reconciles,
            steps,
            phases,
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

    /// Counts the end of a unit of steps.
    pub fn step_ended(&self, unit: &'static str, result: &'static str) {
        self.steps.get_or_create(&StepLabels { unit, result }).inc();
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a String cannot fail; an empty answer would be seen by the scraper.
        text::encode(&mut out, &self.registry).ok();
        out
    }
}
