use serde_json::json;

use super::*;

fn node(name: &str, uid: &str) -> Arc<NodeView> {
    Arc::new(NodeView {
        name: name.into(),
        uid: uid.into(),
        ready: Some(true),
        ..NodeView::default()
    })
}

fn machine(recorded: Option<(&str, &str)>) -> Machine {
    let status = recorded.map(|(name, uid)| json!({ "nodeRef": { "name": name, "uid": uid } }));
    serde_json::from_value(json!({
        "metadata": { "name": "m" },
        "spec": { "providerSpec": {} },
        "status": status.unwrap_or_else(|| json!({})),
    }))
    .expect("a Machine")
}

#[test]
fn the_recorded_node_is_its_own_and_of_several_others_none() {
    type Row<'a> = (
        Option<(&'a str, &'a str)>,
        &'a [(&'a str, &'a str)],
        Option<&'a str>,
        &'a [&'a str],
    );
    let table: &[Row<'_>] = &[
        (None, &[], None, &[]),
        (None, &[("a", "1")], Some("a"), &[]),
        (None, &[("a", "1"), ("z", "2")], None, &["a", "z"]),
        (
            Some(("a", "1")),
            &[("a", "1"), ("z", "2")],
            Some("a"),
            &["z"],
        ),
        (
            Some(("z", "2")),
            &[("a", "1"), ("z", "2")],
            Some("z"),
            &["a"],
        ),
        // registered again under its name: one may be its own, of two none is
        (Some(("a", "1")), &[("a", "3")], Some("a"), &[]),
        (
            Some(("a", "1")),
            &[("a", "3"), ("z", "2")],
            None,
            &["a", "z"],
        ),
        (Some(("a", "1")), &[], None, &[]),
    ];
    for (recorded, claimants, own, others) in table {
        let claimants = claimants.iter().map(|(name, uid)| node(name, uid));
        let chosen = choose(&machine(*recorded), claimants.collect());
        let name = chosen.node.as_ref().map(|node| node.name.as_str());
        let rest: Vec<_> = chosen.others.iter().map(|n| n.name.as_str()).collect();
        assert_eq!((name, rest.as_slice()), (*own, *others), "{recorded:?}");
    }
}
