//! The certificate authorities of a Cluster: made once, and never in the place of those that a
//! control plane uses.

use kube::ResourceExt;

use super::super::observed::{Certificates, Observed};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::api::names::kubeconfig_secret;
use crate::remedy;

/// Whether there are certificates to go on with.
pub(super) fn keep(observed: &Observed, plan: &mut Plan) -> bool {
    if observed.external {
        return true;
    }
    let finding = match &observed.certificates {
        Certificates::Ready => Finding::yes(ConditionType::CertificatesReady, Reason::Present, ""),
        Certificates::Broken(problem) if observed.initialized_by.is_some() => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Malformed,
            format!(
                "{problem}. It must be the one that the control plane uses: restore it from a backup, or copy its files from /etc/kubernetes/pki of the control-plane host: docs/operating.md#lost-certificates"
            ),
        ),
        Certificates::Broken(problem) | Certificates::OutOfValidity(problem) => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Malformed,
            problem.clone(),
        ),
        Certificates::Replaced(secret) => replaced(observed, secret),
        Certificates::Missing(names) if observed.initialized_by.is_some() => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Lost,
            format!(
                "Secret {} is missing, and the control plane uses what it held; it is never created again: restore it from a backup, or from /etc/kubernetes/pki of the control-plane host ({}): docs/operating.md#lost-certificates",
                names.join(", "),
                files(names)
            ),
        ),
        // The one that has the turn may be running `kubeadm init` with what is gone.
        Certificates::Missing(names) if let Some(turn) = &observed.turn => Finding::no(
            ConditionType::CertificatesReady,
            Reason::Lost,
            format!(
                "Secret {} is missing, and Machine {} may have created a control plane with what it held; it is not created again: restore it from a backup, or from /etc/kubernetes/pki of that host ({}): docs/operating.md#lost-certificates. Only if no control plane was created there (its host has no /etc/kubernetes/manifests/etcd.yaml), for its state would be lost: {}",
                names.join(", "),
                turn.name,
                files(names),
                remedy::machine::delete(
                    &observed.cluster.namespace().unwrap_or_default(),
                    &turn.name
                )
            ),
        ),
        Certificates::Missing(_) => {
            plan.actions.push(Action::MakeCertificates);
            Finding::no(
                ConditionType::CertificatesReady,
                Reason::Making,
                "creating the certificate authorities",
            )
        }
    };
    let go_on = finding.status == Status::True || observed.initialized_by.is_some();
    plan.findings.push(finding);
    go_on
}

/// Where kubeadm has on the host what these Secrets hold.
fn files(secrets: &[String]) -> String {
    let file = |secret: &String| match secret.rsplit('-').next() {
        Some("etcd") => "etcd/ca.crt and .key",
        Some("proxy") => "front-proxy-ca.crt and .key",
        Some("sa") => "sa.pub and .key",
        _ => "ca.crt and .key",
    };
    let files: Vec<&str> = secrets.iter().map(file).collect();
    files.join(", ")
}

/// A CA that is not the control plane's.
fn replaced(observed: &Observed, secret: &str) -> Finding {
    let namespace = observed.cluster.namespace().unwrap_or_default();
    let kubeconfig = kubeconfig_secret(&observed.cluster.name_any());
    let message = format!(
        "Secret {secret} holds another CA than the one that the control plane was created with, which is in Secret {kubeconfig}; no Machine joins and no kubeconfig is written until the former CA is restored. \
         Restore it from a backup, or copy ca.crt and ca.key from /etc/kubernetes/pki of the control-plane host: {}. \
         Only if ca.crt there is the one of Secret {secret}, that kubeconfig is of an earlier Cluster, and is created again after: \
         {}",
        remedy::secret::put_back_authority(&namespace, secret),
        remedy::secret::remove_kubeconfig(&namespace, &kubeconfig)
    );
    Finding::no(ConditionType::CertificatesReady, Reason::Replaced, message)
}
