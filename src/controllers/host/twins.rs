//! Hosts that are one server, or copies of one disk. What two nodes must not have in common is found
//! here, before either is handed out, because no host can see it by itself.

use std::sync::Arc;

use kube::ResourceExt;

use crate::api::Host;
use crate::api::host::HostFacts;
use crate::store::Key;

/// Other Hosts with something that must be a Host's own, as `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twins {
    /// With the same address and port.
    pub address: Vec<String>,
    /// With the same system of the same BMC.
    pub bmc: Vec<String>,
    /// With the same machine-id, in any namespace.
    pub machine_id: Vec<String>,
    /// With the same name of their own, in the same namespace.
    pub hostname: Vec<String>,
}

impl Twins {
    /// Looks them up with `by`, which gives the Hosts under a key.
    pub fn find(
        host: &Host,
        facts: Option<&HostFacts>,
        by: impl Fn(&Key) -> Vec<Arc<Host>>,
    ) -> Self {
        let ssh = &host.spec.ssh;
        let others = |key: Key| {
            let found = by(&key).into_iter();
            found
                .filter(|other| other.uid() != host.uid())
                .collect::<Vec<_>>()
        };
        let names = |hosts: &[Arc<Host>]| hosts.iter().map(|host| name(host)).collect();
        let mut same_address = others(Key::Address(ssh.address.clone()));
        same_address.retain(|other| other.spec.ssh.port == ssh.port);
        let same_bmc = host.spec.bmc.as_ref().map(|bmc| {
            let mut found = others(Key::Bmc(bmc.place()));
            found.retain(|other| other.spec.bmc.as_ref().is_some_and(|of| bmc.may_be(of)));
            found
        });
        let namespace = host.namespace().unwrap_or_default();
        let known = |fact: fn(&HostFacts) -> &String| {
            facts.map(fact).filter(|text| !text.is_empty()).cloned()
        };
        let machine_id = known(|facts| &facts.machine_id).map(|id| others(Key::MachineId(id)));
        let hostname =
            known(|facts| &facts.hostname).map(|name| others(Key::Hostname(namespace, name)));
        Self {
            address: names(&same_address),
            bmc: names(&same_bmc.unwrap_or_default()),
            machine_id: names(&machine_id.unwrap_or_default()),
            hostname: names(&hostname.unwrap_or_default()),
        }
    }

    /// Reason and message of the condition `Available`, when there are any; all at once.
    pub fn problem(
        &self,
        host: &Host,
        facts: Option<&HostFacts>,
    ) -> Option<(&'static str, String)> {
        let fact = |get: fn(&HostFacts) -> &String| facts.map_or("", |facts| get(facts).as_str());
        let mut found = Vec::new();
        if !self.address.is_empty() {
            found.push(("DuplicateAddress", format!(
                "spec.ssh.address {} is also that of Host {}; one server must be one Host: delete one of them",
                host.spec.ssh.address,
                self.address.join(", "),
            )));
        }
        if !self.machine_id.is_empty() {
            found.push(("DuplicateMachineID", format!(
                "its machine-id {} is also that of Host {}; if they are one server, delete one Host; if one is a copy of the other's disk, run on it: rm /etc/machine-id && systemd-machine-id-setup && reboot",
                fact(|facts| &facts.machine_id),
                self.machine_id.join(", "),
            )));
        }
        if !self.hostname.is_empty() {
            found.push(("DuplicateHostname", format!(
                "it calls itself {}, as Host {} does; run on one of them: hostnamectl set-hostname NAME",
                fact(|facts| &facts.hostname),
                self.hostname.join(", "),
            )));
        }
        let (reason, _) = *found.first()?;
        let messages: Vec<String> = found.into_iter().map(|(_, message)| message).collect();
        Some((reason, messages.join("; ")))
    }
}

fn name(host: &Host) -> String {
    format!(
        "{}/{}",
        host.namespace().unwrap_or_default(),
        host.name_any()
    )
}

#[cfg(test)]
#[path = "twins_tests.rs"]
mod tests;
