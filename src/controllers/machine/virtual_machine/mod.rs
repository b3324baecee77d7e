//! What a pass over a Machine sees and does of its virtual machine.

mod give_up;
mod observe;
mod perform;
mod record;

pub use give_up::give_up;
pub use observe::{ask_whether_gone, guest, observe, placement};
pub use perform::{create, fetch_image, leave, release, remove_seed, reserve, switch};
pub use record::record;
