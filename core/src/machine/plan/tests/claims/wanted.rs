//! What a Machine wants of its host: capacity, labels, a failure domain.

use super::*;

#[test]
fn requirements_are_held_against_the_facts() {
    let hosts = [Arc::new(host("a"))];
    for (requirements, lacks) in [
        (json!({}), None),
        (
            json!({ "cpus": 4, "memory": "8Gi", "disk": "100Gi", "architecture": "amd64" }),
            None,
        ),
        (json!({ "cpus": 5 }), Some("a (4 of 5 CPUs);")),
        (
            json!({ "memory": "8200Mi" }),
            Some("a (8192Mi of 8200Mi memory);"),
        ),
        (
            json!({ "disk": "108G" }),
            Some("a (102400Mi of 108G disk free in /var/lib);"),
        ),
        (
            json!({ "architecture": "arm64" }),
            Some("a (amd64, not arm64);"),
        ),
    ] {
        let wanted = wants(json!({ "requirements": requirements }));
        let refused = choose(&wanted, &hosts, "a", ME).err();
        let refused = refused.map(|refused| refused.message());
        match (lacks, refused) {
            (None, None) => {}
            (Some(lacks), Some(said)) => assert!(said.contains(lacks), "{said}"),
            (_, refused) => panic!("{requirements}: {refused:?}"),
        }
    }
}

#[test]
fn labels_and_failure_domain_select_and_a_mistake_names_its_field() {
    let hosts = [changed(
        &host("a"),
        &json!({ "spec": { "failureDomain": "rack-1" } }),
    )];
    for (spec, reason) in [
        (
            json!({ "hostSelector": { "matchLabels": { "pool": "a" } }, "failureDomain": "rack-1" }),
            None,
        ),
        (
            json!({ "hostSelector": { "matchLabels": { "pool": "b" } } }),
            Some((
                "NoMatchingHost",
                "the only Host in the namespace does not match hostSelector pool=b;",
            )),
        ),
        (
            json!({ "failureDomain": "rack-2" }),
            Some(("NoMatchingHost", " match failureDomain rack-2;")),
        ),
        (
            json!({ "hostSelector": { "matchExpressions": [{ "key": "pool", "operator": "Near", "values": ["a"] }] } }),
            Some((
                "InvalidConfiguration",
                "spec.providerSpec.value.hostSelector",
            )),
        ),
    ] {
        let chosen = choose(&wants(spec.clone()), &hosts, "a", ME);
        let refused = chosen
            .err()
            .map(|refusal| (refusal.reason, refusal.message()));
        match (refused, reason) {
            (None, None) => (),
            (Some((reason, message)), Some((wanted, words))) => {
                assert_eq!(reason, wanted, "{spec}");
                assert!(message.contains(words), "{spec}: {message}");
            }
            (refused, _) => panic!("{spec}: {refused:?}"),
        }
    }
}
