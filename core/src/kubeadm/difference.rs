//! What differs between the configuration that a cluster was made with and the one that is wanted.

use serde_json::{Map, Value};

use super::contradiction::shown;
use super::merge::{is_named, name_of};

/// One readable sentence for each field that differs, with its path; empty when nothing does. Items
/// of named lists are identified by their name: `apiServer.extraArgs[v].value is "2", wanted "4"`.
pub fn difference(recorded: &Value, wanted: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", recorded, wanted, &mut found);
    found
}

fn compare(path: &str, recorded: &Value, wanted: &Value, found: &mut Vec<String>) {
    match (recorded, wanted) {
        _ if recorded == wanted => {}
        (Value::Object(recorded), Value::Object(wanted)) => {
            compare_fields(path, recorded, wanted, found);
        }
        (Value::Array(recorded), Value::Array(wanted))
            if has_unique_names(recorded) && has_unique_names(wanted) =>
        {
            compare_named(path, recorded, wanted, found);
        }
        (Value::Null, _) => found.push(format!("{path} is not set, wanted {}", shown(wanted))),
        (_, Value::Null) => found.push(format!("{path} is {}, wanted not set", shown(recorded))),
        _ => found.push(format!(
            "{path} is {}, wanted {}",
            shown(recorded),
            shown(wanted)
        )),
    }
}

fn compare_fields(
    path: &str,
    recorded: &Map<String, Value>,
    wanted: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let added = wanted.keys().filter(|field| !recorded.contains_key(*field));
    for field in recorded.keys().chain(added) {
        let dot = if path.is_empty() { "" } else { "." };
        let of = |map: &Map<String, Value>| map.get(field).cloned().unwrap_or_default();
        compare(
            &format!("{path}{dot}{field}"),
            &of(recorded),
            &of(wanted),
            found,
        );
    }
}

fn compare_named(path: &str, recorded: &[Value], wanted: &[Value], found: &mut Vec<String>) {
    let of = |list: &[Value], name: Option<&str>| {
        list.iter()
            .find(|item| name_of(item) == name)
            .cloned()
            .unwrap_or_default()
    };
    let before = found.len();
    let added = wanted
        .iter()
        .filter(|item| of(recorded, name_of(item)).is_null());
    for item in recorded.iter().chain(added) {
        let name = name_of(item);
        let here = format!("{path}[{}]", name.unwrap_or_default());
        compare(&here, &of(recorded, name), &of(wanted, name), found);
    }
    if found.len() == before {
        found.push(format!("{path} has its items in another order"));
    }
}

fn has_unique_names(list: &[Value]) -> bool {
    let mut names: Vec<_> = list.iter().filter_map(name_of).collect();
    names.sort_unstable();
    is_named(list) && names.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_configurations_do_not_differ() {
        let value = json!({"a": {"b": [1, 2]}});
        assert_eq!(difference(&value, &value), Vec::<String>::new());
    }

    #[test]
    fn each_field_that_differs_is_told_by_its_path_with_both_values() {
        let recorded = json!({
            "apiServer": {"extraArgs": [{"name": "v", "value": "2"}, {"name": "gone", "value": "1"}]},
            "kubelet": {"maxPods": 110, "seccompDefault": true},
            "skipPhases": ["a"],
        });
        let wanted = json!({
            "apiServer": {"extraArgs": [{"name": "v", "value": "4"}, {"name": "new", "value": "1"}]},
            "kubelet": {"maxPods": 200, "podsPerCore": 10},
            "skipPhases": ["a", "b"],
        });
        let mut found = difference(&recorded, &wanted);
        found.sort();
        assert_eq!(
            found,
            [
                r#"apiServer.extraArgs[gone] is {"name":"gone","value":"1"}, wanted not set"#,
                r#"apiServer.extraArgs[new] is not set, wanted {"name":"new","value":"1"}"#,
                r#"apiServer.extraArgs[v].value is "2", wanted "4""#,
                "kubelet.maxPods is 110, wanted 200",
                "kubelet.podsPerCore is not set, wanted 10",
                "kubelet.seccompDefault is true, wanted not set",
                r#"skipPhases is ["a"], wanted ["a","b"]"#,
            ]
        );
    }

    #[test]
    fn a_named_list_in_another_order_differs_and_says_so() {
        let one = json!({"extraArgs": [{"name": "a"}, {"name": "b"}]});
        let other = json!({"extraArgs": [{"name": "b"}, {"name": "a"}]});
        assert_eq!(
            difference(&one, &other),
            ["extraArgs has its items in another order"]
        );
    }

    #[test]
    fn a_repeated_name_is_compared_as_a_whole_list() {
        let one = json!({"extraArgs": [{"name": "a", "value": "1"}]});
        let other =
            json!({"extraArgs": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]});
        assert_eq!(difference(&one, &other).len(), 1);
    }
}
