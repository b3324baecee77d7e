//! Machines, as a gateway answers them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Address, MachineSpec, MachineState};

/// A machine as libvirt has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The id that the caller chose; the domain's UUID.
    pub id: Uuid,
    /// SHA-256 of the spec as canonical JSON, defaults filled in.
    pub spec_hash: String,
    /// What was asked for.
    pub spec: MachineSpec,
    /// What it does.
    pub state: MachineState,
    /// Why it is in that state, in libvirt's words, such as `ioerror`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// The seed is still there: attached, or its volume is left.
    pub seed: bool,
    /// Its creation was cut around the first start: the same PUT, or power on, finishes it; DELETE cleans it away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Its metadata cannot be read: a newer gateway wrote it, or somebody by hand. `spec` has what the domain itself
    /// tells, and no more; where nothing of the domain can be read, the state is `unknown`, and it may not be ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// Addresses that were found, at most 16 of a card, by MAC. Those of source `agent` are the guest's own words.
    pub addresses: Vec<Address>,
    /// Network cards, in the order of the spec.
    pub interfaces: Vec<MachineInterface>,
}

/// A network card.
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
    /// Machines, by id. Domains that are not ours are not among them.
    pub items: Vec<Machine>,
}
