//! The BMC (baseboard management controller) of a Host, accessed over Redfish.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::SecretRef;

/// Access to the BMC of a server over Redfish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcAccess {
    /// URL of the BMC: `https://` and its address, without a path.
    #[schemars(schema_with = "super::schema::bmc_address")]
    pub address: String,
    /// Secret of type `kubernetes.io/basic-auth` (`username`, `password`). A login that is refused is not tried
    /// again before that Secret or `bmc` changes, so that the BMC does not lock the account.
    pub credentials_ref: SecretRef,
    /// How its certificate is verified; the trusted roots of the system are never used.
    pub tls: BmcTls,
    /// The Redfish system that is this host: its Id, UUID or serial number. Required if the BMC has several systems.
    #[serde(default, rename = "systemID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub system_id: Option<String>,
    /// Switch the host off while it is clean and no Machine has it. A claim switches it on.
    #[serde(default)]
    pub power_off_when_released: bool,
}

impl BmcAccess {
    /// Address of the BMC in a normal form: the same for each way to write its URL.
    pub fn place(&self) -> String {
        let place = self.address.trim_end_matches('/').to_ascii_lowercase();
        place.strip_suffix(":443").unwrap_or(&place).to_owned()
    }

    /// Whether this may be the same system as that of another Host: the address is the same, and so is `systemID` where both
    /// set it.
    pub fn may_be(&self, other: &Self) -> bool {
        let is_same = match (&self.system_id, &other.system_id) {
            (Some(one), Some(two)) => one.eq_ignore_ascii_case(two),
            _ => true,
        };
        is_same && self.place() == other.place()
    }
}

/// How the certificate of a BMC is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.certificateAuthorityRef) != has(self.fingerprint)")
    .message("set exactly one of certificateAuthorityRef (a Secret with ca.crt) and fingerprint (sha256:… as openssl s_client -connect ADDRESS:443 </dev/null | openssl x509 -noout -fingerprint -sha256 prints it, compared on the BMC's console)"))]
pub struct BmcTls {
    /// Secret whose `ca.crt` holds the authority that signed the BMC's certificate, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority_ref: Option<SecretRef>,
    /// The certificate itself: `sha256:` and 64 hexadecimal digits, with or without colons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::fingerprint")]
    pub fingerprint: Option<String>,
}

/// What the BMC reported when it was last queried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcStatus {
    /// `On` or `Off`, as the BMC reports, or `On` because the host answers over SSH; absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_state: Option<String>,
    /// Identifies the settings and the version of the Secret with which the BMC was last queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_with: Option<String>,
}
