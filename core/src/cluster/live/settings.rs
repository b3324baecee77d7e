//! What is written into kubeadm's ConfigMaps of a Cluster, by what stands in them and on the
//! Cluster now.

use kube::ResourceExt;

use crate::api::Cluster;
use crate::kubeadm::{ClusterInput, Kept, KubernetesVersion, change};
use crate::settings::{self, Settings};

/// Whether the version to which kubeadm's addons are `due` is forgotten: kubeadm's record, read
/// now, was never raised to it.
pub fn is_forsaken(recorded: Option<&KubernetesVersion>, due: &str) -> bool {
    let due = due.parse::<KubernetesVersion>().ok();
    recorded
        .zip(due.as_ref())
        .is_some_and(|(recorded, due)| recorded < due)
}

/// What is recorded as being written before the ConfigMaps are edited; `None` if it is recorded
/// already. What broke off before stays known until all is written.
pub fn begun(cluster: &Cluster, to: &Settings) -> Option<Vec<Settings>> {
    let mut writing = settings::writing(cluster);
    if writing.contains(to) {
        return None;
    }
    writing.push(to.clone());
    Some(writing)
}

/// An edit of the settings of a Cluster.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The Cluster.
    pub cluster: &'a Cluster,
    /// What kubeadm is told of it.
    pub input: &'a ClusterInput,
    /// What the ConfigMaps have; several, if edits broke off.
    pub from: &'a [Settings],
    /// What they are to have.
    pub to: &'a Settings,
}

/// What becomes of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    /// Nothing: there is none, and there need not be one.
    Absent,
    /// It has the settings.
    Same,
    /// It gets this text.
    Text(String),
}

