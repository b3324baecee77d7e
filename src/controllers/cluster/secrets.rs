//! The Secrets of a cluster: read when they are new or have changed, which the watch of Secrets tells;
//! and held until it is gone. A namespace, or a foreground deletion, would take them first, and a restarted
//! manager could not finish what was begun; and a CA that somebody deletes by mistake stays readable.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::known::Kubeconfig;
use super::sources::Now;
use crate::api::Cluster;
use crate::api::cluster_provider_spec::{Addon, AddonKind};
use crate::api::conditions::{ConditionType, Reason, find};
use crate::api::names::{
    ANNOTATION_INITIALIZED, LABEL_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY, kubeconfig_secret,
};
use crate::controllers::machine::turn;
use crate::core::cluster::Certificates;
use crate::core::cluster_profile::Server;
use crate::core::machine::plan::turn::Marks;
use crate::engine::{Chain, ReconcileError, patch};
use crate::manager::Context;
use crate::pki::{Authorities, AuthoritySecret, kubeconfig};
use crate::workload::{given, manifests};

/// Reads the Secrets of a cluster that lives, unless they are known as they are now.
pub async fn observe(
    context: &Context,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let uid = cluster.uid().unwrap_or_default();
    context
        .secrets
        .follow(cluster, &watched(&cluster.name_any()));
    let revision = context.secrets.revision(&uid);
    let known = context.known.get(&uid);
    if known.secrets_at == Some(revision) && known.certificates == Certificates::Ready {
        return Ok(());
    }
    let kubeconfig = read_kubeconfig(context, cluster).await?;
    let is_external = kubeconfig.external;
    context.known.update(&uid, |known| {
        known.kubeconfig = kubeconfig;
        // one that was made anew is not held yet
        known.secrets_held &= known.secrets_at == Some(revision);
        known.secrets_at = Some(revision);
    });
    if is_external {
        context
            .known
            .update(&uid, |known| known.certificates = Certificates::Ready);
        turn::remember(context, cluster, None);
        return Ok(());
    }
    certificates(context, cluster, now).await
}

/// Names of the Secrets that a cluster has.
fn names(cluster: &str) -> impl Iterator<Item = String> {
    let authorities = AuthoritySecret::ALL.map(|which| which.name(cluster));
    authorities.into_iter().chain([kubeconfig_secret(cluster)])
}

fn watched(cluster: &str) -> Vec<Addon> {
    let secret = |name| Addon {
        kind: AddonKind::Secret,
        name,
    };
    names(cluster).map(secret).collect()
}

/// Reads the authorities. What a control plane was made of stays known when its Secret is lost: only
/// people can bring that back, and what runs goes on.
async fn certificates(
    context: &Context,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let name = cluster.name_any();
    let namespace = cluster.namespace().unwrap_or_default();
    let uid = cluster.uid().unwrap_or_default();
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    let made_with = context.known.get(&uid).kubeconfig.made_with;
    let made_with = made_with.filter(|_| is_made);
    let Found { data, marks } = read_authorities(context, &namespace, &name).await?;
    let (state, authorities) = match Authorities::load_or_generate(&name, &data, now) {
        Err(error) => (Certificates::Broken(Chain(&error).to_string()), None),
        Ok((authorities, missing)) if missing.is_empty() => judged(&name, authorities, made_with),
        Ok((_, missing)) => {
            let names = missing.iter().map(|which| which.name(&name));
            (Certificates::Missing(names.collect()), None)
        }
    };
    let is_replaced = matches!(state, Certificates::Replaced(_));
    context.known.update(&uid, |known| {
        known.certificates = state;
        if authorities.is_some() || !is_made || is_replaced {
            known.authorities = authorities;
        }
    });
    turn::remember(context, cluster, marks);
    Ok(())
}

/// All four are there. A CA that somebody put in place of the one that the control plane was made with is of no use:
/// whoever joins by it, or is given a kubeconfig with it, is not let in. What a control plane was made with is told by the
/// kubeconfig that was written then, also to a manager that was restarted.
fn judged(
    cluster: &str,
    authorities: Authorities,
    made_with: Option<String>,
) -> (Certificates, Option<Arc<Authorities>>) {
    if made_with.is_some_and(|pem| authorities.cluster.is_other_than(&pem)) {
        let secret = AuthoritySecret::Cluster.name(cluster);
        return (Certificates::Replaced(secret), None);
    }
    (Certificates::Ready, Some(Arc::new(authorities)))
}

/// The authorities' Secrets that exist.
#[derive(Default)]
pub struct Found {
    /// What they hold.
    pub data: BTreeMap<AuthoritySecret, BTreeMap<String, ByteString>>,
    /// What the CA Secret says of the control-plane turn.
    pub marks: Option<Marks>,
}

