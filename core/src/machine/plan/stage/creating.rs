//! Its virtual machine is created, switched on, or waits for an address.

use k8s_openapi::jiff::Timestamp;

use super::super::{Plan, virtual_machine};
use crate::machine::observed::{Observed, VirtualMachine};

/// The next step.
pub(super) fn plan(observed: &Observed, machine: &VirtualMachine, now: Timestamp) -> Plan {
    virtual_machine::plan(observed, machine, now).unwrap_or_default()
}
