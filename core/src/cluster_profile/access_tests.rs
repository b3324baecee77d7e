use super::*;

fn text(text: &str) -> Kubeconfig {
    Kubeconfig(text.into())
}

fn found(is_ours: bool, other: Option<&str>) -> ExistingSecret {
    ExistingSecret {
        uid: Some("secret-uid".into()),
        is_ours,
        other: other.map(Into::into),
        kubeconfig: Some(text("old")),
    }
}

fn observed(secret: Option<ExistingSecret>, token: bool, rival: Option<&str>) -> Observed {
    Observed {
        cluster: ClusterFacts {
            namespace: "metal".into(),
            name: "forge".into(),
            uid: "cluster-uid".into(),
            ..ClusterFacts::default()
        },
        server: Some(Server {
            url: "https://10.0.0.1:6443".into(),
            authority_pem: "PEM".into(),
        }),
        kubeconfig: token.then(|| text("new")),
        rival: rival.map(Into::into),
        secret,
        ..Observed::default()
    }
}

#[test]
fn a_secret_of_somebody_else_is_used_and_never_written_and_another_clusters_is_not_shown() {
    let (ours, theirs) = (|| Some(found(true, None)), || Some(found(false, None)));
    let others = || Some(found(false, Some("other")));
    for (case, secret, token, rival, expected) in [
        ("no token yet", None, false, None, "closed"),
        ("a token", None, true, None, "write"),
        ("another token", ours(), true, None, "write secret-uid"),
        ("a token that was revoked", ours(), false, None, "open"),
        ("a user's own", theirs(), true, None, "open"),
        (
            "that of another Cluster",
            others(),
            true,
            None,
            "taken by other",
        ),
        (
            "before the rival has written",
            None,
            true,
            Some("rival"),
            "taken by rival",
        ),
        (
            "the rival's",
            theirs(),
            true,
            Some("rival"),
            "taken by rival",
        ),
        (
            "ours before the rival came",
            ours(),
            false,
            Some("rival"),
            "open",
        ),
    ] {
        let said = match entry(&observed(secret, token, rival)) {
            Entry::Closed => "closed".to_owned(),
            Entry::Open(_, None) => "open".to_owned(),
            Entry::Open(_, Some(Action::WriteSecret { uid, kubeconfig })) => {
                assert_eq!(kubeconfig, text("new"), "{case}");
                format!("write {}", uid.unwrap_or_default())
                    .trim()
                    .to_owned()
            }
            Entry::Open(_, Some(other)) => panic!("{case}: {other:?}"),
            Entry::Taken(by) => format!("taken by {by}"),
        };
        assert_eq!(said, expected, "{case}");
    }
    let mut unknown = observed(ours(), true, None);
    unknown.server = None;
    assert_eq!(
        entry(&unknown),
        Entry::Closed,
        "where its API is served is not known"
    );
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let mut same = observed(Some(found(true, None)), true, None);
    assert!(!is_open(&same));
    same.kubeconfig = Some(text("old"));
    assert!(is_open(&same));
}

#[test]
fn the_secret_goes_with_its_cluster_and_no_kubeconfig_is_shown() {
    let observed = observed(None, true, None);
    let secret = secret(&observed.cluster, None, &text("new"));
    let owners = secret.metadata.owner_references.expect("an owner");
    assert_eq!(
        (owners[0].kind.as_str(), owners[0].uid.as_str()),
        ("Cluster", "cluster-uid")
    );
    assert_eq!(secret.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(secret.data.expect("data")["value"].0, b"new");
    assert!(!format!("{:?}", text("canary")).contains("canary"));
}
