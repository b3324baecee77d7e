use super::*;
use crate::pki::Authority;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

#[test]
fn a_kubeconfig_says_what_it_was_made_from() {
    let authority = Authority::generate("kubernetes", now()).unwrap();
    let certificate = authority
        .client_certificate(ADMIN_USER, Some(ADMIN_GROUP), ADMIN_LIFE, now())
        .unwrap();
    let text = admin(
        "forge",
        "https://10.77.0.100:6443",
        authority.certificate_pem(),
        &certificate,
    )
    .unwrap();
    let read = parse(text.expose_secret()).unwrap();
    assert_eq!(
        read,
        Kubeconfig {
            server: "https://10.77.0.100:6443".into(),
            authority_pem: authority.certificate_pem().into(),
            not_before: certificate.not_before,
            not_after: certificate.not_after,
        }
    );
    assert_eq!(read.renew_at(), certificate.renew_at());
}

#[test]
fn a_kubeconfig_that_is_none_of_ours_is_refused_without_its_text() {
    for (text, told) in [
        (
            "canary: [",
            "failed to read the kubeconfig: it is not YAML of a kubeconfig",
        ),
        (
            "kind: Config\nusers: [{name: a, user: {token: canary}}]",
            "failed to read the kubeconfig: client-certificate-data is missing or malformed",
        ),
        (
            "users: [{name: a, user: {client-certificate-data: canary}}]",
            "failed to read the kubeconfig: client-certificate-data is missing or malformed",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), told);
    }
}
