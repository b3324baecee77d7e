use super::*;
use crate::remote::limits::VIEWS;

fn node(name: &str, id: &str, ready: bool) -> NodeView {
    NodeView {
        name: name.into(),
        provider_id: Some(id.into()),
        ready: Some(ready),
        ..NodeView::default()
    }
}

fn names_of(index: &NodeIndex, id: &str) -> Vec<String> {
    let found = index.by_provider_id(id);
    found.iter().map(|view| view.name.clone()).collect()
}

fn index() -> NodeIndex {
    NodeIndex::of("default")
}

/// A complete list.
fn list(index: &mut NodeIndex, nodes: Vec<NodeView>) -> Vec<String> {
    index.begin();
    for view in nodes {
        index.listed(view);
    }
    let changed = index.complete();
    let mut names: Vec<_> = changed.iter().map(|view| view.name.clone()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_new_list_reports_what_changed_and_what_is_gone_and_nothing_else() {
    let mut index = index();
    assert!(!index.is_listed());
    let first = vec![
        node("a", "1", true),
        node("b", "2", true),
        node("c", "3", true),
    ];
    list(&mut index, first);
    assert!(index.is_listed());
    // one that fails on its way leaves its changes to the next
    index.begin();
    index.listed(node("b", "2", false));
    let second = vec![node("a", "1", true), node("b", "2", false)];
    assert_eq!(list(&mut index, second), ["b", "c"]);
    assert!(names_of(&index, "3").is_empty());
    assert_eq!(index.all().len(), 2);
}

#[test]
fn a_provider_id_that_arrives_later_or_changes_is_found_under_its_new_value_only() {
    let mut index = index();
    index.complete();
    let without = NodeView {
        provider_id: None,
        ..node("a", "", false)
    };
    assert!(index.apply(&Arc::new(without)));
    assert!(index.apply(&Arc::new(node("a", "1", false))));
    assert_eq!(names_of(&index, "1"), ["a"]);
    assert!(index.apply(&Arc::new(node("a", "2", false))));
    assert!(names_of(&index, "1").is_empty());
    assert_eq!(names_of(&index, "2"), ["a"]);
    assert!(
        !index.apply(&Arc::new(node("a", "2", false))),
        "nothing changed"
    );
}

#[test]
fn all_nodes_that_have_a_provider_id_are_found() {
    let mut index = index();
    list(
        &mut index,
        vec![node("a", "1", true), node("z", "1", false)],
    );
    assert_eq!(names_of(&index, "1"), ["a", "z"]);
    index.remove("a");
    assert_eq!(names_of(&index, "1"), ["z"]);
}

#[test]
fn more_nodes_or_larger_ones_than_a_cluster_may_have_are_noticed_until_they_are_gone() {
    let mut index = index();
    for number in 0..=NODES {
        assert!(!index.is_too_large(), "{number}");
        let name = format!("n{number}");
        index.apply(&Arc::new(node(&name, &name, true)));
    }
    assert!(index.is_too_large());
    list(&mut index, vec![node("a", "1", true)]);
    assert!(!index.is_too_large());
    let mut large = node("a", "1", true);
    large.annotations.insert("a".into(), "x".repeat(VIEWS));
    index.apply(&Arc::new(large));
    assert!(index.is_too_large());
    // an annotation that is shortened counts no more
    index.apply(&Arc::new(node("a", "1", true)));
    assert!(!index.is_too_large());
}

#[test]
fn a_list_takes_the_place_of_the_last_one_node_by_node() {
    let mut index = index();
    let large = |name: &str| {
        let mut large = node(name, name, true);
        large.annotations.insert("a".into(), "x".repeat(VIEWS / 5));
        large
    };
    let four = || vec![large("a"), large("b"), large("c"), large("d")];
    for _ in 0..3 {
        index.begin();
        for view in four() {
            index.listed(view);
            assert!(!index.is_too_large());
        }
        index.complete();
    }
}

#[test]
fn nobody_sees_a_list_that_is_not_complete_or_was_dropped() {
    let mut index = index();
    let seen = |index: &NodeIndex| {
        (
            index.is_listed(),
            index.all().len(),
            index.by_name("a").is_some(),
            index.by_provider_id("1").len(),
        )
    };
    index.begin();
    index.listed(node("a", "1", true));
    assert_eq!(seen(&index), (false, 0, false, 0));
    index.complete();
    assert_eq!(seen(&index), (true, 1, true, 1));
    index.clear();
    assert_eq!(seen(&index), (false, 0, false, 0));
    assert_eq!(list(&mut index, vec![node("a", "1", true)]), ["a"]);
}
