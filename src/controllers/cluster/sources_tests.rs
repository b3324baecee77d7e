use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::store::Wake;

fn cluster(name: &str) -> Cluster {
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let meta = json!({"namespace": "n", "name": name, "uid": format!("uid of {name}")});
    let cluster = json!({"metadata": meta, "spec": {"clusterNetwork": network}});
    serde_json::from_value(cluster).expect("a Cluster")
}

fn addon(kind: AddonKind, name: &str) -> Addon {
    let name = name.to_owned();
    Addon { kind, name }
}

fn sources() -> (Sources, UnboundedReceiver<Wake<Cluster>>) {
    let (wake, woken) = Waker::channel();
    (Sources::new(wake), woken)
}

fn woken(woken: &mut UnboundedReceiver<Wake<Cluster>>) -> Vec<String> {
    std::iter::from_fn(|| woken.try_recv().ok())
        .map(|(object, _)| object.name)
        .collect()
}

#[test]
fn a_change_wakes_those_that_need_it_once() {
    let (sources, mut wakes) = sources();
    let (a, b) = (cluster("a"), cluster("b"));
    sources.follow(
        &a,
        &[
            addon(AddonKind::Secret, "x"),
            addon(AddonKind::ConfigMap, "y"),
        ],
    );
    sources.follow(&b, &[addon(AddonKind::Secret, "x")]);
    let secret = |namespace, name, version: &str| {
        let now = Now::At(version.to_owned());
        sources.changed(AddonKind::Secret, namespace, name, now);
    };
    secret("n", "x", "1");
    assert_eq!(woken(&mut wakes), ["a", "b"], "the first news of it");
    secret("n", "x", "1");
    secret("other", "x", "2");
    secret("n", "y", "2");
    assert_eq!(woken(&mut wakes), [] as [String; 0]);
    secret("n", "x", "3");
    sources.changed(AddonKind::Secret, "n", "x", Now::Deleted);
    assert_eq!(woken(&mut wakes), ["a", "b", "a", "b"]);
    assert_eq!(
        (sources.revision("uid of a"), sources.revision("uid of c")),
        (3, 0)
    );
}

#[test]
fn what_is_needed_no_more_wakes_nobody_and_is_not_kept() {
    let (sources, mut wakes) = sources();
    let a = cluster("a");
    sources.follow(&a, &[addon(AddonKind::Secret, "x")]);
    sources.follow(&a, &[addon(AddonKind::Secret, "z")]);
    sources.changed(AddonKind::Secret, "n", "x", Now::Deleted);
    assert_eq!(woken(&mut wakes), [] as [String; 0]);
    sources.changed(AddonKind::Secret, "n", "z", Now::Deleted);
    assert_eq!(woken(&mut wakes), ["a"]);
    sources.forget("uid of a");
    assert!(sources.lock().by_source.is_empty() && sources.lock().followers.is_empty());
}

#[test]
fn a_watch_that_begins_anew_wakes_all_that_need_its_kind() {
    let (sources, mut wakes) = sources();
    sources.follow(&cluster("a"), &[addon(AddonKind::Secret, "x")]);
    sources.follow(&cluster("b"), &[addon(AddonKind::ConfigMap, "x")]);
    sources.changed(AddonKind::Secret, "n", "x", Now::At("7".into()));
    woken(&mut wakes);
    sources.lost(AddonKind::Secret);
    assert_eq!(woken(&mut wakes), ["a"]);
    sources.changed(AddonKind::Secret, "n", "x", Now::At("7".into()));
    assert_eq!(woken(&mut wakes), ["a"], "it may have been read before");
}
