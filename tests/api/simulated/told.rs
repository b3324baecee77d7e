//! What the manager tells of its work: counts for Prometheus, and a log that programs read.

use serde_json::{Value, json};

use crate::simulated::site::Site;
use crate::support::wait::eventually;

const BINDING: &str = "tatara-machine-set-controller";

/// A pool that the manager may not make Machines for is told of, and made once it may.
pub async fn a_failure_is_counted_and_told_with_its_cluster(site: &Site) {
    site.kubectl(&["delete", "clusterrolebinding", BINDING], "");
    site.deployment("told", 1, json!({}));
    let line = eventually("a line of the log", async || {
        let text = site.log();
        let lines = text.lines().map(serde_json::from_str::<Value>);
        let mut lines = lines.map(|line| line.expect("every line is JSON"));
        lines.find(|line| {
            // another set may be at work when the rights go
            let object = line["span"]["object"].as_str().unwrap_or_default();
            line["fields"]["message"] == "failed to reconcile"
                && line["span"]["controller"] == "machine-set"
                && object.starts_with("told-")
        })
    })
    .await;
    let about = &line["span"];
    assert_eq!(about["cluster"], "simulated", "{line}");
    assert_eq!(about["namespace"], "default", "{line}");
    let error = line["fields"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("machines"), "{line}");
    let failed = "tatara_reconciles_total{controller=\"machine-set\",result=\"api\"}";
    assert!(count(&site.metrics(), failed) > 0.0);
    site.install_rights();
    site.until_ready("told", 1).await;
}

/// What there is to count of simulated machines is counted.
pub fn the_work_so_far_is_counted(site: &Site) {
    let text = site.metrics();
    for controller in [
        "cluster",
        "cluster-profile",
        "machine",
        "machine-set",
        "machine-deployment",
    ] {
        let passes =
            format!("tatara_reconciles_total{{controller=\"{controller}\",result=\"ok\"}}");
        assert!(count(&text, &passes) > 0.0, "{text}");
    }
    for method in ["GET", "POST", "PATCH"] {
        let requests = format!("tatara_api_requests_total{{method=\"{method}\"}}");
        assert!(count(&text, &requests) > 0.0, "{text}");
    }
    // no step runs for a simulated machine
    let registers = "tatara_machine_stage_seconds_count{stage=\"Registering\"}";
    assert!(count(&text, registers) >= 3.0, "{text}");
}

/// The value of a series; 0 without one.
fn count(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0.0, |value| value.trim().parse().expect("a number"))
}
