//! What programs that know no Machine make of its conditions.

use super::*;
use crate::kstatus::tests::check;

#[test]
fn creation_life_and_failure_are_told_apart() {
    let found = |observed: &Observed| plan(observed, at(0)).findings;
    let nobody = |reason| {
        let mut observed = worker();
        observed.placement = Placement::None(Err(Why::new(reason, "why")));
        found(&observed)
    };
    let running = || super::running(worker());
    let versions = |kubelet: &str| json!({ "spec": { "versions": { "kubelet": kubelet } } });
    let mut down = running();
    let mut sick = node();
    sick.ready = Some(false);
    down.node = Lookup::Known(Some(Arc::new(sick)));
    let mut paused = running();
    paused.paused_by = Some("Cluster a".into());
    check(&[
        (
            "no host is free",
            &nobody(Reason::NoHostAvailable),
            "InProgress",
        ),
        ("it takes one", &found(&worker()), "InProgress"),
        (
            "a step runs",
            &found(&prepared(worker(), &[])),
            "InProgress",
        ),
        (
            "a step failed, and is tried again",
            &found(&ours(
                worker(),
                vec![unit(&worker(), JobKind::Prepare, failure("no"))],
            )),
            "InProgress",
        ),
        ("its Node is Ready", &found(&running()), "Current"),
        ("its Node is not", &found(&down), "InProgress"),
        (
            "and to what nobody runs",
            &found(&edited(running(), &versions("v1.20.0"))),
            "Failed",
        ),
        ("set back", &found(&running()), "Current"),
        ("held still", &found(&paused), "Current"),
        (
            "being deleted",
            &found(&deleted(running(), at(0))),
            "InProgress",
        ),
    ]);
    check(&[(
        "its spec was edited to another version",
        &found(&edited(running(), &versions("v1.35.4"))),
        "InProgress",
    )]);
    check(&[(
        "a version that cannot run",
        &found(&edited(worker(), &versions("v1.20.0"))),
        "Failed",
    )]);
}
