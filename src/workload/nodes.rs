//! Writes to Nodes of a workload cluster: labels, annotations, taints, cordon, deletion. Each write follows
//! a read, carries its UID and resourceVersion, and is skipped if nothing differs.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};

use super::error::{Error, code};
use crate::core::NodeView;
use crate::core::node_change::{NodeChange, patch_for};

/// Limit of retries after concurrent writes. Kubelets and controllers
/// write a new Node in bursts; more conflicts than this are not chance.
const ATTEMPTS: usize = 8;

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWrite {
    /// Nothing differed.
    Unchanged,
    /// The Node was changed.
    Changed,
    /// The Node with this name and UID does not exist any more.
    Gone,
}

/// Reads a Node; `None` if there is none.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn read(client: &Client, name: &str) -> Result<Option<NodeView>, Error> {
    let read = Api::<Node>::all(client.clone()).get_opt(name).await;
    read.map(|node| node.map(NodeView::from_node))
        .map_err(|error| Error::new(format!("read node {name}"), error))
}

/// Changes a Node. Taints are an atomic list that others write too, so the Node is read,
/// changed and written under its resourceVersion, and again after a conflict.
///
/// # Errors
/// The Node cannot be read or written, or conflicts persist.
pub async fn change(
    client: &Client,
    name: &str,
    uid: &str,
    change: &NodeChange,
) -> Result<NodeWrite, Error> {
    let nodes = Api::<Node>::all(client.clone());
    let mut attempt = 1;
    loop {
        let read = nodes.get_opt(name).await;
        let read = read.map_err(|error| Error::new(format!("read node {name}"), error))?;
        let Some(node) = read.filter(|node| node.metadata.uid.as_deref() == Some(uid)) else {
            return Ok(NodeWrite::Gone);
        };
        let Some(patch) = patch_for(&node, change) else {
            return Ok(NodeWrite::Unchanged);
        };
        match nodes
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => return Ok(NodeWrite::Changed),
            Err(error) if code(&error) == Some(404) => return Ok(NodeWrite::Gone),
            Err(error) if code(&error) == Some(409) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(Error::new(format!("change node {name}"), error)),
        }
    }
}

/// Deletes the Node with this name and UID, but not a later one of the same name.
///
/// # Errors
/// The API server refuses the deletion or does not answer.
pub async fn delete(client: &Client, name: &str, uid: &str) -> Result<NodeWrite, Error> {
    let only_this = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    });
    match Api::<Node>::all(client.clone())
        .delete(name, &only_this)
        .await
    {
        Ok(_) => Ok(NodeWrite::Changed),
        Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(NodeWrite::Gone),
        Err(error) => Err(Error::new(format!("delete node {name}"), error)),
    }
}