impl Edit<'_> {
    /// Whether it changes something of this document.
    pub fn concerns(&self, document: Kept) -> bool {
        let new = settings::part(self.to, document);
        let mut olds = self.from.iter();
        olds.any(|from| settings::part(from, document) != new)
    }

    /// What becomes of this document, which has `text` now, if it exists.
    ///
    /// # Errors
    /// Why it cannot be edited, and how it is restored.
    pub fn of(&self, document: Kept, text: Option<&str>) -> Result<Edited, String> {
        let name = self.cluster.name_any();
        let Some(text) = text else {
            // kube-proxy came from elsewhere, or kubeadm was told to leave it out
            return match document {
                Kept::KubeProxy => Ok(Edited::Absent),
                _ => Err(document.broken(&name, "it does not exist, or is empty")),
            };
        };
        let new = settings::part(self.to, document);
        let mut edited = text.to_owned();
        for from in self.from {
            let old = settings::part(from, document);
            let changed = change(self.input, document, &edited, &old, &new);
            let changed = changed.map_err(|error| error.sentence(document, &name))?;
            edited = changed.unwrap_or(edited);
        }
        Ok(if edited == text {
            Edited::Same
        } else {
            Edited::Text(edited)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::json;

    use super::*;
    use crate::api::names::ANNOTATION_SETTINGS_WRITING;
    use crate::kubeadm::Endpoint;
    use crate::settings::{CLUSTER, KUBE_PROXY};

    fn cluster(writing: &[Settings]) -> Cluster {
        let writing = json!(writing).to_string();
        let network = json!({"services": {"cidrBlocks": ["10.96.0.0/16"]}, "pods": {"cidrBlocks": ["10.244.0.0/16"]},
            "serviceDomain": "cluster.local"});
        let cluster = json!({"metadata": {"name": "c", "annotations": {(ANNOTATION_SETTINGS_WRITING): writing}},
            "spec": {"clusterNetwork": network}});
        serde_json::from_value(cluster).expect("a Cluster")
    }

    fn registry(name: &str) -> Settings {
        let settings = json!({ (CLUSTER): { "imageRepository": name } });
        serde_json::from_value(settings).expect("settings")
    }

    fn mode(name: &str) -> Settings {
        serde_json::from_value(json!({ (KUBE_PROXY): { "mode": name } })).expect("settings")
    }

    /// What becomes of a document.
    fn edited(
        (from, to): (&[Settings], &Settings),
        document: Kept,
        text: Option<&str>,
    ) -> Result<Edited, String> {
        let cluster = cluster(&[]);
        let endpoint = Endpoint {
            host: "10.0.0.100".into(),
            port: 6443,
        };
        let version = "v1.36.3".parse().expect("a version");
        let input = ClusterInput::of("c", &cluster.spec.cluster_network, version, endpoint);
        let edit = Edit {
            cluster: &cluster,
            input: &input,
            from,
            to,
        };
        edit.of(document, text)
    }

    #[test]
    fn a_version_that_kubeadm_never_recorded_is_forgotten() {
        for (recorded, due, expected) in [
            (Some("v1.36.3"), "v1.37.2", true),
            (Some("v1.37.2"), "v1.37.2", false),
            (Some("v1.38.0"), "v1.37.2", false),
            (None, "v1.37.2", false),
            (Some("v1.36.3"), "none", false),
        ] {
            let version = recorded.map(|text| text.parse().expect("a version"));
            let is = is_forsaken(version.as_ref(), due);
            assert_eq!(is, expected, "{recorded:?} {due}");
        }
    }

    #[test]
    fn an_edit_is_recorded_once_before_it_is_written_beside_those_that_broke_off() {
        let (a, b) = (registry("a"), registry("b"));
        assert_eq!(begun(&cluster(&[]), &a), Some(vec![a.clone()]));
        let both = Some(vec![a.clone(), b.clone()]);
        assert_eq!(begun(&cluster(from_ref(&a)), &b), both);
        assert_eq!(begun(&cluster(&[b, a.clone()]), &a), None);
    }

    #[test]
    fn an_edit_concerns_the_documents_whose_part_differs() {
        let (cluster, a, b) = (cluster(&[]), registry("a"), registry("b"));
        let endpoint = Endpoint {
            host: "10.0.0.100".into(),
            port: 6443,
        };
        let version = "v1.36.3".parse().expect("a version");
        let input = ClusterInput::of("c", &cluster.spec.cluster_network, version, endpoint);
        let concerns = |from: &[Settings], document| {
            let edit = Edit {
                cluster: &cluster,
                input: &input,
                from,
                to: &b,
            };
            edit.concerns(document)
        };
        assert!(concerns(from_ref(&a), Kept::Cluster));
        assert!(concerns(&[b.clone(), a.clone()], Kept::Cluster), "one does");
        assert!(!concerns(from_ref(&b), Kept::Cluster));
        assert!(!concerns(&[a], Kept::Kubelet));
    }

    #[test]
    fn a_document_gets_the_edit_and_one_that_must_exist_is_missed() {
        let (a, b) = (registry("a"), registry("b"));
        let document = "apiVersion: kubeadm.k8s.io/v1beta4\nimageRepository: a\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n";
        let of = |from: &[Settings], text| edited((from, &b), Kept::Cluster, text);
        let Ok(Edited::Text(text)) = of(from_ref(&a), Some(document)) else {
            panic!("not edited");
        };
        assert!(text.contains("imageRepository: b"), "{text}");
        assert_eq!(of(from_ref(&a), Some(&text)), Ok(Edited::Same));
        let missing = of(&[a], None).expect_err("there is none");
        assert!(missing.contains("does not exist"), "{missing}");
        let (iptables, nftables) = (mode("iptables"), mode("nftables"));
        let absent = edited((&[iptables], &nftables), Kept::KubeProxy, None);
        assert_eq!(absent, Ok(Edited::Absent));
    }

    #[test]
    fn a_document_that_cannot_be_read_is_not_written() {
        let (a, b) = (registry("a"), registry("b"));
        let broken = edited((&[a], &b), Kept::Cluster, Some("{"));
        assert!(broken.is_err(), "{broken:?}");
    }
}
