//! The ClusterProperties of a workload cluster (About API, KEP-2149).

use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};

use super::error::{Error, code};

/// Limit of a property's value in a ClusterProfile (KEP-4322), in bytes.
pub const MAX_VALUE: usize = 1024;

/// Versions of the About API, newest first.
const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// The ClusterProperties of a workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Names and values, sorted by name.
    pub values: Vec<(String, String)>,
    /// Names of properties whose value is empty or longer than [`MAX_VALUE`], sorted.
    pub skipped: Vec<String>,
}

/// Reads the ClusterProperties of a workload cluster; none if it does not serve the About API.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn list(client: &Client) -> Result<Properties, Error> {
    for version in VERSIONS {
        let resource = ApiResource {
            group: "about.k8s.io".to_owned(),
            version: version.to_owned(),
            api_version: format!("about.k8s.io/{version}"),
            kind: "ClusterProperty".to_owned(),
            plural: "clusterproperties".to_owned(),
        };
        let properties: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        match properties.list(&ListParams::default()).await {
            Ok(list) => return Ok(from_objects(&list.items)),
            Err(error) if code(&error) == Some(404) => {}
            Err(error) => return Err(Error::new("list the ClusterProperties", error)),
        }
    }
    Ok(Properties::default())
}

fn from_objects(objects: &[DynamicObject]) -> Properties {
    let mut properties = Properties::default();
    for object in objects {
        let name = object.metadata.name.clone().unwrap_or_default();
        let value = object
            .data
            .pointer("/spec/value")
            .and_then(|value| value.as_str());
        match value.filter(|value| !value.is_empty() && value.len() <= MAX_VALUE) {
            Some(value) => properties.values.push((name, value.to_owned())),
            None => properties.skipped.push(name),
        }
    }
    properties.values.sort();
    properties.skipped.sort();
    properties
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_a_profile_cannot_carry_are_named_and_the_rest_is_sorted() {
        let object = |name: &str, value: &str| -> DynamicObject {
            let object = json!({"metadata": {"name": name}, "spec": {"value": value}});
            serde_json::from_value(object).expect("an object")
        };
        let objects = [
            object("z.example.com", "last"),
            object("long.example.com", &"x".repeat(MAX_VALUE + 1)),
            object("full.example.com", &"x".repeat(MAX_VALUE)),
            object("cluster.clusterset.k8s.io", "c1"),
            object("empty.example.com", ""),
        ];
        let properties = from_objects(&objects);
        let names: Vec<_> = properties
            .values
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "cluster.clusterset.k8s.io",
                "full.example.com",
                "z.example.com"
            ]
        );
        assert_eq!(properties.values[2].1, "last", "values as they are");
        assert_eq!(
            properties.skipped,
            ["empty.example.com", "long.example.com"]
        );
    }
}
