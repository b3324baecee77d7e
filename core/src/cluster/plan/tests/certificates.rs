//! Authorities: made once, never replaced, and what two records say.

use super::*;

pub(super) fn missing() -> Certificates {
    Certificates::Missing(vec!["a-ca".into(), "a-etcd".into()])
}

#[test]
fn certificates_are_made_once_and_never_in_place_of_what_a_control_plane_may_use() {
    let with = |certificates, change: fn(&mut Observed)| {
        let mut observed = observed(&json!({}));
        observed.certificates = certificates;
        change(&mut observed);
        observed
    };
    let condition = "CertificatesReady";
    let make = [Action::MakeCertificates];
    expect(
        "new",
        &with(missing(), |_| ()),
        &make,
        (condition, "Making", &[]),
    );
    let lost = with(missing(), |o| o.turn = Some(turn()));
    expect(
        "init may run",
        &lost,
        &[],
        (
            condition,
            "Lost",
            &[
                "a-ca, a-etcd",
                "Machine cp-0",
                "restore it",
                "kubectl -n default delete machine cp-0",
            ],
        ),
    );
    let odd = with(missing(), |o| {
        let name = "$(reboot)".into();
        o.turn = Some(Turn { name, ..turn() });
    });
    let says = &["kubectl -n default delete machine NAME"];
    expect("no name", &odd, &[], (condition, "Lost", says));
    let mut lost = running();
    lost.certificates = missing();
    expect(
        "control plane runs",
        &lost,
        &[],
        (
            condition,
            "Lost",
            &[
                "a-ca, a-etcd",
                "restore it",
                "ca.crt and .key, etcd/ca.crt and .key",
                "#lost-certificates",
            ],
        ),
    );
    let broken = Certificates::Broken("Secret a-ca: tls.key is no key".into());
    expect(
        "malformed",
        &with(broken, |_| ()),
        &[],
        (condition, "Malformed", &["Secret a-ca"]),
    );
}

#[test]
fn a_ca_that_was_replaced_is_said_and_nothing_is_made_with_it() {
    let mut replaced = running();
    replaced.certificates = Certificates::Replaced("a-ca".into());
    replaced.kubeconfig_ready = false;
    let parts = [
        "Secret a-ca holds another CA",
        "Secret a-kubeconfig",
        "/etc/kubernetes/pki",
        r#"kubectl -n default patch secret a-ca -p "{\"data\":{\"tls.crt\":\"$(base64 -w0 ca.crt)\",\"tls.key\":\"$(base64 -w0 ca.key)\"}}""#,
    ];
    for condition in ["CertificatesReady", "Ready"] {
        expect("replaced", &replaced, &[], (condition, "Replaced", &parts));
    }
    let watched = plan(&replaced);
    assert_eq!(
        (watched.phase, watched.next),
        ("Running", Next::After(WORKLOAD_API)),
        "what runs is watched"
    );
}

#[test]
fn two_records_of_init_are_said_of_a_cluster_that_runs_and_it_is_watched_all_the_same() {
    let mut observed = running();
    observed.doubt = Some(Doubt::TwoRecords("other".into(), "m".into()));
    let says = ["UID other", "UID m", "Find both hosts"];
    let reason = "ControlPlaneInDoubt";
    for condition in ["ControlPlaneInitialized", "Ready"] {
        expect("runs", &observed, &[], (condition, reason, &says));
    }
    let watched = plan(&observed);
    assert_eq!(
        (watched.phase, watched.next),
        ("Running", Next::After(WORKLOAD_API))
    );
    observed.spec = Err("spec: a typo".into());
    let condition = "ControlPlaneInitialized";
    expect("a typo", &observed, &[], (condition, reason, &says));
    observed.spec = Ok(ClusterProviderSpec::default());
    observed.connected = false;
    let connect = [Action::Connect];
    expect("restarted", &observed, &connect, (condition, reason, &says));
}
