use super::*;

fn after(probes: &str) -> Judgement {
    let ready = probes.chars().map(|c| c == '+');
    ready.fold(Judgement::default(), |so_far, ready| {
        judge(so_far, ready, FAILURE_THRESHOLD)
    })
}

#[test]
fn three_failures_in_a_row_are_unhealthy_and_one_success_is_healthy() {
    let table = [
        ("", Verdict::Undecided),
        ("-", Verdict::Undecided),
        ("--", Verdict::Undecided),
        ("---", Verdict::Unhealthy),
        ("+", Verdict::Healthy),
        ("+--", Verdict::Healthy),
        ("+--+--", Verdict::Healthy),
        ("+---", Verdict::Unhealthy),
        ("+----", Verdict::Unhealthy),
        ("+---+", Verdict::Healthy),
        ("---+--", Verdict::Healthy),
    ];
    for (probes, verdict) in table {
        assert_eq!(after(probes).verdict, verdict, "{probes:?}");
    }
}

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
