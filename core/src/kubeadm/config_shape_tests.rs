//! Parts of the wrong shape, text that YAML would read as something else, and networks without
//! room.

use serde_json::json;

use super::*;

#[test]
fn parts_of_the_wrong_shape_are_refused_and_cannot_remove_what_is_ours() {
    let user = user(&json!({"kubeadm": {
        "clusterConfiguration": {
            "networking": "10.244.0.0/16",
            "apiServer": {"extraArgs": {"v": "4"}, "certSANs": "api.example.com"},
        },
        "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"provider-id": "x"}}},
    }}));
    let base = "spec.providerSpec.value.kubeadm";
    assert_eq!(
        refusals(cluster_documents(&cluster(), &user)),
        [
            format!("{base}.clusterConfiguration.apiServer.certSANs is set; write a list"),
            format!(
                "{base}.clusterConfiguration.apiServer.extraArgs is set; write a list of {{name, value}}"
            ),
            format!("{base}.clusterConfiguration.networking is set; write an object of fields"),
        ]
    );
    assert_eq!(
        refusals(join(&node(), &discovery(), None, &user)),
        [format!(
            "{base}.joinConfiguration.nodeRegistration.kubeletExtraArgs is set; write a list of {{name, value}}"
        )]
    );
}

#[test]
fn a_cluster_is_judged_without_a_machine_as_far_as_that_goes() {
    let user = user(&json!({"kubeadm": {
        "clusterConfiguration": {"clusterName": "other"},
        "initConfiguration": {"nodeRegistration": {"name": "host-a"}, "dryRun": true},
        "joinConfiguration": {"controlPlane": {}},
    }}));
    let fields: Vec<_> = refusals(check(&cluster(), &user))
        .iter()
        .map(|told| told.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        fields,
        [
            "spec.providerSpec.value.kubeadm.clusterConfiguration.clusterName",
            "spec.providerSpec.value.kubeadm.initConfiguration.dryRun",
            "spec.providerSpec.value.kubeadm.joinConfiguration.controlPlane",
        ]
    );
}

#[test]
fn a_service_network_without_room_for_dns_is_named() {
    let mut cluster = cluster();
    cluster.service_cidrs = vec!["10.96.0.0/30".into()];
    assert_eq!(
        cluster_documents(&cluster, &ClusterProviderSpec::default())
            .unwrap_err()
            .to_string(),
        r#"spec.clusterNetwork.services.cidrBlocks[0] is "10.96.0.0/30"; it must be a network of at least 16 addresses, such as 10.96.0.0/16"#
    );
}

#[test]
fn text_that_yaml_would_read_as_something_else_survives() {
    let strings = [
        "no", "1e3", "0x1f", "~", "v: 1", "# x", "0%", "1.36", "", " a", "a\nb", "'", "\"",
    ];
    let args: Vec<_> = strings
        .iter()
        .map(|text| json!({"name": "x", "value": text}))
        .collect();
    let user =
        user(&json!({"kubeadm": {"clusterConfiguration": {"scheduler": {"extraArgs": args}}}}));
    let text = init(&cluster(), &node(), &api(), &user).unwrap();
    assert_eq!(
        documents(&text)[1]["scheduler"]["extraArgs"],
        Value::from(args)
    );
}
