use super::*;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn years(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count * 365 * 24)
}

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/pki/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn data(certificate: &str, key: &str) -> BTreeMap<String, ByteString> {
    pair(certificate, &key.into())
}

fn load(certificate: &str, key: &str) -> Result<Authority, String> {
    Authority::load(
        "forge-ca",
        &data(&fixture(certificate), &fixture(key)),
        now(),
    )
    .map_err(|error| error.to_string())
}

fn subject_and_issuer(pem: &str) -> (String, String) {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let (_, x509) = X509Certificate::from_der(&der).unwrap();
    (x509.subject().to_string(), x509.issuer().to_string())
}

fn verify(authority: &Authority, certificate: &ClientCertificate) {
    let der = CertificateDer::from_pem_slice(certificate.certificate_pem.as_bytes()).unwrap();
    let (_, leaf) = X509Certificate::from_der(&der).unwrap();
    let (_, root) = X509Certificate::from_der(&authority.certificate).unwrap();
    leaf.verify_signature(Some(root.public_key())).unwrap();
    assert_eq!(leaf.issuer().as_raw(), root.subject().as_raw());
}

#[test]
fn an_authority_that_we_made_is_read_back_and_lives_for_ten_years() {
    let made = Authority::generate("kubernetes", now()).unwrap();
    assert_eq!(made.not_after(), now() + years(10));
    let read = Authority::load("forge-ca", &made.secret_data(), now()).unwrap();
    assert_eq!(read.certificate_pem(), made.certificate_pem());
    assert_eq!(read.not_after(), made.not_after());
    assert_eq!(read.public_key_hashes(), made.public_key_hashes());
    assert_eq!(
        subject_and_issuer(made.certificate_pem()),
        ("CN=kubernetes".into(), "CN=kubernetes".into())
    );
}

#[test]
fn a_client_certificate_names_user_and_group_and_is_signed_by_its_authority() {
    let authority = Authority::generate("kubernetes", now()).unwrap();
    let certificate = authority
        .client_certificate(
            "tatara-admin",
            Some("kubeadm:cluster-admins"),
            years(1),
            now(),
        )
        .unwrap();
    verify(&authority, &certificate);
    assert_eq!(
        subject_and_issuer(&certificate.certificate_pem),
        (
            "O=kubeadm:cluster-admins, CN=tatara-admin".into(),
            "CN=kubernetes".into()
        )
    );
    assert_eq!(certificate.not_after, now() + years(1));
    assert_eq!(certificate.not_before, now() - SignedDuration::from_mins(5));
    let age = certificate
        .renew_at()
        .duration_since(certificate.not_before);
    let life = certificate.not_after.duration_since(certificate.not_before);
    assert_eq!(age.as_secs() * 3, life.as_secs() * 2);
}

#[test]
fn a_client_certificate_does_not_outlive_its_authority() {
    let authority = Authority::generate("kubernetes", now()).unwrap();
    let late = now() + years(10) - SignedDuration::from_hours(1);
    let certificate = authority
        .client_certificate("tatara-admin", None, years(1), late)
        .unwrap();
    assert_eq!(certificate.not_after, authority.not_after());
}

#[test]
fn authorities_of_users_sign_whatever_form_their_keys_have() {
    for (certificate, key) in [
        ("rsa.crt", "rsa-pkcs1.key"),
        ("rsa.crt", "rsa-pkcs8.key"),
        ("ec.crt", "ec-sec1.key"),
        ("ec.crt", "ec-pkcs8.key"),
        ("ec384.crt", "ec384-sec1.key"),
    ] {
        let authority = load(certificate, key).unwrap_or_else(|error| panic!("{key}: {error}"));
        let leaf = authority
            .client_certificate("tatara-admin", None, years(1), now())
            .unwrap();
        verify(&authority, &leaf);
    }
}

#[test]
fn the_hash_is_that_of_the_public_key_as_openssl_computes_it() {
    let authority = load("rsa.crt", "rsa-pkcs1.key").unwrap();
    assert_eq!(
        authority.public_key_hashes(),
        [fixture("rsa.hash").trim().to_owned()]
    );
}

