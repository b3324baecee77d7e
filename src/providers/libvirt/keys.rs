//! The SSH keys of a virtual machine, in a Secret of its Machine: our key for logins, and the host
//! key, which cloud-init installs at the first boot, so that it is verified from the first
//! connection on.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};
use secrecy::SecretString;

use crate::providers::ssh::keys::pair;
use tatara_core::api::Machine;
use tatara_core::api::names::{LABEL_MANAGED_BY, MANAGED_BY, ssh_secret};

/// Key of the Secret: our private key, as in `kubernetes.io/ssh-auth`.
const OURS: &str = "ssh-privatekey";
/// Key of the Secret: our public key.
const OURS_PUBLIC: &str = "ssh-publickey";
/// Key of the Secret: the virtual machine's private host key.
const HOST: &str = "ssh-host-ed25519-key";
/// Key of the Secret: its public host key.
const HOST_PUBLIC: &str = "ssh-host-ed25519-key.pub";

/// The keys of one virtual machine.
pub struct Keys {
    /// Our public key.
    pub authorized: String,
    /// Its private host key, in OpenSSH's form.
    pub host_key: SecretString,
    /// Its public host key.
    pub host_public: String,
}

impl Keys {
    /// Reads the keys from a Secret; `None` if it does not contain them.
    pub fn of(secret: &Secret) -> Option<Self> {
        let text = |key: &str| {
            let value = secret.data.as_ref()?.get(key)?;
            String::from_utf8(value.0.clone())
                .ok()
                .map(|text| text.trim().to_owned())
        };
        text(OURS)?;
        Some(Self {
            authorized: text(OURS_PUBLIC)?,
            host_key: SecretString::from(text(HOST)?),
            host_public: text(HOST_PUBLIC)?,
        })
    }

    /// A Secret with new keys for a Machine's virtual machine. The Machine owns it.
    ///
    /// # Errors
    /// A key cannot be generated.
    pub fn generate(machine: &Machine) -> Result<Secret, String> {
        let (ours, ours_public) = pair("tatara")?;
        let (host, host_public) = pair("host key")?;
        let data = [
            (OURS, ours),
            (OURS_PUBLIC, ours_public),
            (HOST, host),
            (HOST_PUBLIC, host_public),
        ];
        let mut secret = Secret {
            type_: Some("kubernetes.io/ssh-auth".into()),
            data: Some(
                data.into_iter()
                    .map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())))
                    .collect(),
            ),
            ..Secret::default()
        };
        secret.metadata.name = Some(ssh_secret(&machine.name_any()));
        secret.metadata.namespace = machine.namespace();
        secret.metadata.labels =
            Some([(LABEL_MANAGED_BY.to_owned(), MANAGED_BY.to_owned())].into());
        secret.metadata.owner_references =
            machine.controller_owner_ref(&()).map(|owner| vec![owner]);
        Ok(secret)
    }
}
