use super::*;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

#[test]
fn the_secrets_have_the_names_that_cluster_api_uses() {
    assert_eq!(
        AuthoritySecret::ALL.map(|which| which.name("forge")),
        ["forge-ca", "forge-etcd", "forge-proxy", "forge-sa"]
    );
}

#[test]
fn what_is_missing_is_made_and_told_and_what_is_there_stays() {
    let (first, made) = Authorities::load_or_generate("forge", &BTreeMap::new(), now()).unwrap();
    assert_eq!(made, AuthoritySecret::ALL);
    let mut found: BTreeMap<_, _> = AuthoritySecret::ALL
        .into_iter()
        .map(|which| (which, first.secret_data(which)))
        .collect();
    let (second, made) = Authorities::load_or_generate("forge", &found, now()).unwrap();
    assert_eq!(made, []);
    for which in AuthoritySecret::ALL {
        assert_eq!(second.secret_data(which), first.secret_data(which));
    }

    found.remove(&AuthoritySecret::Etcd);
    let (third, made) = Authorities::load_or_generate("forge", &found, now()).unwrap();
    assert_eq!(made, [AuthoritySecret::Etcd]);
    assert_eq!(
        third.cluster.public_key_hashes(),
        first.cluster.public_key_hashes()
    );
    assert_ne!(
        third.etcd.public_key_hashes(),
        first.etcd.public_key_hashes()
    );
}

#[test]
fn a_service_account_pair_that_does_not_fit_together_is_refused() {
    let one = ServiceAccountKey::generate().unwrap().secret_data();
    let mut mixed = ServiceAccountKey::generate().unwrap().secret_data();
    mixed.insert("tls.key".into(), one["tls.key"].clone());
    let found = BTreeMap::from([(AuthoritySecret::ServiceAccount, mixed)]);
    assert_eq!(
        Authorities::load_or_generate("forge", &found, now())
            .unwrap_err()
            .to_string(),
        "Secret forge-sa: the private key in tls.key does not match tls.crt; store a matching pair"
    );
}

#[test]
fn a_control_plane_host_gets_the_files_that_kubeadm_looks_for_and_keys_only_for_root() {
    let (authorities, _) = Authorities::load_or_generate("forge", &BTreeMap::new(), now()).unwrap();
    let files: Vec<_> = control_plane_files(&authorities)
        .into_iter()
        .map(|file| {
            let first = file
                .content
                .expose_secret()
                .lines()
                .next()
                .unwrap()
                .to_owned();
            format!("{:o} {} {first}", file.mode, file.path)
        })
        .collect();
    assert_eq!(
        files,
        [
            "644 /etc/kubernetes/pki/ca.crt -----BEGIN CERTIFICATE-----",
            "600 /etc/kubernetes/pki/ca.key -----BEGIN PRIVATE KEY-----",
            "644 /etc/kubernetes/pki/front-proxy-ca.crt -----BEGIN CERTIFICATE-----",
            "600 /etc/kubernetes/pki/front-proxy-ca.key -----BEGIN PRIVATE KEY-----",
            "644 /etc/kubernetes/pki/etcd/ca.crt -----BEGIN CERTIFICATE-----",
            "600 /etc/kubernetes/pki/etcd/ca.key -----BEGIN PRIVATE KEY-----",
            "644 /etc/kubernetes/pki/sa.pub -----BEGIN PUBLIC KEY-----",
            "600 /etc/kubernetes/pki/sa.key -----BEGIN PRIVATE KEY-----",
        ]
    );
    assert!(!format!("{authorities:?}").contains("PRIVATE KEY"));
    assert!(!format!("{:?}", control_plane_files(&authorities)).contains("PRIVATE KEY"));
}
