use serde_json::json;

use super::*;

fn found(
    of: fn(&Map<String, Value>, &KubernetesVersion) -> Option<UnknownGate>,
    configuration: &Value,
    version: &str,
) -> Option<(String, u64)> {
    let configuration = configuration.as_object().expect("an object");
    let version = version.parse().expect("a version");
    let found = of(configuration, &version)?;
    Some((format!("{} {}", found.field, found.gate), found.removed_in))
}

#[test]
fn a_gate_is_found_from_the_version_on_that_removed_it() {
    let arguments = |part: &str, value: &str| json!({ (part): { "extraArgs": [{ "name": "v", "value": "2" }, { "name": "feature-gates", "value": value }] } });
    let etcd = |more: Value| {
        let mut local = json!({ "extraArgs": [{ "name": "quota-backend-bytes", "value": "1" }, { "name": "experimental-corrupt-check-time", "value": "1h" }] });
        let object = local.as_object_mut().expect("an object");
        object.extend(more.as_object().expect("an object").clone());
        json!({ "etcd": { "local": local } })
    };
    let experimental = "etcd.local.extraArgs experimental-corrupt-check-time";
    let table = [
        (etcd(json!({})), "v1.36.3", None),
        (etcd(json!({})), "v1.37.2", Some(experimental)),
        (etcd(json!({ "imageTag": "3.6.8-0" })), "v1.37.2", None),
        (
            arguments("apiServer", "TopologyAwareHints=true"),
            "v1.35.4",
            None,
        ),
        (
            arguments("apiServer", "TopologyAwareHints=true"),
            "v1.36.3",
            Some("apiServer.extraArgs TopologyAwareHints"),
        ),
        (
            arguments("scheduler", "SchedulerQueueingHints=true, PodHostIPs=true"),
            "v1.34.0",
            Some("scheduler.extraArgs PodHostIPs"),
        ),
        (
            arguments("controllerManager", "SchedulerQueueingHints=true"),
            "v1.36.3",
            None,
        ),
        (
            arguments("controllerManager", "SchedulerQueueingHints=true"),
            "v1.37.2",
            Some("controllerManager.extraArgs SchedulerQueueingHints"),
        ),
        (
            json!({ "featureGates": { "PublicKeysECDSA": true } }),
            "v1.36.3",
            None,
        ),
        (
            json!({ "featureGates": { "PublicKeysECDSA": true } }),
            "v1.37.2",
            Some("featureGates PublicKeysECDSA"),
        ),
        (
            json!({ "featureGates": { "ControlPlaneKubeletLocalMode": true } }),
            "v1.35.4",
            None,
        ),
        (
            json!({ "featureGates": { "ControlPlaneKubeletLocalMode": true } }),
            "v1.36.3",
            Some("featureGates ControlPlaneKubeletLocalMode"),
        ),
        (json!({}), "v1.36.3", None),
    ];
    for (configuration, version, expected) in table {
        let found = found(of_control_plane, &configuration, version);
        assert_eq!(
            found.as_ref().map(|(text, _)| text.as_str()),
            expected,
            "{configuration} {version}"
        );
    }
    let kubelet = json!({ "featureGates": { "NodeSwap": true, "MemoryManager": true } });
    assert_eq!(found(of_component, &kubelet, "v1.35.4"), None);
    let expected = ("featureGates MemoryManager".to_owned(), 36);
    assert_eq!(found(of_component, &kubelet, "v1.36.0"), Some(expected));
}

#[test]
fn an_argument_of_etcd_has_a_successor_and_a_gate_has_none() {
    let told = |configuration: Value| {
        let version = "v1.37.2".parse().expect("a version");
        let configuration = configuration.as_object().expect("an object");
        let found = of_control_plane(configuration, &version).expect("it is not known");
        format!("{}. {}", found.sentence(&version), found.remedy("k", "c"))
    };
    let etcd = told(json!({ "etcd": { "local": { "extraArgs": [
        { "name": "experimental-corrupt-check-time", "value": "1h" },
    ] } } }));
    let cause = "etcd 3.7, which Kubernetes v1.37.2 brings, does not start with experimental-corrupt-check-time. ";
    assert!(etcd.starts_with(cause), "{etcd}");
    let remedy =
        "k.etcd.local.extraArgs in spec.providerSpec.value of Cluster c: by corrupt-check-time, or";
    assert!(etcd.contains(remedy), "{etcd}");
    let gate = told(json!({ "featureGates": { "PublicKeysECDSA": true } }));
    assert!(
        gate.contains("PublicKeysECDSA, which v1.37 removed"),
        "{gate}"
    );
    assert!(gate.contains("Remove it from k.featureGates in"), "{gate}");
}
