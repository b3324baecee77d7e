//! The address of a cluster's API that moves between its control-plane machines.

use minijinja::context;

use super::super::job::JobKind;
use super::super::spec::{StepSpec, UnitSpec};
use super::step;

/// How a machine takes part in holding the virtual IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualIpInput<'a> {
    /// The virtual IP address.
    pub address: &'a str,
    /// The machine's own address, in the same network.
    pub own_address: &'a str,
    /// Own addresses of the cluster's other control-plane machines.
    pub peers: &'a [String],
    /// Port of the machine's own API server.
    pub api_port: u16,
    /// Interface that carries the address; the one with `own_address` when absent.
    pub interface: Option<&'a str>,
    /// VRRP virtual router id; derived from the address when absent.
    pub router_id: Option<u8>,
}

/// The unit by which a control plane takes part, or learns of others.
pub fn address(input: &VirtualIpInput<'_>) -> UnitSpec {
    UnitSpec {
        kind: JobKind::Address,
        steps: vec![virtual_ip(input)],
        secrets: Vec::new(),
    }
}

/// The unit by which another control plane comes to hold the virtual IP, and this one takes no part
/// any more. It fails, and this one takes part as before, where no other holds it afterwards.
/// [`address`] undoes it.
pub fn give_address() -> UnitSpec {
    UnitSpec {
        kind: JobKind::Address,
        steps: vec![step(
            "give-address",
            "Virtual IP on another control plane",
            "steps/give-address.sh",
            context! {},
        )],
        secrets: Vec::new(),
    }
}

pub(super) fn virtual_ip(input: &VirtualIpInput<'_>) -> StepSpec {
    let values = context! {
        address => input.address,
        own_address => input.own_address,
        peers => input.peers.to_vec(),
        port => input.api_port,
        interface => input.interface.unwrap_or_default(),
        router_id => input.router_id.unwrap_or_else(|| derived_router_id(input.address)),
        proxy => (),
    };
    step(
        "virtual-ip",
        "Virtual IP of the API",
        "steps/virtual-ip.sh",
        values,
    )
}

/// 1 to 255, the same on every machine: the last number of an IPv4 address, which is different for
/// each address of a network; a sum for IPv6.
fn derived_router_id(address: &str) -> u8 {
    let last = address
        .rsplit('.')
        .next()
        .and_then(|number| number.parse().ok());
    let number: u8 = last.unwrap_or_else(|| address.bytes().fold(0, u8::wrapping_add));
    number.max(1)
}
