//! Writing to Nodes of a member: labels, annotations, taints, cordon, deletion. Each write is made
//! from what was just read, carries its UID and resourceVersion, and is left out when nothing differs.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};

use super::error::{Error, code};
use crate::core::node_change::{NodeChange, patch_for};

/// How often a write is tried anew because another writer came first. Kubelets and controllers
/// write a Node in bursts at its birth; more than this is not chance.
const ATTEMPTS: usize = 8;

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Everything was as wanted.
    Unchanged,
    /// The Node was changed.
    Changed,
    /// There is no Node of this name and UID any more.
    Gone,
}

/// Makes a Node as wanted. Taints are an atomic list that others write too, so the Node is read,
/// changed and written under its resourceVersion, again when somebody else came first.
pub async fn change(
    client: &Client,
    name: &str,
    uid: &str,
    change: &NodeChange,
) -> Result<Written, Error> {
    let nodes = Api::<Node>::all(client.clone());
    let mut attempt = 1;
    loop {
        let read = nodes.get_opt(name).await;
        let read = read.map_err(|error| Error::new(format!("read node {name}"), error))?;
        let Some(node) = read.filter(|node| node.metadata.uid.as_deref() == Some(uid)) else {
            return Ok(Written::Gone);
        };
        let Some(patch) = patch_for(&node, change) else {
            return Ok(Written::Unchanged);
        };
        match nodes
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => return Ok(Written::Changed),
            Err(error) if code(&error) == Some(404) => return Ok(Written::Gone),
            Err(error) if code(&error) == Some(409) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(Error::new(format!("change node {name}"), error)),
        }
    }
}

/// Keeps new pods from a Node.
pub async fn cordon(client: &Client, name: &str, uid: &str) -> Result<Written, Error> {
    change(client, name, uid, &NodeChange::schedulable(false)).await
}

/// Lets new pods onto a Node.
pub async fn uncordon(client: &Client, name: &str, uid: &str) -> Result<Written, Error> {
    change(client, name, uid, &NodeChange::schedulable(true)).await
}

/// Deletes the Node with this name and UID; one that registered anew under the name stays.
pub async fn delete(client: &Client, name: &str, uid: &str) -> Result<Written, Error> {
    let only_this = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    });
    match Api::<Node>::all(client.clone())
        .delete(name, &only_this)
        .await
    {
        Ok(_) => Ok(Written::Changed),
        Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(Written::Gone),
        Err(error) => Err(Error::new(format!("delete node {name}"), error)),
    }
}
