//! Server-side apply of manifests to a workload cluster.

use std::collections::HashMap;
use std::fmt;

use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersion};
use kube::discovery::{Scope, pinned_group};
use kube::{Api, Client};

use super::error::{Error, code, reason};
use super::manifests::{Document, in_order};
use tatara_core::api::names::FIELD_MANAGER;

/// The result of applying manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Objects that are applied.
    pub applied: usize,
    /// Objects whose kind or namespace does not exist yet. They are to be
    /// applied again.
    pub pending: Vec<Problem>,
    /// Objects that the API refused.
    pub failed: Vec<Problem>,
}

impl Outcome {
    /// Whether all objects are applied.
    pub fn is_complete(&self) -> bool {
        self.pending.is_empty() && self.failed.is_empty()
    }
}

/// An object that could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Document, kind and name, for messages.
    pub object: String,
    /// The cause: the API server's message, if it answered.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.message)
    }
}

/// How many objects are named with one cause.
const NAMED: usize = 3;
/// Problems of each kind that are kept: a cluster's API server may say another 1 KiB of each
/// object.
const PROBLEMS: usize = 256;

/// All problems: each cause once, after the objects that have it.
pub fn sentences(problems: &[Problem]) -> String {
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for problem in problems {
        let same = causes
            .iter_mut()
            .find(|(cause, _)| *cause == problem.message);
        match same {
            Some((_, objects)) => objects.push(&problem.object),
            None => causes.push((&problem.message, vec![&problem.object])),
        }
    }
    let said = causes.into_iter().map(|(cause, mut objects)| {
        let more = objects.len().saturating_sub(NAMED);
        objects.truncate(NAMED);
        let objects = objects.join(", ");
        match more {
            0 => format!("{objects}: {cause}"),
            more => format!("{objects} and {more} more: {cause}"),
        }
    });
    said.collect::<Vec<_>>().join("; ")
}

/// Applies documents (server-side apply) with field manager `tatara`, Namespaces and
/// CustomResourceDefinitions first, and forces conflicts with other managers. Does not wait: a kind
/// that is not served yet is `pending`. A refused object does not affect the others. Applying the
/// same again changes nothing.
///
/// # Errors
/// The workload cluster does not answer.
pub async fn apply(client: &Client, documents: Vec<Document>) -> Result<Outcome, Error> {
    let mut applying = Applying::default();
    for document in in_order(documents) {
        applying.add(client, &document).await?;
    }
    Ok(applying.outcome)
}

/// Applies one document after another, as [`apply`] does.
#[derive(Default)]
pub struct Applying {
    kinds: Kinds,
    /// The result so far.
    pub outcome: Outcome,
}

impl Applying {
    /// Applies a document.
    ///
    /// # Errors
    /// The workload cluster does not answer.
    pub async fn add(&mut self, client: &Client, document: &Document) -> Result<(), Error> {
        let (problems, message) = match apply_one(client, &mut self.kinds, document).await {
            Ok(true) => {
                self.outcome.applied += 1;
                return Ok(());
            }
            Ok(false) => {
                let kind = document.group_version.api_version();
                let kind = format!("{kind} {}", document.kind);
                let message = format!("the cluster does not serve {kind} yet");
                (&mut self.outcome.pending, message)
            }
            Err(error) => match code(&error) {
                Some(404) => (&mut self.outcome.pending, reason(&error)),
                Some(_) => (&mut self.outcome.failed, reason(&error)),
                None => return Err(Error::new(format!("apply {document}"), error)),
            },
        };
        if problems.len() < PROBLEMS {
            problems.push(Problem {
                object: document.to_string(),
                message,
            });
        }
        Ok(())
    }
}

/// Whether the kind of the object is served; if so, it is applied.
async fn apply_one(client: &Client, kinds: &mut Kinds, document: &Document) -> kube::Result<bool> {
    let Some((resource, scope)) = kinds.find(client, document).await? else {
        return Ok(false);
    };
    let objects: Api<DynamicObject> = match scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = document.namespace.as_deref().unwrap_or("default");
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&document.object);
    objects
        .patch(&document.name, &params, &patch)
        .await
        .map(|_| true)
}

/// Kinds that the workload cluster serves, read once per group and version that the manifests name.
#[derive(Default)]
struct Kinds(HashMap<GroupVersion, Vec<(ApiResource, Scope)>>);

impl Kinds {
    async fn find(
        &mut self,
        client: &Client,
        document: &Document,
    ) -> kube::Result<Option<(ApiResource, Scope)>> {
        let version = &document.group_version;
        if !self.0.contains_key(version) {
            let served = served(client, version).await?;
            self.0.insert(version.clone(), served);
        }
        let mut served = self.0.get(version).into_iter().flatten();
        Ok(served
            .find(|(resource, _)| resource.kind == document.kind)
            .cloned())
    }
}

async fn served(
    client: &Client,
    version: &GroupVersion,
) -> kube::Result<Vec<(ApiResource, Scope)>> {
    match pinned_group(client, version).await {
        Ok(group) => {
            let resources = group.versioned_resources(&version.version).into_iter();
            Ok(resources
                .map(|(resource, can)| (resource, can.scope))
                .collect())
        }
        Err(error) if code(&error) == Some(404) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_several_objects_have_is_said_once() {
        let problem = |object: &str, message: &str| Problem {
            object: object.into(),
            message: message.into(),
        };
        let (no, other) = ("user admin may not do that", "no such namespace");
        let two = [problem("a", no), problem("b", other)];
        assert_eq!(sentences(&two), format!("a: {no}; b: {other}"));
        let six = ["a", "b", "c", "d", "e", "f"].map(|object| problem(object, no));
        assert_eq!(sentences(&six), format!("a, b, c and 3 more: {no}"));
        assert_eq!(sentences(&[]), "");
    }
}
