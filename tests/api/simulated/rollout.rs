//! `tatara rollout` on a MachineDeployment of simulated machines.

use std::collections::BTreeSet;

use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::MachineDeployment;

use crate::simulated::site::Site;

async fn names(site: &Site) -> BTreeSet<String> {
    let machines = site.machines("pool").await;
    machines.iter().map(ResourceExt::name_any).collect()
}

async fn kubelet(site: &Site) -> Option<String> {
    let deployment = site.api::<MachineDeployment>().get("pool").await;
    let versions = deployment.expect("it").spec.template.spec.versions;
    versions.map(|versions| versions.kubelet)
}

fn rollout(site: &Site, arguments: &[&str]) -> Result<String, String> {
    let all = [&["rollout"], arguments].concat();
    let (is_well, output, error) = site.tatara(&all);
    if is_well { Ok(output) } else { Err(error) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_rollout_is_followed_restarted_paused_and_taken_back() {
    let site = Site::new().await;
    site.deployment("pool", 2, json!({}));
    let kept = r#"{"spec":{"revisionHistoryLimit":5}}"#;
    site.kubectl(
        &[
            "patch",
            "machinedeployment",
            "pool",
            "--type=merge",
            "-p",
            kept,
        ],
        "",
    );
    let followed = rollout(
        &site,
        &["status", "machinedeployment/pool", "--timeout", "120"],
    );
    let followed = followed.expect("a complete rollout");
    assert!(
        followed.ends_with(
            "default/pool: all 2 Machines are available and have the current template\n"
        ),
        "{followed}"
    );
    let first = names(&site).await;

    // other Machines of the same template, once
    rollout(&site, &["restart", "pool"]).expect("a restart");
    rollout(&site, &["status", "pool", "--timeout", "120"]).expect("its end");
    let second = names(&site).await;
    assert!(
        first.is_disjoint(&second) && second.len() == 2,
        "{first:?} {second:?}"
    );
    site.until_quiet().await;
    assert_eq!(names(&site).await, second);

    let patch = r#"{"spec":{"template":{"spec":{"versions":{"kubelet":"v1.35.4"}}}}}"#;
    site.kubectl(
        &[
            "patch",
            "machinedeployment",
            "pool",
            "--type=merge",
            "-p",
            patch,
        ],
        "",
    );
    rollout(&site, &["status", "pool", "--timeout", "120"]).expect("a roll");
    let history = rollout(&site, &["history", "pool"]).expect("its history");
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 4, "{history}");
    assert!(lines[2].contains("restart absent → "), "{history}");
    assert!(
        lines[3].ends_with("versions.kubelet 1.36.3 → 1.35.4"),
        "{history}"
    );

    rollout(&site, &["pause", "pool"]).expect("a pause");
    for (arguments, says) in [
        (&["pause", "pool"][..], "is paused already"),
        (
            &["restart", "pool"],
            "tatara rollout resume pool -n default",
        ),
        (&["undo", "machine/pool"], "name a MachineDeployment"),
        (&["status", "none"], "does not exist"),
    ] {
        let error = rollout(&site, arguments).expect_err("a refusal");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    rollout(&site, &["resume", "pool"]).expect("a resumption");
    let error = rollout(&site, &["undo", "pool", "--to-revision", "9"]);
    let error = error.expect_err("no such revision");
    assert!(
        error.contains("has no revision 9") && error.contains("rollout history"),
        "{error}"
    );

    // the Machines that were restarted come back as others: theirs are gone
    rollout(&site, &["undo", "pool"]).expect("the way back");
    rollout(&site, &["status", "pool", "--timeout", "120"]).expect("its end");
    assert_eq!(kubelet(&site).await.as_deref(), Some("v1.36.3"));
    rollout(&site, &["undo", "pool", "--to-revision", "1"]).expect("the first");
    rollout(&site, &["status", "pool", "--timeout", "120"]).expect("its end");
    let error = rollout(&site, &["status", "pool", "--no-watch", "--timeout", "1"]);
    assert!(error.is_ok(), "{error:?}");
}
