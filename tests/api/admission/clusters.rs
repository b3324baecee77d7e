//! What is wrong in a Cluster.

use serde_json::{Value, json};

use crate::admission::manifests::{bad, cluster, refuse};
use crate::support::kubectl::installed;

#[test]
#[ignore = "needs a management plane"]
fn a_bad_cluster_is_refused_with_field_value_and_remedy() {
    let network = "spec.clusterNetwork";
    let pods = "spec.clusterNetwork.pods.cidrBlocks";
    let services = "spec.clusterNetwork.services.cidrBlocks";
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, cluster("bad"), path, value, says)
    };
    refuse(vec![
        with(
            "misspelt field",
            "spec.clusterNetwork.podz",
            json!({}),
            &["unknown field \"spec.clusterNetwork.podz\""],
        ),
        with(
            "no network",
            network,
            Value::Null,
            &["spec.clusterNetwork: Required value"],
        ),
        with(
            "no ranges",
            pods,
            json!([]),
            &[pods, "should have at least 1 items"],
        ),
        with(
            "three ranges",
            pods,
            json!(["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"]),
            &[pods, "must have at most 2 items"],
        ),
        with(
            "no CIDR",
            pods,
            json!(["ten"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"ten\"",
                "must be a range in CIDR notation, such as 10.244.0.0/16",
            ],
        ),
        with(
            "prefix too long",
            pods,
            json!(["10.244.0.0/33"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"10.244.0.0/33\"",
                "must be a range in CIDR notation, such as 10.244.0.0/16",
            ],
        ),
        with(
            "host bits set",
            pods,
            json!(["10.244.0.1/16"]),
            &[
                "spec.clusterNetwork.pods.cidrBlocks[0]",
                "\"10.244.0.1/16\"",
                "write the address of the network itself",
            ],
        ),
        with(
            "two of the same family",
            pods,
            json!(["10.244.0.0/16", "10.245.0.0/16"]),
            &[
                pods,
                "10.244.0.0/16 and 10.245.0.0/16",
                "one of IPv4 and one of IPv6",
            ],
        ),
        with(
            "pods hold services",
            pods,
            json!(["10.0.0.0/8"]),
            &[
                network,
                "pods.cidrBlocks 10.0.0.0/8",
                "services.cidrBlocks 10.96.0.0/16",
                "give them ranges that share no address",
            ],
        ),
        with(
            "services hold pods",
            services,
            json!(["10.240.0.0/12"]),
            &[
                network,
                "services.cidrBlocks 10.240.0.0/12",
                "give them ranges that share no address",
            ],
        ),
        with(
            "services too many",
            services,
            json!(["100.0.0.0/8"]),
            &[
                network,
                "services.cidrBlocks 100.0.0.0/8",
                "use at most a /12 of IPv4",
            ],
        ),
        with(
            "bad domain",
            "spec.clusterNetwork.serviceDomain",
            json!("cluster local"),
            &[
                "spec.clusterNetwork.serviceDomain",
                "\"cluster local\"",
                "must be a DNS domain, such as cluster.local",
            ],
        ),
        with(
            "no source",
            "spec.providerSpec",
            json!({ "valueFrom": {} }),
            &[
                "spec.providerSpec.valueFrom",
                "set valueFrom.machineClass.name",
            ],
        ),
        with(
            "provider spec is text",
            "spec.providerSpec",
            json!({ "value": "ssh" }),
            &[
                "spec.providerSpec.value",
                "must be of type object: \"string\"",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_cluster_whose_name_is_no_label_value_is_refused() {
    let plane = installed();
    plane.namespace("names");
    let name = "c".repeat(63);
    plane.create("names", &cluster(&name)).out();
    let label = json!({ "metadata": { "labels": { "x": "y" } } });
    plane.patch("names", &["cluster", &name], &label).out();
    let said = plane.create("names", &cluster(&"c".repeat(64)));
    said.refused(
        "64",
        &[
            "metadata.name",
            "metadata.name has more than 63 characters; use a shorter one",
        ],
    );
}
