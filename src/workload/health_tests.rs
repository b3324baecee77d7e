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
    };
    assert_eq!(
        health.sentence(&place, since),
        "the API server is not ready: etcd, poststarthook/rbac/bootstrap-roles failing (since 2027-01-15T08:00:00Z). Check kube-apiserver and etcd on Host host-a: tail -n 50 /var/log/pods/kube-system_kube-apiserver*/kube-apiserver/*.log, and the same for etcd"
    );
    let silent = Health {
        readiness: Readiness::Unreachable("no answer within 5 s".into()),
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
