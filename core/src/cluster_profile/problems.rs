//! What keeps a Cluster from being published, in words. Pure.

use super::observed::{Observed, Ours};
use super::plan::{CONDITION, PATIENCE};
use crate::Why;
use crate::api::cluster_provider_spec::ProfileSettings;
use crate::api::conditions::{Finding, Reason};
use crate::api::names::{PROFILE_MANAGER, profile_kubeconfig_secret};
use crate::remedy;

/// Longest namespace and name together that Argo CD integrations can make a label value of.
const LONGEST_REFERENCE: usize = 62;

/// The inventory namespaces that a Cluster asks for: those that may be written to, and those that
/// may not. Default: the Cluster's own namespace; the manager's `--profile-namespaces` must allow
/// others.
pub fn inventories(
    settings: &ProfileSettings,
    own: &str,
    allowed: &[String],
) -> (Vec<String>, Vec<String>) {
    if settings.namespaces.is_empty() {
        return (vec![own.to_owned()], Vec::new());
    }
    let mut asked = settings.namespaces.clone();
    asked.sort();
    asked.dedup();
    asked
        .into_iter()
        .partition(|name| name == own || allowed.contains(name))
}

pub(super) fn definition_missing() -> Finding {
    Finding::no(
        CONDITION,
        Reason::DefinitionMissing,
        format!(
            "the management cluster does not serve clusterprofiles.multicluster.x-k8s.io; install its \
             CustomResourceDefinition: {}",
            remedy::definition::apply_cluster_profile()
        ),
    )
}

pub(super) fn waiting(observed: &Observed) -> Why {
    let message = format!("not published yet: {}", observed.waits_for);
    Why::new(Reason::WaitingForControlPlane, message)
}

pub(super) fn being_deleted(namespace: &str) -> Why {
    let message = format!(
        "the ClusterProfile in namespace {namespace} is being deleted by another client, and is created \
         again once it is deleted"
    );
    Why::new(Reason::BeingDeleted, message)
}

pub(super) fn foreign(observed: &Observed, namespace: &str, whose: &str) -> Why {
    let name = &observed.cluster.name;
    let cause = format!("ClusterProfile {namespace}/{name} is {whose} and is left alone");
    let remedy =
        "delete it there, or name another namespace in spec.providerSpec.value.profile.namespaces";
    Why::new(Reason::ForeignProfile, cause).remedied(remedy)
}

/// The way in of another Cluster's administrators is never shown to the consumers of this one.
pub(super) fn secret_taken(observed: &Observed, by: &str) -> Why {
    let name = &observed.cluster.name;
    let secret = profile_kubeconfig_secret(name);
    let cause = format!(
        "Secret {secret}, in which consumers of Cluster {name} would find their kubeconfig, belongs to Cluster {by}; \
         it is left alone and nothing is published."
    );
    let remedy = "Create one of the two Clusters under another name";
    Why::new(Reason::SecretTaken, cause).remedied(remedy)
}

pub(super) fn forbidden(namespace: &str) -> Why {
    let cause = format!(
        "spec.providerSpec.value.profile.namespaces names {namespace}, which the manager's \
         --profile-namespaces does not"
    );
    let remedy = "add it to that option, or remove it here";
    Why::new(Reason::NamespaceNotAllowed, cause).remedied(remedy)
}

pub(super) fn withdrawing(observed: &Observed, namespace: &str, ours: &Ours) -> Finding {
    let name = &observed.cluster.name;
    let patience = PATIENCE.as_secs();
    let held_by = if ours.finalizers.is_empty() {
        String::new()
    } else {
        let finalizers = ours.finalizers.join(", ");
        format!(", which the finalizers {finalizers} of its consumers hold")
    };
    let message = format!(
        "ClusterProfile {namespace}/{name} is removed first{held_by}; waiting at most {patience} s"
    );
    Finding::no(CONDITION, Reason::Withdrawing, message)
}

/// The Cluster's condition: the first problem is the reason, all are the message.
pub(super) fn finding(observed: &Observed, published: &[&str], problems: &[Why]) -> Finding {
    // each namespace waits for the same
    if let Some(why) = Why::all(problems) {
        return why.finding(CONDITION);
    }
    let name = &observed.cluster.name;
    let mut message = format!(
        "ClusterProfile {name} in namespace {}",
        published.join(", ")
    );
    if !observed.skipped.is_empty() {
        message.push_str("; left out, because their values are empty or longer than 1024 bytes: ");
        message.push_str(&observed.skipped.join(", "));
    }
    let longest = published.iter().map(|namespace| namespace.len()).max();
    if longest.unwrap_or_default() + name.len() > LONGEST_REFERENCE {
        message.push_str(
            "; namespace and name together are longer than 62 characters, which Argo CD \
             integrations refuse",
        );
    }
    if let Some(problem) = &observed.problem {
        message.push_str("; what consumers find may be out of date, or refused to them: ");
        message.push_str(problem);
    }
    Finding::yes(CONDITION, Reason::Published, message)
}

/// What is said of an answer of the API server to the write of a profile that a retry would repeat,
/// by its HTTP status and message. `None` for all others, which are errors.
pub fn refused(namespace: &str, name: &str, (code, message): (u16, &str)) -> Option<Finding> {
    let message = format!("ClusterProfile {namespace}/{name}: {message}");
    let is_repeated = matches!(code, 400 | 403 | 404 | 422);
    is_repeated.then(|| Finding::no(CONDITION, Reason::Refused, message))
}

/// Requires that the API server stored a profile as it was written: `lost` names the fields that it
/// did not. A field that it drops would differ in every pass.
///
/// # Errors
/// It did not.
pub fn kept(namespace: &str, name: &str, lost: &[&str]) -> Result<(), Finding> {
    if lost.is_empty() {
        return Ok(());
    }
    Err(not_kept(namespace, name, lost))
}

/// The API server accepted a write, but stored something else: `parts` name the fields.
fn not_kept(namespace: &str, name: &str, parts: &[&str]) -> Finding {
    let message = format!(
        "ClusterProfile {namespace}/{name}: the API server does not store {} as written: the installed CustomResourceDefinition \
         lacks them, or an admission webhook changes them. Update the definition ({}), or exempt \
         ClusterProfiles of {} from the webhook",
        parts.join(", "),
        remedy::definition::apply_cluster_profile(),
        PROFILE_MANAGER,
    );
    Finding::no(CONDITION, Reason::Refused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_a_retry_would_repeat_is_told_and_any_other_is_an_error() {
        for (code, is_told) in [
            (400, true),
            (403, true),
            (404, true),
            (422, true),
            (401, false),
            (409, false),
            (429, false),
            (500, false),
        ] {
            let told = refused("n", "c", (code, "no"));
            assert_eq!(told.is_some(), is_told, "{code}");
            let message = told.map(|finding| finding.message());
            assert!(message.is_none_or(|of| of == "ClusterProfile n/c: no"));
        }
    }

    #[test]
    fn a_profile_that_lost_a_field_is_not_published() {
        assert_eq!(kept("n", "c", &[]), Ok(()));
        let lost = kept("n", "c", &["spec.displayName"]).expect_err("a loss");
        assert_eq!(lost.reason(), Reason::Refused);
        assert!(
            lost.message().contains("spec.displayName"),
            "{}",
            lost.message()
        );
    }
}
