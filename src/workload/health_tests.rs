use super::*;

#[test]
fn a_verbose_report_names_the_checks_that_fail() {
    let report = "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n\
                  [-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n\
                  [+]informer-sync ok\nreadyz check failed";
    let checks = failing_checks(report);
    assert_eq!(checks, ["etcd", "poststarthook/rbac/bootstrap-roles"]);
    let health = Health {
        readiness: Readiness::Failing(checks),
        git_version: None,
    };
    let since = Timestamp::from_second(1_800_000_000).unwrap();
    let place = Place {
        endpoint: Some("10.77.0.100:6443".into()),
        is_virtual: true,
        hosts: vec!["host-a".into()],
        ..Place::default()
    };
    assert_eq!(
        health.sentence(&place, since),
        "the API server is not ready: etcd, poststarthook/rbac/bootstrap-roles failing (since 2027-01-15T08:00:00Z). Check kube-apiserver and etcd on Host host-a: tail -n 50 /var/log/pods/kube-system_kube-apiserver*/kube-apiserver/*.log, and the same for etcd"
    );
    let silent = Health {
        readiness: Readiness::Unreachable {
            why: "no answer within 5 s".into(),
            cause: Cause::Silence,
        },
        git_version: None,
    };
    assert_eq!(
        silent.sentence(&place, since),
        "requests to https://10.77.0.100:6443/readyz fail (since 2027-01-15T08:00:00Z): no answer within 5 s. Check route and firewall between the manager and that address, the machine that holds the virtual IP, and kube-apiserver on Host host-a. If a certificate has expired: docs/operating.md#certificates"
    );
    let nothing_known = silent.sentence(&Place::default(), since);
    assert!(
        nothing_known.starts_with("requests to the API server fail (since "),
        "{nothing_known}"
    );
}

#[test]
fn only_what_does_not_answer_is_sent_to_the_firewall() {
    let since = Timestamp::from_second(1_800_000_000).unwrap();
    let place = Place {
        namespace: "team".into(),
        cluster: "a".into(),
        remedy: "Correct the field".into(),
        ..Place::default()
    };
    let table = [
        (
            Cause::Given,
            "requests to the API server fail (since 2027-01-15T08:00:00Z): said. Correct the field",
        ),
        (
            Cause::Limit,
            "requests to the API server fail (since 2027-01-15T08:00:00Z): said. If what answers there is not its API server: Correct the field",
        ),
        (
            Cause::Overloaded,
            "the API server is overloaded (429, since 2027-01-15T08:00:00Z): said. If that lasts, find who asks so much: kubectl --kubeconfig <(tatara kubeconfig a -n team) get --raw /debug/api_priority_and_fairness/dump_priority_levels",
        ),
    ];
    let told = |cause| {
        let readiness = Readiness::Unreachable {
            why: "said".into(),
            cause,
        };
        let health = Health {
            readiness,
            git_version: None,
        };
        health.sentence(&place, since)
    };
    for (cause, expected) in table {
        assert_eq!(told(cause), expected);
    }
    for cause in [Cause::Tls, Cause::Forbidden, Cause::Answered] {
        let told = told(cause);
        assert!(told.contains("not its API server: Correct"), "{told}");
        assert!(!told.contains("firewall"), "{told}");
    }
    assert!(told(Cause::Silence).contains("firewall"));
}
