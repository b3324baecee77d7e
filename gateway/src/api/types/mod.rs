//! What is sent and received. Data only.

mod capacity;
mod image;
mod machine;
mod spec;

pub use capacity::{Acceleration, Amount, Capacity, PoolCapacity};
pub use image::{Image, ImageError, ImageFormat, ImageList, ImageRequest, ImageState};
pub use machine::{
    Address, AddressSource, Machine, MachineGone, MachineInterface, MachineList, MachineState,
    PowerAction, PowerRequest,
};
pub use spec::{DataDisk, Firmware, InterfaceSpec, MachineRequest, MachineSpec, RootDisk, Seed};

/// Pool that is used when none is named.
pub const DEFAULT_POOL: &str = "default";

fn default_pool() -> String {
    DEFAULT_POOL.to_owned()
}