#[test]
fn every_certificate_of_a_bundle_is_pinned_and_the_first_signs() {
    let made = Authority::generate("kubernetes", now()).unwrap();
    let bundle = format!("{}{}", made.certificate_pem(), fixture("rsa.crt"));
    let secret = pair(&bundle, made.key_pem());
    let read = Authority::load("forge-ca", &secret, now()).unwrap();
    assert_eq!(read.public_key_hashes().len(), 2);
    assert_eq!(read.public_key_hashes()[0], made.public_key_hashes()[0]);
}

#[test]
fn an_authority_that_cannot_be_used_is_refused_with_the_reason() {
    let key = "an unencrypted private key in PEM form, RSA of 2048 to 4096 bits or ECDSA on P-256 or P-384";
    for (certificate, private, reason) in [
        (
            "rsa.crt",
            "ec-pkcs8.key",
            "the private key in tls.key does not match tls.crt; store a matching pair".to_owned(),
        ),
        (
            "rsa.crt",
            "ec-sec1.key",
            "the private key in tls.key does not match tls.crt; store a matching pair".to_owned(),
        ),
        ("rsa.crt", "rsa.crt", format!("tls.key is malformed; store {key} in it")),
        ("rsa.crt", "encrypted.key", format!("tls.key is malformed; store {key} in it")),
        (
            "rsa-pkcs1.key",
            "rsa-pkcs1.key",
            "tls.crt is malformed; store a certificate in PEM form in it".to_owned(),
        ),
        (
            "leaf.crt",
            "ec-pkcs8.key",
            "the certificate in tls.crt is not a certificate authority (its basic constraints do not say CA:TRUE); store one that may sign certificates".to_owned(),
        ),
        (
            "no-cert-sign.crt",
            "ec-pkcs8.key",
            "the certificate in tls.crt is not a certificate authority (its key usage does not include certificate signing); store one that may sign certificates".to_owned(),
        ),
        (
            "repeated.crt",
            "ec-pkcs8.key",
            "the subject of the certificate in tls.crt repeats an attribute, or has a multi-valued RDN, which Tatara cannot sign with; store an authority whose subject has each attribute once".to_owned(),
        ),
    ] {
        let told = load(certificate, private).unwrap_err();
        assert_eq!(
            told.replacen("Secret forge-ca: ", "", 1),
            reason,
            "{certificate} with {private}"
        );
    }
}

#[test]
fn an_authority_outside_its_life_is_refused_with_the_date() {
    let made = Authority::generate("kubernetes", now()).unwrap();
    let at = |time| {
        Authority::load("forge-ca", &made.secret_data(), time)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        at(now() + years(10)),
        "Secret forge-ca: the certificate in tls.crt expired at 2036-11-18T12:00:00Z; if no control plane uses it, store a valid one. Otherwise sign it again with the same key and subject (another key would be another CA), store it in tls.crt, and replace it in /etc/kubernetes/pki of each control plane and in the kubeconfigs: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/"
    );
    assert_eq!(
        at(now() - years(1)),
        "Secret forge-ca: the certificate in tls.crt is not valid before 2026-11-21T11:55:00Z; correct the clock of the manager, or, if no control plane uses it, store a valid one"
    );
}

#[test]
fn an_incomplete_secret_says_what_is_missing() {
    let made = Authority::generate("kubernetes", now()).unwrap();
    let without = |field: &str| {
        let mut secret = made.secret_data();
        secret.remove(field);
        Authority::load("forge-ca", &secret, now())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        without("tls.crt"),
        "Secret forge-ca has no tls.crt; store a certificate in PEM form in it"
    );
    assert!(without("tls.key").starts_with(
        "Secret forge-ca has no tls.key; store an unencrypted private key in PEM form"
    ));
}

#[test]
fn debug_shows_no_private_key() {
    let authority = Authority::generate("kubernetes", now()).unwrap();
    let certificate = authority
        .client_certificate("tatara-admin", None, years(1), now())
        .unwrap();
    let shown = format!("{authority:?} {certificate:?}");
    assert!(!shown.contains("PRIVATE KEY"));
    assert!(shown.contains("REDACTED"));
}
