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

#[test]
fn a_new_list_reports_what_changed_and_what_is_gone_and_nothing_else() {
    let mut index = NodeIndex::default();
    assert!(!index.is_listed());
    index.replace(vec![
        node("a", "1", true),
        node("b", "2", true),
        node("c", "3", true),
    ]);
    assert!(index.is_listed());
    let changed = index.replace(vec![node("a", "1", true), node("b", "2", false)]);
    let mut names: Vec<_> = changed.iter().map(|view| view.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "c"]);
    assert!(names_of(&index, "3").is_empty());
    assert_eq!(index.all().len(), 2);
}

#[test]
fn a_provider_id_that_arrives_later_or_changes_is_found_under_its_new_value_only() {
    let mut index = NodeIndex::default();
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
    let mut index = NodeIndex::default();
    index.replace(vec![node("a", "1", true), node("z", "1", false)]);
    assert_eq!(names_of(&index, "1"), ["a", "z"]);
    index.remove("a");
    assert_eq!(names_of(&index, "1"), ["z"]);
}

#[test]
fn more_nodes_or_larger_ones_than_a_cluster_may_have_are_noticed_until_they_are_gone() {
    let mut index = NodeIndex::default();
    for number in 0..=NODES {
        assert!(!index.is_too_large(), "{number}");
        let name = format!("n{number}");
        index.apply(&Arc::new(node(&name, &name, true)));
    }
    assert!(index.is_too_large());
    index.replace(vec![node("a", "1", true)]);
    assert!(!index.is_too_large());
    let mut large = node("a", "1", true);
    large.annotations.insert("a".into(), "x".repeat(VIEWS));
    index.apply(&Arc::new(large));
    assert!(index.is_too_large());
    // an annotation that is shortened counts no more
    index.apply(&Arc::new(node("a", "1", true)));
    assert!(!index.is_too_large());
}
