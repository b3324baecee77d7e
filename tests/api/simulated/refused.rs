//! What the API server refuses of the manager, pass after pass.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use tatara_core::api::MachineSet;
use tatara_core::api::conditions::{ConditionType, find};

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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_refusal_that_lasts_is_said_once_and_until_it_is_over() {
    let site = Site::new().await;
    site.deployment("pool", 0, serde_json::json!({}));
    eventually("its MachineSet", async || set(&site).await).await;
    site.apply(POLICY);
    eventually("a policy that is obeyed", async || {
        let machine = r#"{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "probe", "namespace": "default"}, "spec": {"versions": {"kubelet": "v1.36.3"}}}"#;
        let is_made = site.try_kubectl(&["create", "--dry-run=server", "-f", "-"], machine);
        (!is_made).then_some(())
    })
    .await;

    site.scale("pool", 2);
    let message = eventually("a report", async || reported(&site).await).await;
    for part in ["no room for pool-", "correct the admission policy"] {
        assert!(message.contains(part), "{message}");
    }
    // writing so wakes no pass that fails, and says so, again and again
    site.until_quiet().await;
    assert_eq!(reported(&site).await, Some(message));
    let name = set(&site).await.expect("the set").name_any();
    let events: Api<Event> = site.api();
    let events = events.list(&ListParams::default()).await.expect("Events");
    let about = |event: &&Event| {
        event.involved_object.name.as_ref() == Some(&name)
            && event.reason.as_deref() == Some("PassFailed")
    };
    assert_eq!(events.items.iter().filter(about).count(), 1);

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
