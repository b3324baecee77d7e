//! What a Machine requires of the hardware of a host, against what the host reports.

use crate::api::host::HostFacts;
use crate::api::machine_provider_spec::HostRequirements;
use crate::api::quantity::bytes;

/// The first requirement that a host does not meet: what it has, and what is wanted.
pub(super) fn unmet(facts: &HostFacts, wanted: &HostRequirements) -> Option<String> {
    let less = |has: i64, wanted: Option<i64>| wanted.is_some_and(|wanted| has < wanted);
    if less(facts.cpus, wanted.cpus) {
        return Some(format!("{} of {} CPUs", facts.cpus, wanted.cpus?));
    }
    for (what, has, wanted) in [
        ("memory", facts.memory_bytes, &wanted.memory),
        ("disk free in /var/lib", facts.disk_bytes, &wanted.disk),
    ] {
        if less(has, wanted.as_ref().and_then(bytes)) {
            let wanted = &wanted.as_ref()?.0;
            return Some(format!("{}Mi of {wanted} {what}", has >> 20));
        }
    }
    let architecture = wanted.architecture.as_ref();
    let other = architecture.filter(|wanted| facts.architecture != **wanted)?;
    Some(format!("{}, not {other}", facts.architecture))
}
