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
    assert_eq!(
        health.sentence(),
        "the API server is not ready: etcd, poststarthook/rbac/bootstrap-roles failing"
    );
}
