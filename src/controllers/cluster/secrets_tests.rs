use super::*;

fn secret(record: Option<&str>) -> Secret {
    let mut secret = Secret::default();
    let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
    secret.annotations_mut().extend(record);
    secret
}

fn cluster(record: Option<&str>) -> Cluster {
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let cluster = json!({"metadata": {"name": "c"}, "spec": {"clusterNetwork": network}});
    let mut cluster: Cluster = serde_json::from_value(cluster).expect("a Cluster");
    let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
    cluster.annotations_mut().extend(record);
    cluster
}

#[test]
fn a_secret_of_another_cluster_is_known_by_its_owner_or_label() {
    let mut secret = secret(None);
    assert_eq!(other_cluster(&secret, &cluster(None)), None, "a user's own");
    let labels = secret.labels_mut();
    labels.insert(LABEL_CLUSTER.into(), "b".into());
    assert_eq!(
        other_cluster(&secret, &cluster(None)),
        None,
        "a user's label"
    );
    let labels = secret.labels_mut();
    labels.insert(LABEL_MANAGED_BY.into(), MANAGED_BY.into());
    let other = Some("b".to_owned());
    assert_eq!(other_cluster(&secret, &cluster(None)), other);
    secret.labels_mut().insert(LABEL_CLUSTER.into(), "c".into());
    assert_eq!(other_cluster(&secret, &cluster(None)), None, "its own");
    let owner = json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "name": "b", "uid": "1"}]);
    secret.metadata.owner_references = serde_json::from_value(owner).expect("owners");
    assert_eq!(other_cluster(&secret, &cluster(None)), other);
}

#[test]
fn a_ca_in_place_of_the_one_that_the_control_plane_was_made_with_is_not_used() {
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    let made = || Authorities::load_or_generate("c", &BTreeMap::new(), now).expect("a CA");
    let (own, other) = (made().0, made().0);
    let pem = |of: &Authorities| of.cluster.certificate_pem().to_owned();
    let both = pem(&other) + &pem(&own);
    for (case, made_with, is_used) in [
        ("the same", Some(pem(&own)), true),
        ("before there is a control plane", None, true),
        ("a bundle with the former one", Some(both), true),
        ("unreadable", Some("no certificate".into()), true),
        ("another", Some(pem(&other)), false),
    ] {
        let (state, authorities) = judged("c", own.clone(), made_with);
        assert_eq!(authorities.is_some(), is_used, "{case}");
        let replaced = Certificates::Replaced("c-ca".into());
        assert_eq!(state == replaced, !is_used, "{case}: {state:?}");
    }
}

#[test]
fn only_the_record_of_the_cluster_itself_goes_with_it() {
    assert!(has_record_of(&secret(Some("m")), &cluster(Some("m"))));
    assert!(
        !has_record_of(&secret(Some("m")), &cluster(None)),
        "in doubt"
    );
    assert!(!has_record_of(&secret(Some("other")), &cluster(Some("m"))));
    assert!(!has_record_of(&secret(None), &cluster(None)));
}
