//! What is said to a gateway, and what is read of its answers: of `gateway/wire`, which both are
//! built from.

pub use tatara_gateway_wire::read::{Amount, Capacity, Machine, Pool, Problem};
pub use tatara_gateway_wire::{
    DataDisk, Firmware, Image, ImageCode, ImageError, ImageFormat, ImageRequest, ImageState,
    InterfaceSpec, MachineRequest, MachineSpec, MachineState, PowerAction, PowerRequest, RootDisk,
    Seed,
};
