//! Hooks of other controllers.

use super::*;
use crate::api::names::{HOOK_PRE_DRAIN, HOOK_PRE_TERMINATE};

fn hooked(observed: Observed, hooks: &[(&str, &str)]) -> Observed {
    let hooks: serde_json::Map<_, _> = hooks
        .iter()
        .map(|(key, owner)| ((*key).to_owned(), json!(owner)))
        .collect();
    edited(observed, &json!({ "metadata": { "annotations": hooks } }))
}

fn before(name: &str) -> String {
    format!("{HOOK_PRE_DRAIN}/{name}")
}

fn after(name: &str) -> String {
    format!("{HOOK_PRE_TERMINATE}/{name}")
}

#[test]
fn a_hook_before_the_drain_holds_it_and_is_named_with_its_owner() {
    let (one, two) = (before("copy"), before("audit"));
    let observed = hooked(deleting(running(worker())), &[(&one, "backup"), (&two, "")]);
    let parts = [
        format!("not drained while it has the annotations {two}, {one} (owner: backup)"),
        format!("kubectl -n default annotate machine w-0 {two}- {one}-"),
    ];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let says = ("Deleting", "WaitingForHook", parts.as_slice());
    expect("held", &plan(&observed, at(1_000_000)), &[], says);

    let no_hook = format!("{HOOK_PRE_DRAIN}er/x");
    let similar = hooked(deleting(running(worker())), &[(&no_hook, "")]);
    assert_eq!(plan(&similar, at(1)).actions, drain());
    let lives = hooked(running(worker()), &[(&one, "")]);
    assert_eq!(plan(&lives, at(1)), plan(&running(worker()), at(1)));
}

#[test]
fn a_hook_before_a_drain_that_there_is_not_holds_nothing() {
    let hook = before("copy");
    let release = [Action::Release(Release::Now)];
    let goes = with_cluster(deleting(running(worker())), |c| c.deleting = true);
    assert_eq!(plan(&hooked(goes, &[(&hook, "")]), at(1)).actions, release);
    let no_node = deleting(worker());
    let ends = plan(&hooked(no_node, &[(&hook, "")]), at(1));
    assert_eq!(ends.actions, [finalizer_by(&by_nothing())]);
}

#[test]
fn neither_a_time_limit_nor_a_silent_api_nor_an_excluded_drain_lifts_a_hook() {
    let hook = before("copy");
    let excluded = json!({ "metadata": { "annotations": { (ANNOTATION_EXCLUDE_DRAIN): "" } } });
    let begun = json!({ "spec": { "deletion": { "nodeDrainTimeoutSeconds": 60 } },
        "status": { "conditions": [{ "type": "Draining", "status": "True", "reason": "Draining",
            "message": "", "lastTransitionTime": at(0).to_string() }] } });
    let mut silent = edited(deleting(running(worker())), &begun);
    silent.node = Lookup::Unknown("no answer".into());
    for (case, observed) in [
        ("a silent API", silent),
        ("over time", edited(deleting(running(worker())), &begun)),
        ("excluded", edited(deleting(running(worker())), &excluded)),
    ] {
        let says = ("Deleting", "WaitingForHook", &[][..]);
        let plan = plan(&hooked(observed, &[(&hook, "")]), at(1_000));
        expect(case, &plan, &[], says);
    }
}

#[test]
fn a_hook_after_the_drain_holds_every_release() {
    let hook = after("detach");
    let hooked = |observed: Observed| hooked(observed, &[(&hook, "storage")]);
    let drained = plan(&hooked(deleting(running(worker()))), at(1));
    let [
        Action::Drain { .. },
        Action::AwaitVolumes { .. },
        Action::AwaitHooks(finding),
    ] = drained.actions.as_slice()
    else {
        panic!("{:?}", drained.actions);
    };
    assert_eq!(finding.reason(), Reason::WaitingForHook);
    assert!(
        finding.message().contains("not released while"),
        "{}",
        finding.message()
    );

    let says = ("Deleting", "WaitingForHook", &["owner: storage"][..]);
    let goes = with_cluster(deleting(running(worker())), |c| c.deleting = true);
    let gone = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let gone = edited(deleting(running(worker())), &gone);
    for (case, observed) in [
        ("without a place", deleting(worker())),
        ("the whole cluster goes", goes),
        ("its host is gone", gone),
    ] {
        expect(case, &plan(&hooked(observed), at(1)), &[], says);
    }
    // what was released already is past it
    let reset = plan(&hooked(deleting(reset(running(worker())))), at(1));
    assert_eq!(reset.actions, over(&by_reset()));
}
