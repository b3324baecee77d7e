use std::sync::{Arc, Mutex};

use kube::runtime::watcher;
use serde_json::json;

use super::*;

type Said = Arc<Mutex<Vec<String>>>;

/// A kind that was listed, with this Machine in it; and what its hook is told.
fn listed(version: u32) -> (Kind<Machine>, Said) {
    let kind = Kind::<Machine>::default();
    let said = Said::default();
    let hook = {
        let said = said.clone();
        Box::new(move |machine: &Machine, before: Option<&Machine>, change| {
            let before = before.and_then(ResourceExt::resource_version);
            let version = machine.resource_version().unwrap_or_default();
            let before = before.unwrap_or_else(|| "-".into());
            said.lock()
                .expect("no panic")
                .push(format!("{change:?} {before} to {version}"));
        })
    };
    let mut writing = kind.writing();
    writing.hook = Some(hook);
    relist(&kind, &mut writing, machine(version));
    drop(writing);
    (kind, said)
}

fn relist(kind: &Kind<Machine>, writing: &mut Writing<Machine>, machine: Machine) {
    let held = Arc::new(machine.clone());
    kind.index_mut()
        .insert(name_of(&machine), machine.keys(), held);
    let list = [
        watcher::Event::Init,
        watcher::Event::InitApply(machine),
        watcher::Event::InitDone,
    ];
    for event in list {
        writing.writer.apply_watcher_event(&event);
    }
    writing.listed(&kind.reader.state());
}

fn machine(version: u32) -> Machine {
    let machine = json!({"metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": version.to_string(),
        "finalizers": ["f"]}, "spec": {}});
    serde_json::from_value(machine).expect("a Machine")
}

fn ended(version: u32) -> Machine {
    let mut machine = machine(version);
    let time = json!("2027-01-15T08:00:00Z");
    machine.metadata.deletion_timestamp = serde_json::from_value(time).expect("a time");
    machine.metadata.finalizers = None;
    machine
}

fn version(kind: &Kind<Machine>) -> Option<String> {
    kind.get("n", "m")?.resource_version()
}

#[test]
fn an_answer_is_known_at_once_and_the_watch_tells_it_no_second_time() {
    let (kind, said) = listed(10);
    kind.learn(machine(12));
    assert_eq!(version(&kind).as_deref(), Some("12"));
    for late in [11, 12] {
        kind.writing().applied(&kind, &machine(late));
        assert_eq!(version(&kind).as_deref(), Some("12"), "{late}");
    }
    kind.writing().applied(&kind, &machine(100));
    assert_eq!(version(&kind).as_deref(), Some("100"), "numbers, not text");
    let expected = ["Applied 10 to 12", "Applied 12 to 100"];
    assert_eq!(*said.lock().expect("no panic"), expected);
}

#[test]
fn what_lost_its_last_finalizer_is_gone_and_nothing_late_brings_it_back() {
    let (kind, said) = listed(10);
    kind.learn(ended(13));
    assert_eq!(version(&kind), None);
    assert!(kind.by_uid("u").is_none());
    kind.writing().applied(&kind, &machine(12));
    kind.learn(machine(12));
    assert_eq!(version(&kind), None);
    kind.writing().deleted(&kind, &ended(13));
    assert_eq!(*said.lock().expect("no panic"), ["Deleted 10 to 13"]);
    // a backup was restored, in which it is there
    relist(&kind, &mut kind.writing(), machine(5));
    kind.writing().applied(&kind, &machine(6));
    assert_eq!(version(&kind).as_deref(), Some("6"));
}

#[test]
fn another_of_its_name_outlives_the_end_of_the_first() {
    let (kind, said) = listed(10);
    let mut second = machine(14);
    second.metadata.uid = Some("u2".into());
    kind.learn(second);
    kind.writing().deleted(&kind, &ended(13));
    assert_eq!(version(&kind).as_deref(), Some("14"));
    assert!(kind.by_uid("u2").is_some());
    let said = said.lock().expect("no panic");
    assert_eq!(*said, ["Applied 10 to 14", "Deleted 14 to 13"]);
}

#[test]
fn before_the_first_list_nothing_is_known() {
    let kind = Kind::<Machine>::default();
    kind.learn(machine(1));
    assert_eq!(version(&kind), None);
}
