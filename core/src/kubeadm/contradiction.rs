//! Fields that a user may not set in a part of a kubeadm document, because other fields determine
//! them.

use core::fmt;

use serde_json::{Map, Value};

use super::merge::name_of;
use super::rules::Rule;

/// Longest value that an error repeats, in characters.
const MAX_VALUE: usize = 80;

/// A field of the user's part whose value differs from the one that another field determines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Path of the field, from the Cluster's `spec` on.
    pub path: String,
    /// Its value, as JSON; absent if it may be a secret.
    pub value: Option<String>,
    /// What to do instead.
    pub remedy: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} is {value}; {}", self.path, self.remedy),
            None => write!(f, "{} is set; {}", self.path, self.remedy),
        }
    }
}

/// A user's part of one document, and the document that it is to be merged over.
pub(super) struct Part<'a> {
    /// Where the part stands, from the Cluster's `spec` on.
    pub path: &'static str,
    /// What the user wrote.
    pub user: &'a Map<String, Value>,
    /// The document that is ours.
    pub ours: &'a Value,
    /// What is settled elsewhere.
    pub rules: &'a [&'static [Rule]],
    /// Whether the document is that of one machine, so that all rules can be judged.
    pub of_machine: bool,
}

impl Part<'_> {
    /// Everything that contradicts, at once.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        let user = Value::Object(self.user.clone());
        self.shapes("", self.ours, &user, &mut found);
        let rules = self.rules.iter().copied().flatten();
        for rule in rules.filter(|rule| self.of_machine || !rule.per_machine) {
            let ours = at(self.ours, rule.path);
            for value in at(&user, rule.path) {
                self.compare(rule, rule.path, ours.first().copied(), value, &mut found);
            }
        }
        found
    }

    /// Leaves of the user's value that differ from ours.
    fn compare(
        &self,
        rule: &Rule,
        path: &str,
        ours: Option<&Value>,
        user: &Value,
        found: &mut Vec<Contradiction>,
    ) {
        match (ours, user) {
            (_, Value::Null) => {}
            (ours, user) if (rule.same)(ours, user) => {}
            (_, Value::Object(fields)) if !fields.is_empty() => {
                for (field, value) in fields {
                    let ours = ours.and_then(|ours| ours.get(field));
                    self.compare(rule, &format!("{path}.{field}"), ours, value, found);
                }
            }
            (_, value) => found.push(Contradiction {
                path: format!("{}.{path}", self.path),
                value: (!rule.secret).then(|| shown(value)),
                remedy: rule.remedy.to_owned(),
            }),
        }
    }

    /// An object or a list of ours can only be merged with the same; and the arguments of v1beta4
    /// are lists, where older kubeadm had maps.
    fn shapes(&self, path: &str, ours: &Value, user: &Value, found: &mut Vec<Contradiction>) {
        let Value::Object(fields) = user else { return };
        for (field, value) in fields {
            let here = format!("{path}.{field}");
            let own = ours.get(field).unwrap_or(&Value::Null);
            let wants_list = own.is_array() || field.ends_with("xtraArgs");
            let remedy = match value {
                Value::Null => continue,
                Value::Object(_) if !wants_list => {
                    self.shapes(&here, own, value, found);
                    continue;
                }
                Value::Array(_) if !own.is_object() => continue,
                _ if own.is_object() => "write an object of fields",
                _ if field.ends_with("xtraArgs") => "write a list of {name, value}",
                _ if wants_list => "write a list",
                _ => continue,
            };
            found.push(Contradiction {
                path: format!("{}{here}", self.path),
                value: None,
                remedy: remedy.to_owned(),
            });
        }
    }
}

/// The values at a path. `extraArgs[name]` means the values of the arguments of that name.
fn at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut values = vec![value];
    for step in path.split('.') {
        let (field, name) = step
            .strip_suffix(']')
            .and_then(|step| step.split_once('['))
            .map_or((step, None), |(field, name)| (field, Some(name)));
        values = values.into_iter().filter_map(|v| v.get(field)).collect();
        if let Some(name) = name {
            values = values
                .into_iter()
                .flat_map(|list| list.as_array().into_iter().flatten())
                .filter(|item| name_of(item) == Some(name))
                .filter_map(|item| item.get("value"))
                .collect();
        }
    }
    values
}

/// A value as JSON, cut to a readable length.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
