//! A virtual machine as a server that is reached over SSH.

use std::sync::Arc;

use crate::providers::ssh::Server;
use crate::remote::{Credential, Hop, Place, Target};
use tatara_core::api::host::Privilege;
use tatara_core::host::ContactError;

/// The SSH place of a virtual machine with this address, of a Machine in this namespace.
pub fn place(namespace: &str, address: &str) -> Place {
    Place {
        namespace: namespace.to_owned(),
        way: vec![(address.to_owned(), 22, super::USER.into())],
    }
}

/// A virtual machine that has an address.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Namespace of its Machine.
    pub namespace: String,
    /// Its address, as its hypervisor knows it.
    pub address: String,
    /// Its public host key, which its seed installs.
    pub host_key: String,
    /// Secret with the private key for logins.
    pub secret: String,
}

impl Server for Guest {
    fn namespace(&self) -> String {
        self.namespace.clone()
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn place(&self) -> Place {
        place(&self.namespace, &self.address)
    }

    fn credentials(&self) -> Vec<&str> {
        vec![&self.secret]
    }

    fn target(
        &self,
        credential_of: &dyn Fn(&str) -> Result<Arc<Credential>, ContactError>,
    ) -> Result<Target, ContactError> {
        Ok(Target {
            namespace: self.namespace.clone(),
            jump: Vec::new(),
            hop: Hop {
                address: self.address.clone(),
                port: 22,
                user: super::USER.into(),
                host_keys: vec![self.host_key.clone()],
                credential: credential_of(&self.secret)?,
            },
            privilege: Privilege::Sudo,
            trust_on_first_use: false,
        })
    }
}
