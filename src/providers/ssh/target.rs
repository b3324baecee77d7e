//! SSH target of a Host, from its spec and the keys of its Secrets.

use std::sync::Arc;

use kube::ResourceExt as _;

use crate::remote::{Credential, Hop, Place, Target};
use tatara_core::api::Host;
use tatara_core::api::host::JumpHost;
use tatara_core::api::installation::Record;

/// Address and keys of a Host. `credential_of` finds the key in a Secret by name; a jump host
/// without a Secret uses the host's own key.
///
/// # Errors
/// The error of `credential_of`.
pub fn target<E>(
    host: &Host,
    credential_of: impl Fn(&str) -> Result<Arc<Credential>, E>,
) -> Result<Target, E> {
    let ssh = &host.spec.ssh;
    let own = credential_of(&ssh.credentials_ref.name)?;
    let hop = |jump: &JumpHost| -> Result<Hop, E> {
        let credential = match &jump.credentials_ref {
            Some(reference) => credential_of(&reference.name)?,
            None => own.clone(),
        };
        Ok(Hop {
            address: jump.address.clone(),
            port: jump.port,
            user: jump.user.clone(),
            host_keys: jump.host_keys.clone(),
            credential,
        })
    };
    // during an installation only the host key that was generated for it is trusted
    let installed = Record::of(host).filter(Record::is_active);
    let host_keys = match &installed {
        Some(record) => vec![record.host_key.clone()],
        None => ssh.host_keys.clone(),
    };
    Ok(Target {
        namespace: host.namespace().unwrap_or_default(),
        jump: ssh.jump.iter().map(hop).collect::<Result<_, _>>()?,
        hop: Hop {
            address: ssh.address.clone(),
            port: ssh.port,
            user: ssh.user.clone(),
            host_keys,
            credential: own,
        },
        privilege: ssh.privilege,
        trust_on_first_use: ssh.trust_on_first_use && installed.is_none(),
    })
}

/// The place of a Host, which needs no key.
pub fn place(host: &Host) -> Place {
    let ssh = &host.spec.ssh;
    let jumps = ssh.jump.iter();
    let way = jumps
        .map(|jump| (jump.address.clone(), jump.port, jump.user.clone()))
        .chain([(ssh.address.clone(), ssh.port, ssh.user.clone())]);
    Place {
        namespace: host.namespace().unwrap_or_default(),
        way: way.collect(),
    }
}

/// The address of a host for other nodes: the one it reports, else its SSH address.
pub fn node_address(host: &Host) -> String {
    let addresses = host
        .status
        .as_ref()
        .and_then(|s| s.facts.as_ref())
        .map(|facts| facts.addresses.as_slice());
    let reached = &host.spec.ssh.address;
    match addresses {
        Some(addresses) if !addresses.contains(reached) => {
            addresses.first().unwrap_or(reached).clone()
        }
        _ => reached.clone(),
    }
}
