//! The Node that a deleted Machine left in its Cluster, as one that was deleted before its host was
//! reset: which one is deleted once the host is clean.

use std::sync::Arc;

use super::released::keeps_its_nodes;
use crate::NodeView;
use crate::api::Cluster;

/// What is known when the host of a Machine is freed.
#[derive(Clone, Copy, Debug)]
pub struct LeftFacts<'a> {
    /// The Machine exists: its own deletion takes its Node along.
    pub has_machine: bool,
    /// Its Cluster, if that exists.
    pub cluster: Option<&'a Cluster>,
    /// The control plane of that is somebody else's.
    pub is_external: bool,
    /// The Nodes with its provider ID, while the API of the Cluster is connected.
    pub nodes: Option<LeftNodes<'a>>,
}

/// The Nodes of a Machine.
#[derive(Clone, Copy, Debug)]
pub enum LeftNodes<'a> {
    /// These have its provider ID.
    Known(&'a [Arc<NodeView>]),
    /// They are more, or larger, than the manager reads.
    BeyondLimit,
}

impl<'a> LeftNodes<'a> {
    /// Those that the watch shows. `exceeds`: it keeps none, because they exceed a limit.
    pub fn of(nodes: &'a [Arc<NodeView>], exceeds: bool) -> Self {
        if exceeds {
            Self::BeyondLimit
        } else {
            Self::Known(nodes)
        }
    }
}

/// The Node that is deleted, if there is one.
///
/// # Errors
/// It is not known whether there is one.
pub fn left_node(facts: LeftFacts<'_>) -> Result<Option<&NodeView>, &'static str> {
    let stays = |cluster: &Cluster| keeps_its_nodes(cluster, facts.is_external);
    if facts.has_machine || !facts.cluster.is_some_and(stays) {
        return Ok(None);
    }
    match facts.nodes {
        // of several, nothing says which one this host registered
        Some(LeftNodes::Known([node])) => Ok(Some(node)),
        Some(LeftNodes::Known(_)) | None => Ok(None),
        Some(LeftNodes::BeyondLimit) => Err(
            "its Cluster's Nodes exceed a limit of the manager, and are not read (condition ControlPlaneHealthy)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(deleted: &Value) -> Cluster {
        let network = json!({"pods": {"cidrBlocks": []}, "services": {"cidrBlocks": []}, "serviceDomain": ""});
        let cluster = json!({"metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"clusterNetwork": network}});
        serde_json::from_value(cluster).expect("a Cluster")
    }

    #[test]
    fn the_only_node_of_a_machine_that_is_gone_is_deleted_from_a_cluster_that_stays() {
        let (stays, goes) = (
            cluster(&Value::Null),
            cluster(&json!("2027-01-15T08:00:00Z")),
        );
        let node = |name: &str| {
            Arc::new(NodeView {
                name: name.into(),
                ..NodeView::default()
            })
        };
        let (one, two) = ([node("a")], [node("a"), node("b")]);
        let facts = LeftFacts {
            has_machine: false,
            cluster: Some(&stays),
            is_external: false,
            nodes: Some(LeftNodes::Known(&one)),
        };
        for (case, facts, expected) in [
            ("left", facts, Ok(true)),
            (
                "its Machine",
                LeftFacts {
                    has_machine: true,
                    ..facts
                },
                Ok(false),
            ),
            (
                "no Cluster",
                LeftFacts {
                    cluster: None,
                    ..facts
                },
                Ok(false),
            ),
            (
                "goes",
                LeftFacts {
                    cluster: Some(&goes),
                    ..facts
                },
                Ok(false),
            ),
            (
                "external",
                LeftFacts {
                    cluster: Some(&goes),
                    is_external: true,
                    ..facts
                },
                Ok(true),
            ),
            (
                "not connected",
                LeftFacts {
                    nodes: None,
                    ..facts
                },
                Ok(false),
            ),
            (
                "none",
                LeftFacts {
                    nodes: Some(LeftNodes::Known(&[])),
                    ..facts
                },
                Ok(false),
            ),
            (
                "several",
                LeftFacts {
                    nodes: Some(LeftNodes::Known(&two)),
                    ..facts
                },
                Ok(false),
            ),
            (
                "a limit",
                LeftFacts {
                    nodes: Some(LeftNodes::BeyondLimit),
                    ..facts
                },
                Err(()),
            ),
        ] {
            let found = left_node(facts).map(|node| node.is_some_and(|node| node.name == "a"));
            assert_eq!(found.map_err(drop), expected, "{case}");
        }
    }
}
