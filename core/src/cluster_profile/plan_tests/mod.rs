mod end;
mod publish;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::api::cluster_provider_spec::ProfileSettings;
use crate::api::conditions::Status;
use crate::cluster_profile::{ClusterFacts, ExistingSecret, Server, inventories};
use crate::control_plane::health::Verdict;

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().expect("a time")
}

fn kubeconfig(text: &str) -> Kubeconfig {
    Kubeconfig(text.into())
}

/// The Secret of the consumers, as we wrote it.
fn written() -> ExistingSecret {
    ExistingSecret {
        uid: Some("secret-uid".into()),
        is_ours: true,
        other: None,
        kubeconfig: Some(kubeconfig("theirs")),
    }
}

/// A healthy Cluster `forge` in namespace `metal`, published nowhere yet.
fn healthy() -> Observed {
    Observed {
        cluster: ClusterFacts {
            namespace: "metal".into(),
            name: "forge".into(),
            uid: "cluster-uid".into(),
            labels: [("env".into(), "prod".into())].into(),
            deleting: false,
            held: true,
        },
        namespaces: vec!["metal".into()],
        forbidden: Vec::new(),
        server: Some(Server {
            url: "https://10.0.0.1:6443".into(),
            authority_pem: "PEM".into(),
        }),
        kubeconfig: Some(kubeconfig("theirs")),
        secret: Some(written()),
        verdict: Verdict::Healthy,
        health: "the API server is ready".into(),
        version: Some("v1.36.3".into()),
        properties: Some(vec![("cluster.clusterset.k8s.io".into(), "c1".into())]),
        served: true,
        ..Observed::default()
    }
}

/// What is there after the plan was executed.
fn executed(mut observed: Observed, plan: Plan) -> Observed {
    for action in plan.actions {
        match action {
            Action::MakeAccount => observed.account_due = false,
            Action::WriteSecret { uid, kubeconfig } => {
                observed.secret = Some(ExistingSecret {
                    uid,
                    kubeconfig: Some(kubeconfig),
                    ..written()
                });
            }
            Action::Hold => observed.cluster.held = true,
            Action::Release => observed.cluster.held = false,
            Action::Publish {
                namespace,
                object,
                status,
                ..
            } => {
                let entry = observed.profiles.entry(namespace);
                let existing = entry.or_insert_with(|| {
                    Existing::Ours(Box::new(Ours {
                        uid: "profile-uid".into(),
                        generation: 1,
                        ..Ours::default()
                    }))
                });
                let Existing::Ours(ours) = existing else {
                    panic!("wrote to a foreign profile")
                };
                if let Some(object) = object {
                    ours.owned.labels = object.labels().clone();
                    ours.owned.owners = object
                        .owner_references()
                        .iter()
                        .map(|o| o.uid.clone())
                        .collect();
                    ours.owned.display_name = object.spec.display_name;
                }
                if let Some(status) = status {
                    ours.owned.status = status;
                }
            }
            Action::Withdraw { namespace, .. } => drop(observed.profiles.remove(&namespace)),
        }
    }
    observed
}

fn published() -> Observed {
    let observed = healthy();
    let plan = plan(&observed, at("10:00:00"));
    executed(observed, plan)
}

fn change(observed: &mut Observed, namespace: &str, change: impl FnOnce(&mut Ours)) {
    let Some(Existing::Ours(ours)) = observed.profiles.get_mut(namespace) else {
        panic!("not ours")
    };
    change(ours);
}

fn status_written(plan: &Plan) -> &ClusterProfileStatus {
    match plan.actions.as_slice() {
        [
            Action::Publish {
                object: None,
                status: Some(status),
                ..
            },
        ] => status,
        other => panic!("{other:?}"),
    }
}

fn condition<'a>(status: &'a ClusterProfileStatus, name: &str) -> &'a Condition {
    status
        .conditions
        .iter()
        .find(|c| c.type_ == name)
        .expect("the condition")
}
