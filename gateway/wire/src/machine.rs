//! Machines, as returned by a gateway.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Address, MachineSpec, MachineState};

/// A machine and its state in libvirt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The id chosen by the caller; the domain's UUID.
    pub id: Uuid,
    /// SHA-256 of the spec as canonical JSON with defaults filled in.
    pub spec_hash: String,
    /// The requested spec.
    pub spec: MachineSpec,
    /// Power state.
    pub state: MachineState,
    /// Reason of the state, as reported by libvirt, such as `ioerror`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// The seed still exists: it is attached, or its volume is not deleted.
    pub seed: bool,
    /// Its creation was interrupted at the first start: the same PUT or power on completes it,
    /// DELETE removes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Its metadata cannot be parsed: written by a newer gateway, or edited by hand. `spec` has
    /// only what the domain XML shows; if that cannot be read either, the state is `unknown` and
    /// the domain may be a foreign one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// Discovered addresses, at most 16 per network interface. Those of source `agent` are
    /// unverified guest input.
    pub addresses: Vec<Address>,
    /// Network interfaces, in the order of the spec.
    pub interfaces: Vec<MachineInterface>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineInterface {
    /// MAC address.
    pub mac: String,
    /// Name of the libvirt network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Name of the bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
}

/// All machines of this gateway.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MachineList {
    /// Machines, ordered by id, without domains that the gateway does not manage.
    pub items: Vec<Machine>,
}
