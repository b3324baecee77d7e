//! The definitions of our kinds, as the management cluster has them: looked at before anything else,
//! for a namesake of somebody else's would be read as ours.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt};

use super::error::ManagerError;
use crate::api::crd;
use crate::api::names::{LABEL_MANAGED_BY, MANAGED_BY};

/// Whether all definitions are there, and ours.
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
    }
    Ok(())
}
