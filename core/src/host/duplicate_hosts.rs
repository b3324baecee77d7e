//! Hosts that are one server, or copies of one disk. What two nodes must not have in common is
//! found here, before either is handed out, because no host can see it by itself. Namespaces keep
//! nothing from each other: a server that two of them register is whose Machine has put its marker
//! there first, and the server itself says so.

use crate::Why;
use crate::api::conditions::Reason;
use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;

use crate::Key;
use crate::api::Host;
use crate::api::host::{HostFacts, SshAccess};

/// Other Hosts with something that must be a Host's own, as `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateHosts {
    /// With the same address and port, by the same way, in the same namespace.
    pub address: Vec<String>,
    /// With the same system of the same BMC: in the same namespace, or in another that has logged
    /// in there.
    pub bmc: Vec<String>,
    /// With the same machine-id, in the same namespace.
    pub machine_id: Vec<String>,
    /// With the same name of their own, in the same namespace.
    pub hostname: Vec<String>,
    /// With the same address or machine-id, in other namespaces.
    pub elsewhere: Vec<String>,
}

impl DuplicateHosts {
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
        let namespace = host.namespace().unwrap_or_default();
        let is_near = |other: &Arc<Host>| other.namespace().unwrap_or_default() == namespace;
        let mut same_address = others(Key::Address(ssh.address.clone()));
        same_address.retain(|other| is_same_place(&other.spec.ssh, ssh));
        let same_bmc = host.spec.bmc.as_ref().map(|bmc| {
            let mut found = others(Key::Bmc(bmc.place()));
            found.retain(|other| other.spec.bmc.as_ref().is_some_and(|of| bmc.may_be(of)));
            // anybody can write an address down; who has logged in there can cut the power
            found.retain(|other| is_near(other) || has_logged_in(other));
            found
        });
        let known = |fact: fn(&HostFacts) -> &String| {
            facts.map(fact).filter(|text| !text.is_empty()).cloned()
        };
        let machine_id = known(|facts| &facts.machine_id).map(|id| others(Key::MachineId(id)));
        let machine_id = machine_id.unwrap_or_default();
        let hostname = known(|facts| &facts.hostname)
            .map(|name| others(Key::Hostname(namespace.clone(), name)));
        let all = || same_address.iter().chain(&machine_id);
        Self {
            elsewhere: names(all().filter(|other| !is_near(other))),
            address: names(same_address.iter().filter(|other| is_near(other))),
            bmc: names(same_bmc.unwrap_or_default().iter()),
            machine_id: names(machine_id.iter().filter(|other| is_near(other))),
            hostname: names(hostname.unwrap_or_default().iter()),
        }
    }

    /// The message of a free Host whose server another namespace registers as well.
    pub fn note(&self) -> String {
        if self.elsewhere.is_empty() {
            return String::new();
        }
        format!(
            "its server looks like that of Host {} of another namespace; the Machine that writes its marker to the server first gets it",
            self.elsewhere.join(", ")
        )
    }

    /// Why the Host is not available, when there are any; all at once.
    pub fn problem(&self, host: &Host, facts: Option<&HostFacts>) -> Option<Why> {
        let fact = |get: fn(&HostFacts) -> &String| facts.map_or("", |facts| get(facts).as_str());
        let mut found = Vec::new();
        if !self.address.is_empty() {
            let cause = format!(
                "spec.ssh.address {} is also that of Host {}; one server must be one Host:",
                host.spec.ssh.address,
                self.address.join(", "),
            );
            found.push(Why::new(Reason::DuplicateAddress, cause).remedied("delete one of them"));
        }
        if !self.machine_id.is_empty() {
            let cause = format!(
                "its machine-id {} is also that of Host {}",
                fact(|facts| &facts.machine_id),
                self.machine_id.join(", "),
            );
            found.push(Why::new(Reason::DuplicateMachineID, cause).remedied(format!(
                "if they are one server, delete one Host; if one is a copy of the other's disk, run on this host, {}, which no Machine has, and not on the other, which may be a node: rm -f /etc/machine-id /var/lib/dbus/machine-id && systemd-machine-id-setup && reboot",
                host.spec.ssh.address,
            )));
        }
        if !self.hostname.is_empty() {
            let cause = format!(
                "its hostname {} is also that of Host {}.",
                fact(|facts| &facts.hostname),
                self.hostname.join(", "),
            );
            found.push(Why::new(Reason::DuplicateHostname, cause).remedied(format!(
                "Run on this host, {}, which no Machine has, and not on the other, which may be a node: hostnamectl set-hostname NAME",
                host.spec.ssh.address,
            )));
        }
        Why::all(&found)
    }
}

/// Whether another Host, not being deleted, names the same server: it has the same address and jump
/// hosts, or it reported the machine-id that this one has just reported. A disk may be a copy of
/// another, so an equal machine-id counts only if its server has the marker of the Machine that
/// both claim.
pub fn is_same_server(
    host: &Host,
    seen: Option<&HostFacts>,
    other: &Host,
    is_marked: impl Fn(&Host) -> bool,
) -> bool {
    let facts = other.status.as_ref().and_then(|s| s.facts.as_ref());
    let is_same_machine = seen.zip(facts).is_some_and(|(seen, facts)| {
        !seen.machine_id.is_empty() && seen.machine_id == facts.machine_id
    });
    let is_other = host.uid() != other.uid() && other.metadata.deletion_timestamp.is_none();
    is_other
        && (is_same_place(&host.spec.ssh, &other.spec.ssh) || (is_same_machine && is_marked(other)))
}

/// Behind different jump hosts one private address is another server.
fn is_same_place(one: &SshAccess, other: &SshAccess) -> bool {
    let way = |ssh: &SshAccess| -> Vec<(String, u16)> {
        let jumps = ssh.jump.iter();
        jumps
            .map(|jump| (jump.address.clone(), jump.port))
            .collect()
    };
    one.address == other.address && one.port == other.port && way(one) == way(other)
}

fn has_logged_in(host: &Host) -> bool {
    let status = host.status.as_ref();
    status.is_some_and(|status| status.bmc.is_some())
}

fn names<'a>(hosts: impl Iterator<Item = &'a Arc<Host>>) -> Vec<String> {
    let names: BTreeSet<String> = hosts.map(|host| name(host)).collect();
    names.into_iter().collect()
}

fn name(host: &Host) -> String {
    format!(
        "{}/{}",
        host.namespace().unwrap_or_default(),
        host.name_any()
    )
}
