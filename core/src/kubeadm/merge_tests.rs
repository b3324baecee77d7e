use proptest::prelude::*;
use serde_json::json;

use super::*;

fn merged(ours: Value, user: Value) -> Value {
    let Value::Object(user) = user else {
        panic!("a part is an object")
    };
    merge(ours, &user)
}

#[test]
fn objects_are_merged_deeply_and_the_user_wins() {
    assert_eq!(
        merged(
            json!({"a": {"x": 1, "y": 2}, "b": 3}),
            json!({"a": {"y": 20, "z": 30}, "c": {"d": 4}})
        ),
        json!({"a": {"x": 1, "y": 20, "z": 30}, "b": 3, "c": {"d": 4}})
    );
}

#[test]
fn named_lists_are_merged_by_name_and_may_repeat_a_name() {
    assert_eq!(
        merged(
            json!({"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}),
            json!({"extraArgs": [{"name": "b", "value": "3"}, {"name": "b", "value": "4"}]})
        ),
        json!({"extraArgs": [
            {"name": "a", "value": "1"}, {"name": "b", "value": "3"}, {"name": "b", "value": "4"}
        ]})
    );
    let ours = json!({"extraArgs": [{"name": "a", "value": "1"}]});
    assert_eq!(merged(ours.clone(), json!({"extraArgs": []})), ours);
}

#[test]
fn other_lists_are_replaced_even_by_an_empty_one() {
    assert_eq!(
        merged(
            json!({"taints": [{"key": "k"}], "skipPhases": ["a"]}),
            json!({"taints": [], "skipPhases": ["b"]})
        ),
        json!({"taints": [], "skipPhases": ["b"]})
    );
}

#[test]
fn cert_sans_are_united_without_duplicates() {
    assert_eq!(
        merged(
            json!({"apiServer": {"certSANs": ["a", "b"]}}),
            json!({"apiServer": {"certSANs": ["b", "c"]}})
        ),
        json!({"apiServer": {"certSANs": ["a", "b", "c"]}})
    );
}

#[test]
fn null_says_nothing() {
    assert_eq!(
        merged(
            json!({"a": 1, "b": {"c": 2}}),
            json!({"a": null, "b": null, "d": null, "e": {"f": null, "g": 3}})
        ),
        json!({"a": 1, "b": {"c": 2}, "e": {"g": 3}})
    );
}

/// Few names, so that ours and the user's meet often.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("c".to_owned()),
        Just("extraArgs".to_owned()),
        Just("certSANs".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let item = (prop_oneof![Just("x"), Just("y"), Just("z")], 0..3u8)
        .prop_map(|(name, value)| json!({"name": name, "value": value.to_string()}));
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        "[a-c]{1,2}".prop_map(Value::from),
        proptest::collection::vec(item, 0..4).prop_map(Value::from),
        proptest::collection::vec("[a-c]", 0..3).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        proptest::collection::btree_map(field(), inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map(field(), value(), 0..4)
        .prop_map(|map| map.into_iter().collect())
}

/// Every scalar of an object with its path; nulls and lists left out.
fn scalars(prefix: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (field, value) in map {
                scalars(&format!("{prefix}/{field}"), value, into);
            }
        }
        Value::Null | Value::Array(_) => {}
        leaf => into.push((prefix.to_owned(), leaf.clone())),
    }
}

proptest! {
    #[test]
    fn merging_the_same_part_again_changes_nothing(ours in object(), user in object()) {
        let once = merge(Value::Object(ours), &user);
        prop_assert_eq!(merge(once.clone(), &user), once);
    }

    #[test]
    fn every_scalar_of_the_user_stands_in_the_result(ours in object(), user in object()) {
        let merged = merge(Value::Object(ours), &user);
        let mut wanted = Vec::new();
        scalars("", &Value::Object(user), &mut wanted);
        for (path, value) in wanted {
            prop_assert_eq!(merged.pointer(&path), Some(&value), "{}", path);
        }
    }

    #[test]
    fn what_the_user_does_not_speak_of_stays_ours(ours in object(), user in object()) {
        let merged = merge(Value::Object(ours.clone()), &user);
        let user = Value::Object(user);
        for (field, value) in ours {
            if user.get(&field).is_none_or(Value::is_null) {
                prop_assert_eq!(merged.get(&field), Some(&value));
            }
        }
    }

    #[test]
    fn no_named_item_of_ours_and_no_name_for_a_certificate_is_lost(
        ours in object(), user in object(), field in prop_oneof![Just("extraArgs"), Just("certSANs")]
    ) {
        let (Some(Value::Array(own)), Some(Value::Array(theirs))) = (ours.get(field), user.get(field))
        else {
            return Ok(());
        };
        let merged = merge(Value::Object(ours.clone()), &user);
        let result = merged[field].as_array().unwrap();
        if field == "certSANs" {
            prop_assert!(own.iter().chain(theirs).all(|item| result.contains(item)));
        } else if is_named(own) && is_named(theirs) {
            for item in own.iter().chain(theirs) {
                prop_assert!(result.iter().any(|r| name_of(r) == name_of(item)));
            }
        }
    }
}
