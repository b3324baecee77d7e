//! Which Hosts a Machine claims: matched by namespace, UID and name together. One of these is no
//! proof: UIDs are public in provider IDs, and a Host can be created from the YAML of another.

use std::sync::Arc;

use kube::ResourceExt;

use crate::store::{Key, Kind};
use tatara_core::api::{Host, Machine};
use tatara_core::claim::{claimant, is_of};
use tatara_core::node::Marker;

/// The Hosts that a Machine claims, sorted by name. More than one is a user error: then none of
/// them is changed.
pub fn of(hosts: &Kind<Host>, machine: &Marker) -> Vec<Arc<Host>> {
    let mut found = hosts.by(&Key::Claim(machine.uid.clone()));
    found.retain(|host| is_of(host, machine));
    found
}

/// Like [`of`], for a stored Machine.
pub fn of_machine(hosts: &Kind<Host>, machine: &Machine) -> Vec<Arc<Host>> {
    of(hosts, &identity(machine))
}

/// What of a Machine a claim names.
fn identity(machine: &Machine) -> Marker {
    Marker {
        namespace: machine.namespace().unwrap_or_default(),
        machine: machine.name_any(),
        uid: machine.uid().unwrap_or_default(),
        ..Marker::default()
    }
}

/// The Host that a Machine claims, if there is exactly one.
pub fn only(hosts: &Kind<Host>, machine: &Marker) -> Option<Arc<Host>> {
    let mut found = of(hosts, machine);
    found.pop().filter(|_| found.is_empty())
}

/// Like [`only`], for a stored Machine.
pub fn only_of(hosts: &Kind<Host>, machine: &Machine) -> Option<Arc<Host>> {
    only(hosts, &identity(machine))
}

/// Names of the other Hosts that have the same claim as this one.
pub fn rivals(hosts: &Kind<Host>, host: &Host) -> Vec<String> {
    let Some(machine) = claimant(host, "") else {
        return Vec::new();
    };
    let others = of(hosts, &machine).into_iter();
    let others = others.filter(|other| other.uid() != host.uid());
    others.map(|other| other.name_any()).collect()
}

/// The Machine that the claim of a Host names, if it exists.
pub fn machine(machines: &Kind<Machine>, host: &Host) -> Option<Arc<Machine>> {
    let claim = host.spec.consumer_ref.as_ref()?;
    let machine = machines.get(&host.namespace().unwrap_or_default(), &claim.name)?;
    (machine.uid().as_ref() == Some(&claim.uid)).then_some(machine)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(namespace: &str, name: &str, claim: (&str, &str)) -> Host {
        let manifest = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}/{name}")},
            "spec": {"ssh": {"address": name, "credentialsRef": {"name": "key"}},
                "consumerRef": {"name": claim.0, "uid": claim.1, "cluster": "a"}}});
        serde_json::from_value(manifest).unwrap()
    }

    #[test]
    fn a_claim_is_a_machines_by_namespace_uid_and_name() {
        let hosts = Kind::<Host>::default();
        let me = Marker {
            namespace: "a".into(),
            machine: "m".into(),
            uid: "1".into(),
            ..Marker::default()
        };
        for (namespace, name, claim) in [
            ("a", "h1", ("m", "1")),
            ("b", "h1", ("m", "1")),
            ("a", "h2", ("n", "1")),
            ("a", "h3", ("m", "2")),
        ] {
            hosts.hold(host(namespace, name, claim));
        }
        let names = |found: Vec<Arc<Host>>| -> Vec<String> {
            found.iter().map(|host| host.name_any()).collect()
        };
        assert_eq!(names(of(&hosts, &me)), ["h1"]);
        // the index that was asked tells UIDs apart as well
        assert!(!is_of(&host("a", "h3", ("m", "2")), &me));
        let mine = only(&hosts, &me).unwrap();
        assert_eq!(mine.namespace().unwrap(), "a");
        assert_eq!(rivals(&hosts, &mine), [""; 0]);
        hosts.hold(host("a", "h4", ("m", "1")));
        assert_eq!(names(of(&hosts, &me)), ["h1", "h4"]);
        assert_eq!(only(&hosts, &me), None);
        assert_eq!(rivals(&hosts, &mine), ["h4"]);
    }
}
