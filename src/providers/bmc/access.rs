//! Credentials and trusted certificate of a Host's BMC, from its spec and its Secrets.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tatara_core::api::conditions::Reason;
use tatara_core::host::ContactError;
use tatara_core::remedy;

use super::error::local;
use tatara_core::api::bmc::BmcAccess;
use tatara_redfish::{Login, Trust};

/// How the certificate of a BMC is verified.
///
/// # Errors
/// The spec or its Secret lacks a usable fingerprint or authority, or the Secret cannot be read.
pub async fn trust(
    client: &Client,
    namespace: &str,
    bmc: &BmcAccess,
) -> Result<Trust, ContactError> {
    let misconfigured = |problem: String| local(Reason::BMCMisconfigured, problem);
    if let Some(fingerprint) = &bmc.tls.fingerprint {
        return Trust::fingerprint(fingerprint).map_err(|error| misconfigured(error.to_string()));
    }
    let Some(reference) = &bmc.tls.certificate_authority_ref else {
        return Err(misconfigured(
            "spec.bmc.tls is empty; set certificateAuthorityRef or fingerprint".into(),
        ));
    };
    // any Secret may contain the authority, so it is read when needed and not watched
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let name = &reference.name;
    let secret = secrets.get_opt(name).await.map_err(|error| ContactError {
        reason: Reason::BMCMisconfigured,
        message: format!(
            "spec.bmc.tls.certificateAuthorityRef: failed to read Secret {name}: {}",
            crate::workload::error::reason(&error)
        ),
        transient: true,
    })?;
    let data = secret.and_then(|secret| secret.data);
    let pem = data.as_ref().and_then(|data| data.get("ca.crt"));
    let Some(pem) = pem else {
        return Err(misconfigured(format!(
            "spec.bmc.tls.certificateAuthorityRef names Secret {name}, but namespace {namespace} has no such Secret \
             with a key ca.crt; store the authority's certificate in it, in PEM form"
        )));
    };
    Trust::authority(&pem.0).map_err(|error| misconfigured(format!("Secret {name}: {error}")))
}

/// User and password, from a Secret of type `kubernetes.io/basic-auth`.
///
/// # Errors
/// The Secret does not exist, or lacks the user or the password.
pub fn login(namespace: &str, name: &str, secret: Option<&Secret>) -> Result<Login, ContactError> {
    let Some(secret) = secret else {
        return Err(local(
            Reason::BMCCredentialMissing,
            format!(
                "spec.bmc.credentialsRef names Secret {name}, and {namespace} has none of that name with type \
                 kubernetes.io/basic-auth; correct the name, or create it, after deleting one of another type: {}",
                remedy::secret::create_login(namespace, name)
            ),
        ));
    };
    let text = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        let text = value.and_then(|value| str::from_utf8(&value.0).ok());
        // a trailing newline in the file is not part of the password
        let text = text.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
        text.filter(|text| !text.is_empty()).ok_or_else(|| {
            local(
                Reason::BMCCredentialMalformed,
                format!("Secret {namespace}/{name} has no text in its key {key}; store it there"),
            )
        })
    };
    Ok(Login {
        username: text("username")?,
        password: text("password")?.into(),
    })
}
