//! What the API server refuses of the manager, pass after pass.

use std::time::Instant;

use k8s_openapi::api::core::v1::Event;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use tatara_core::api::conditions::{ConditionType, find};
use tatara_core::api::{Machine, MachineSet};

use crate::simulated::site::Site;
use crate::support::wait::eventually;

/// Refuses every Machine, each with its own words.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-machines}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [cluster.k8s.io], apiVersions: [v1alpha1], operations: [CREATE], resources: [machines]}
  validations:
  - {expression: "false", messageExpression: "'no room for ' + object.metadata.name"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-machines}
spec: {policyName: no-machines, validationActions: [Deny]}
"#;

async fn set(site: &Site) -> Option<MachineSet> {
    let sets = site.api::<MachineSet>().list(&ListParams::default()).await;
    sets.expect("MachineSets").items.pop()
}

/// What is said of failed passes over the set.
async fn reported(site: &Site) -> Option<String> {
    let status = set(site).await?.status?;
    let condition = find(&status.conditions, ConditionType::Reconciled)?;
    assert_eq!(condition.status, "False");
    Some(condition.message.clone())
}

/// Whether the policy refuses a Machine. Other failures are not its doing.
async fn is_refused(site: &Site) -> Option<()> {
    let spec = serde_json::json!({ "versions": { "kubelet": "v1.36.3" } });
    let spec = serde_json::from_value(spec).expect("a spec");
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let machines = site.api::<Machine>();
    let refusal = machines
        .create(&dry_run, &Machine::new("probe", spec))
        .await;
    let refusal = refusal.err()?.to_string();
    refusal.contains("no room for probe").then_some(())
}

/// How many Events say that passes over the set fail.
async fn published(site: &Site) -> u64 {
    let name = set(site).await.expect("the set").name_any();
    let events: Api<Event> = site.api();
    let events = events.list(&ListParams::default()).await.expect("Events");
    let about = |event: &&Event| {
        event.involved_object.name.as_ref() == Some(&name)
            && event.reason.as_deref() == Some("PassFailed")
    };
    events.items.iter().filter(about).count() as u64
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_refusal_that_lasts_is_said_once_and_until_it_is_over() {
    let site = Site::new().await;
    site.deployment("pool", 0, serde_json::json!({}));
    eventually("its MachineSet", async || set(&site).await).await;
    site.apply(POLICY);
    eventually("a policy that is obeyed", async || is_refused(&site).await).await;

    let since = Instant::now();
    site.scale("pool", 2);
    let message = eventually("a report", async || reported(&site).await).await;
    for part in ["no room for pool-", "correct the admission policy"] {
        assert!(message.contains(part), "{message}");
    }
    // writing so wakes no pass that fails, and says so, again and again
    site.until_quiet().await;
    let events = eventually("an Event", async || {
        Some(published(&site).await).filter(|count| *count > 0)
    });
    let events = events.await;
    // each attempt is for a Machine of another name: other words, and of those one in a minute
    let most = 1 + since.elapsed().as_secs() / 60;
    assert!(events <= most, "{events} Events, at most {most}");
    let still = reported(&site).await.expect("the report");
    assert!(still == message || most > 1, "{still} after {message}");

    site.kubectl(
        &["delete", "validatingadmissionpolicybinding/no-machines"],
        "",
    );
    site.until_ready("pool", 2).await;
    let over = eventually("the end of the report", async || {
        reported(&site).await.is_none().then_some(())
    });
    over.await;
}
