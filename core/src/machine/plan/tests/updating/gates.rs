//! Feature gates that a version does not know are named before anything is done for it.

use super::*;

/// Settings of the Cluster, and those that kubeadm's ConfigMaps have.
fn with_settings(observed: Observed, edited: &Value, recorded: &Value) -> Observed {
    with_cluster(observed, |cluster| {
        let map =
            |value: &Value, field: &str| value[field].as_object().cloned().unwrap_or_default();
        let spec = cluster.spec.as_mut().expect("a spec");
        spec.kubeadm.cluster_configuration = map(edited, "kubeadm.clusterConfiguration");
        spec.kubelet_configuration = map(edited, "kubeletConfiguration");
        cluster.settings.recorded = recorded.as_object().cloned().expect("settings");
    })
}

#[test]
fn a_gate_that_the_wanted_version_does_not_know_is_named_before_the_first_step() {
    let kubelet =
        |gate: &str| json!({ "kubeletConfiguration": { "featureGates": { (gate): true } } });
    let server = json!({ "kubeadm.clusterConfiguration": { "apiServer": {
        "extraArgs": [{ "name": "feature-gates", "value": "TopologyAwareHints=true" }],
    } } });
    let none = json!({});
    let worker = || old_worker(&[]);
    let plane = || old_control_plane(&[OWN], &[]);
    let gone = kubelet("MemoryManager");
    let named: &[&str] = &[
        "v1.36.3 does not know feature gate MemoryManager, which v1.36 removed",
        "Remove it from kubeletConfiguration.featureGates",
    ];
    let refused = ("UpToDate", "InvalidConfiguration", named);
    for observed in [worker(), plane()] {
        let plan = plan(&with_settings(observed, &gone, &none), at(0));
        expect("a gate of the kubelet", &plan, &[], refused);
    }
    let of_server = plan(&with_settings(plane(), &server, &none), at(0));
    let named: &[&str] = &[
        "kubeadm.clusterConfiguration.apiServer.extraArgs",
        "TopologyAwareHints",
    ];
    let told = ("UpToDate", "InvalidConfiguration", named);
    expect("a gate of the API server", &of_server, &[], told);
    let begins = [Action::RunJob(JobKind::Upgrade)];
    let goes = says("Updating", "KubeadmUpgrade");
    let other = plan(&with_settings(worker(), &server, &none), at(0));
    expect("a worker has no API server", &other, &begins, goes);
    let known = plan(&with_settings(worker(), &kubelet("NodeSwap"), &none), at(0));
    expect("a gate that it knows", &known, &begins, goes);
    let removed = plan(&with_settings(worker(), &none, &gone), at(0));
    let waits: &[&str] = &["waiting until kubeletConfiguration in kubeadm's ConfigMaps is without"];
    let told = ("UpToDate", "VersionSkew", waits);
    expect("it was removed a moment ago", &removed, &[], told);
}

#[test]
fn nothing_is_prepared_for_a_node_that_would_not_start() {
    let gone = json!({ "kubeletConfiguration": { "featureGates": { "MemoryManager": true } } });
    let fresh = ours(from_packages(self::worker()), Vec::new());
    let plan = plan(&with_settings(fresh, &gone, &json!({})), at(0));
    let told = (
        "BootstrapReady",
        "InvalidConfiguration",
        &["MemoryManager"][..],
    );
    expect("a worker that is to join", &plan, &[], told);
}