/// Reads the authorities' Secrets that exist.
pub async fn read_authorities(
    context: &Context,
    namespace: &str,
    cluster: &str,
) -> Result<Found, ReconcileError> {
    let mut found = Found::default();
    for which in AuthoritySecret::ALL {
        if let Some(secret) = read(context, namespace, &which.name(cluster)).await? {
            if which == AuthoritySecret::Cluster {
                found.marks = Some(Marks::of(secret.annotations()));
            }
            found.data.insert(which, secret.data.unwrap_or_default());
        }
    }
    Ok(found)
}

async fn read(
    context: &Context,
    namespace: &str,
    name: &str,
) -> Result<Option<Secret>, ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
    let secret = secrets.get_opt(name).await;
    secret.map_err(ReconcileError::api(format!("read Secret {name}")))
}

/// Looks at the kubeconfig Secret: whose it is, and until when it is good. A control plane that was
/// somebody else's does not become ours when its kubeconfig is lost.
async fn read_kubeconfig(
    context: &Context,
    cluster: &Cluster,
) -> Result<Kubeconfig, ReconcileError> {
    let name = kubeconfig_secret(&cluster.name_any());
    let namespace = cluster.namespace().unwrap_or_default();
    let Some(secret) = read(context, &namespace, &name).await? else {
        let external = was_external(cluster);
        let lost = || {
            format!(
                "Secret {name}, by which the control plane is reached, is missing; create it again with the kubeconfig under the key value"
            )
        };
        return Ok(Kubeconfig {
            external,
            problem: external.then(lost),
            server: Err(lost()),
            ..Kubeconfig::default()
        });
    };
    if let Some(other) = other_cluster(&secret, cluster) {
        return Ok(Kubeconfig {
            problem: Some(format!(
                "Secret {name}, in which this Cluster's kubeconfig would be, is that of Cluster {other} and is left alone; make this Cluster under another name"
            )),
            ..Kubeconfig::default()
        });
    }
    let is_ours = secret.labels().get(LABEL_MANAGED_BY).map(String::as_str) == Some(MANAGED_BY);
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    let external = !is_ours && !is_made;
    let text = text(&secret);
    let config = match &text {
        None => Err("it has no key value".to_owned()),
        Some(text) => given::config(text).await,
    };
    let server = config
        .as_ref()
        .map_err(Clone::clone)
        .and_then(given::server);
    let server = server.map(|(url, authority_pem)| Server { url, authority_pem });
    let problem = config.err().filter(|_| external);
    let named = |problem: String| format!("Secret {name}: {problem}");
    let parsed = text
        .as_deref()
        .and_then(|text| kubeconfig::parse(text).ok());
    Ok(Kubeconfig {
        external,
        renew_at: parsed.as_ref().map(kubeconfig::Kubeconfig::renew_at),
        made_with: parsed
            .filter(|_| is_ours)
            .map(|parsed| parsed.authority_pem),
        digest: text.as_deref().map(digest),
        problem: problem.map(named),
        server: server.map_err(named),
    })
}

/// The other Cluster that a Secret was made for. The names of two Clusters can ask for one Secret:
/// `a-profile-kubeconfig` is that of the profile of `a`, and that of the administrators of `a-profile`.
pub fn other_cluster(secret: &Secret, cluster: &Cluster) -> Option<String> {
    let owners = secret.owner_references().iter();
    let owners = owners.filter(|owner| owner.kind == Cluster::kind(&()));
    let is_made_here =
        secret.labels().get(LABEL_MANAGED_BY).map(String::as_str) == Some(MANAGED_BY);
    let label = secret.labels().get(LABEL_CLUSTER);
    let label = label.filter(|_| is_made_here);
    let mut names = owners.map(|owner| &owner.name).chain(label);
    names.find(|name| **name != cluster.name_any()).cloned()
}

/// The kubeconfig in a Secret.
pub fn text(secret: &Secret) -> Option<String> {
    let value = secret.data.as_ref()?.get("value")?;
    Some(String::from_utf8_lossy(&value.0).into_owned())
}

/// What tells one kubeconfig from another.
pub fn digest(text: &str) -> String {
    manifests::digest([("value", text)])
}

fn was_external(cluster: &Cluster) -> bool {
    let status = cluster.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice());
    find(
        conditions.unwrap_or_default(),
        ConditionType::ControlPlaneInitialized,
    )
    .is_some_and(|condition| condition.reason == Reason::ExternalControlPlane)
}

