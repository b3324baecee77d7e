//! Writes to Nodes of a workload cluster: labels, annotations, taints, cordon, deletion. Each write
//! follows a read, carries its UID and resourceVersion, and is skipped if nothing differs.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};

use super::error::{Error, code, reason};
use super::watch::too_large;
use crate::remote::limits::{LIST, NODES, VIEWS};
use tatara_core::NodeView;
use tatara_core::node_change::{NodeChange, patch_for};

/// Limit of retries after concurrent writes. Kubelets and controllers
/// write a new Node in bursts; more conflicts than this are not chance.
const ATTEMPTS: usize = 8;

/// Page size of a list of Nodes: one answer may have 16 MiB.
const PAGE: u32 = 500;

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

/// Reads all Nodes, page by page.
///
/// # Errors
/// Why they cannot be listed; or they are more than the manager keeps of one cluster, or take
/// longer than
/// [`LIST`]: no server keeps a pass by many slow pages.
pub async fn list(client: &Client) -> Result<Vec<Arc<NodeView>>, String> {
    let listed = tokio::time::timeout(LIST, pages(client)).await;
    let late = |_| {
        format!(
            "it takes longer than {} s, turns of other clusters included",
            LIST.as_secs()
        )
    };
    listed.map_err(late)?
}

async fn pages(client: &Client) -> Result<Vec<Arc<NodeView>>, String> {
    let nodes = Api::<Node>::all(client.clone());
    let mut page = ListParams::default().limit(PAGE);
    let mut views = Vec::new();
    let mut weight = 0;
    loop {
        let listed = nodes.list(&page).await;
        let listed = listed.map_err(|error| reason(&error))?;
        for node in listed.items {
            let view = NodeView::from_node(node);
            weight += view.weight();
            views.push(Arc::new(view));
        }
        if views.len() > NODES || weight > VIEWS {
            return Err(too_large());
        }
        match listed.metadata.continue_ {
            Some(token) if !token.is_empty() => page.continue_token = Some(token),
            _ => return Ok(views),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower::{BoxError, service_fn};

    use super::*;

    /// A server whose list of Nodes has so many pages of so many; it counts the requests.
    fn paged(pages: usize, size: usize, requests: &Arc<AtomicUsize>) -> Client {
        let requests = Arc::clone(requests);
        let answer = move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let number = requests.fetch_add(1, Relaxed);
            async move {
                assert!(query.contains("limit=500"), "{query}");
                assert_eq!(query.contains("continue=next"), number > 0, "{query}");
                let node = |n: usize| json!({"metadata": {"name": format!("n{number}-{n}")}});
                let nodes: Vec<_> = (0..size).map(node).collect();
                let token = if number + 1 < pages { "next" } else { "" };
                let list = json!({
                    "kind": "NodeList",
                    "apiVersion": "v1",
                    "metadata": {"continue": token},
                    "items": nodes,
                });
                let body = Body::from(list.to_string().into_bytes());
                Ok::<_, BoxError>(Response::new(body))
            }
        };
        Client::new(service_fn(answer), "default")
    }

    #[tokio::test]
    async fn nodes_are_listed_page_by_page_and_no_more_than_are_kept() {
        let requests = Arc::new(AtomicUsize::new(0));
        let all = list(&paged(3, 500, &requests)).await.expect("Nodes");
        assert_eq!((all.len(), requests.load(Relaxed)), (1500, 3));
        assert_eq!(all[1499].name, "n2-499");
        let requests = Arc::new(AtomicUsize::new(0));
        let why = list(&paged(usize::MAX, 500, &requests))
            .await
            .expect_err("Nodes without an end");
        assert!(why.contains("more than 20000 Nodes"), "{why}");
        assert_eq!(requests.load(Relaxed), 41);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_of_many_slow_pages_has_an_end() {
        let requests = Arc::new(AtomicUsize::new(0));
        let paged = paged(usize::MAX, 1, &requests);
        let slow = service_fn(move |request: Request<Body>| {
            let paged = paged.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                paged.send(request).await.map_err(BoxError::from)
            }
        });
        let why = list(&Client::new(slow, "default")).await;
        let why = why.expect_err("pages without an end");
        assert!(why.contains("longer than 60 s"), "{why}");
        let asked = requests.load(Relaxed);
        assert!((5..=6).contains(&asked), "{asked}");
    }
}
