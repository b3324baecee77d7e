//! Checks the CustomResourceDefinitions in the management cluster before anything else: a
//! definition of the same name from another product would be read as ours.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt};

use super::error::ManagerError;
use tatara_core::api::crd;
use tatara_core::api::names::{LABEL_MANAGED_BY, MANAGED_BY};

/// Checks that all definitions exist, are ours, and have all fields that this manager writes.
///
/// # Errors
/// `ManagerError::MissingDefinition`, `ForeignDefinition` or `OlderDefinition` otherwise; `Api`
/// when one cannot be read.
pub async fn check(client: &Client) -> Result<(), ManagerError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for ours in crd::all() {
        let kind = ours.name_any();
        let found = api.get_opt(&kind).await;
        let found = found.map_err(|source| ManagerError::Api {
            what: format!("read the definition of {kind}"),
            source,
        })?;
        let Some(found) = found else {
            return Err(ManagerError::MissingDefinition { kind });
        };
        if found.labels().get(LABEL_MANAGED_BY).map(String::as_str) != Some(MANAGED_BY) {
            return Err(ManagerError::ForeignDefinition { kind });
        }
        if let Some(field) = crd::older::lacks(&found, &ours) {
            return Err(ManagerError::OlderDefinition { kind, field });
        }
    }
    Ok(())
}