/// Holds them, those that users gave as well, or lets them go: then without the record that a control plane
/// was made of them, for that is gone, and a Cluster of the same name and CA may be made again.
pub async fn hold(
    context: &Context,
    cluster: &Cluster,
    needed: bool,
) -> Result<(), ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let uid = cluster.uid().unwrap_or_default();
    let is_external = context.known.get(&uid).kubeconfig.external;
    let kubeconfig = kubeconfig_secret(&cluster.name_any());
    for name in names(&cluster.name_any()) {
        // a control plane that is not ours has no others that we read
        if needed && is_external && name != kubeconfig {
            continue;
        }
        let Some(mut secret) = read(context, &namespace, &name).await? else {
            continue;
        };
        if other_cluster(&secret, cluster).is_some() {
            continue;
        }
        if !needed && has_record_of(&secret, cluster) {
            let change =
                json!({ "metadata": { "annotations": { (ANNOTATION_INITIALIZED): null } } });
            secret = patch::write(&context.engine, &secret, change).await?;
        }
        if let Some(held) = patch::hold(&context.engine, &secret, needed).await? {
            let now = Now::At(held.resource_version().unwrap_or_default());
            context
                .secrets
                .wrote(AddonKind::Secret, &namespace, &name, now);
        }
    }
    Ok(())
}

/// Whether it bears the record of this Cluster. One that the Cluster knows nothing of stays: somebody has
/// to look what it means.
fn has_record_of(secret: &Secret, cluster: &Cluster) -> bool {
    let record = secret.annotations().get(ANNOTATION_INITIALIZED);
    record.is_some() && record == cluster.annotations().get(ANNOTATION_INITIALIZED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(record: Option<&str>) -> Secret {
        let mut secret = Secret::default();
        let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
        secret.annotations_mut().extend(record);
        secret
    }

    fn cluster(record: Option<&str>) -> Cluster {
        let network = json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
        let cluster = json!({"metadata": {"name": "c"}, "spec": {"clusterNetwork": network}});
        let mut cluster: Cluster = serde_json::from_value(cluster).expect("a Cluster");
        let record = record.map(|by| (ANNOTATION_INITIALIZED.to_owned(), by.to_owned()));
        cluster.annotations_mut().extend(record);
        cluster
    }

    #[test]
    fn a_secret_of_another_cluster_is_known_by_its_owner_or_label() {
        let mut secret = secret(None);
        assert_eq!(other_cluster(&secret, &cluster(None)), None, "a user's own");
        let labels = secret.labels_mut();
        labels.insert(LABEL_CLUSTER.into(), "b".into());
        assert_eq!(
            other_cluster(&secret, &cluster(None)),
            None,
            "a user's label"
        );
        let labels = secret.labels_mut();
        labels.insert(LABEL_MANAGED_BY.into(), MANAGED_BY.into());
        let other = Some("b".to_owned());
        assert_eq!(other_cluster(&secret, &cluster(None)), other);
        secret.labels_mut().insert(LABEL_CLUSTER.into(), "c".into());
        assert_eq!(other_cluster(&secret, &cluster(None)), None, "its own");
        let owner = json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "name": "b", "uid": "1"}]);
        secret.metadata.owner_references = serde_json::from_value(owner).expect("owners");
        assert_eq!(other_cluster(&secret, &cluster(None)), other);
    }

    #[test]
    fn a_ca_in_place_of_the_one_that_the_control_plane_was_made_with_is_not_used() {
        let now = Timestamp::from_second(1_800_000_000).expect("a time");
        let made = || Authorities::load_or_generate("c", &BTreeMap::new(), now).expect("a CA");
        let (own, other) = (made().0, made().0);
        let pem = |of: &Authorities| of.cluster.certificate_pem().to_owned();
        let both = pem(&other) + &pem(&own);
        for (case, made_with, is_used) in [
            ("the same", Some(pem(&own)), true),
            ("before there is a control plane", None, true),
            ("a bundle with the former one", Some(both), true),
            ("unreadable", Some("no certificate".into()), true),
            ("another", Some(pem(&other)), false),
        ] {
            let (state, authorities) = judged("c", own.clone(), made_with);
            assert_eq!(authorities.is_some(), is_used, "{case}");
            let replaced = Certificates::Replaced("c-ca".into());
            assert_eq!(state == replaced, !is_used, "{case}: {state:?}");
        }
    }

    #[test]
    fn only_the_record_of_the_cluster_itself_goes_with_it() {
        assert!(has_record_of(&secret(Some("m")), &cluster(Some("m"))));
        assert!(
            !has_record_of(&secret(Some("m")), &cluster(None)),
            "in doubt"
        );
        assert!(!has_record_of(&secret(Some("other")), &cluster(Some("m"))));
        assert!(!has_record_of(&secret(None), &cluster(None)));
    }
}
