//! What a person does about the CustomResourceDefinitions of the management cluster.

/// Installs or updates those of this release.
pub fn apply_own() -> &'static str {
    "tatara crds | kubectl apply --server-side --field-manager=tatara -f -"
}

/// Installs or updates that of ClusterProfiles, which is not ours.
pub fn apply_cluster_profile() -> &'static str {
    "kubectl apply --server-side -f templates/install/if-missing/"
}

/// Deletes one that another product has made, with all of its objects; `name` is `plural.group`.
pub fn delete(name: &str) -> String {
    format!("kubectl delete crd {name}")
}
