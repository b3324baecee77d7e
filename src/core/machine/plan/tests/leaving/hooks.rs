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
        format!("not drained before its owner removes the annotation {two}, {one} (owner: backup)"),
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
    let excluded = json!({ "metadata": { "annotations": { (ANNOTATION_EXCLUDE_DRAIN): "" } } });
    let excluded = edited(deleting(running(worker())), &excluded);
    assert_eq!(
        plan(&hooked(excluded, &[(&hook, "")]), at(1)).actions,
        release
    );
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
    assert_eq!(finding.reason, Reason::WaitingForHook);
    assert!(
        finding.message.contains("not released before"),
        "{}",
        finding.message
    );

    let says = ("Deleting", "WaitingForHook", &["owner: storage"][..]);
    let once = json!({ "status": { "conditions": [{ "type": "Draining", "status": "False",
        "reason": "Drained", "message": "", "lastTransitionTime": at(0).to_string() }] } });
    let once = edited(deleting(running(worker())), &once);
    let goes = with_cluster(deleting(running(worker())), |c| c.deleting = true);
    let gone = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let gone = edited(deleting(running(worker())), &gone);
    for (case, observed) in [
        ("drained before", once),
        ("the whole cluster goes", goes),
        ("its host is gone", gone),
    ] {
        expect(case, &plan(&hooked(observed), at(1)), &[], says);
    }
    // what was released already is past it
    let reset = plan(&hooked(deleting(reset(running(worker())))), at(1));
    assert_eq!(reset.actions, over(&by_reset()));
}
