//! The units of a machine's life, made of steps.

mod bootstrap;
mod prepare;
mod reset;
mod update;
mod virtual_ip;

pub use bootstrap::{Bootstrap, POST_KUBEADM, init, join};
pub use prepare::{Prepare, Role, prepare};
pub use reset::{DECIDED_LATE, DECIDED_STEP, LAST_OF_RESET, Reset, reset};
pub use update::{UPGRADE_STEP, addons, archives, kubelet, upgrade};
pub use virtual_ip::{VirtualIpInput, address, give_address};

use minijinja::Value;

use super::render::RenderError;
use super::spec::StepSpec;

/// Why a unit could not be made.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// A template did not render.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// An image archive that could not be checked.
    #[error(
        "providerSpec.value.node.software.imageArchives[{index}] is {url:?}; it needs its checksum at the end: #sha256=<64 hexadecimal digits>"
    )]
    ImageArchive {
        /// Position in the list, from 0.
        index: usize,
        /// Its value.
        url: String,
    },
}

fn step(
    name: &'static str,
    title: &'static str,
    template: &'static str,
    values: Value,
) -> StepSpec {
    StepSpec {
        name,
        title,
        template,
        values,
    }
}

fn commands(
    name: &'static str,
    title: &'static str,
    field: &str,
    commands: &[String],
) -> Option<StepSpec> {
    if commands.is_empty() {
        return None;
    }
    let values = minijinja::context! { field, commands => commands.to_vec() };
    Some(step(name, title, "steps/commands.sh", values))
}
