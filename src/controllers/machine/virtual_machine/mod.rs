//! What a pass over a Machine sees and does of its virtual machine.

mod execute;
mod observe;

pub use execute::{create, fetch_image, release, remove_seed, reserve, switch};
pub use observe::{guest, observe, placement};
