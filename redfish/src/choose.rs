//! Chooses the system, the power action and the virtual CD drive. No I/O.

use std::fmt;

use super::resources::VirtualMedia;

/// The requested change of a system's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Power on.
    On,
    /// Power off at once, without a shutdown of the operating system.
    ForceOff,
    /// Shut the operating system down, then power off.
    Shutdown,
    /// Restart at once, without a shutdown of the operating system.
    Restart,
}

impl Wish {
    /// Power actions (`ResetType`) that do it, the preferred one first.
    fn ways(self) -> &'static [&'static str] {
        match self {
            Self::On => &["On", "ForceOn"],
            Self::ForceOff => &["ForceOff"],
            Self::Shutdown => &["GracefulShutdown"],
            Self::Restart => &["ForceRestart", "PowerCycle", "GracefulRestart"],
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The BMC does not offer the power action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it offers none of {} for this system; allowed are {}", .wanted.join(", "), or_nothing(.allowed))]
pub struct UnsupportedValue {
    /// Power actions that would do.
    pub wanted: Vec<String>,
    /// Power actions that it allows.
    pub allowed: Vec<String>,
}

fn or_nothing(list: &[String]) -> String {
    if list.is_empty() {
        "nothing".into()
    } else {
        list.join(", ")
    }
}

/// The power action to request. A BMC that does not list what it allows gets the usual one. Some
/// BMCs answer 204 to any request and do nothing, so the power state is read back in any case.
pub(super) fn reset_type(wish: Wish, allowed: &[String]) -> Result<&'static str, UnsupportedValue> {
    let ways = wish.ways();
    let mut offered = ways
        .iter()
        .filter(|way| allowed.iter().any(|allowed| allowed == *way));
    match offered.next() {
        Some(way) => Ok(way),
        None if allowed.is_empty() => ways.first().copied().ok_or_else(|| none(ways, allowed)),
        None => Err(none(ways, allowed)),
    }
}

fn none(ways: &[&str], allowed: &[String]) -> UnsupportedValue {
    UnsupportedValue {
        wanted: ways.iter().map(ToString::to_string).collect(),
        allowed: allowed.to_vec(),
    }
}

/// Why the system cannot be found on a BMC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSystem {
    /// The BMC has no system.
    #[error("it has no system; check that spec.bmc.address is the address of a BMC")]
    None,
    /// The BMC has several systems, and none is named.
    #[error("it has several systems; set spec.bmc.systemID to the Id, UUID or serial number of one: {}", .0.join("; "))]
    Several(Vec<String>),
    /// None or several systems match the name.
    #[error("spec.bmc.systemID {wanted:?} matches {count} of its systems; set it to the Id, UUID or serial number of one: {}", .systems.join("; "))]
    Other {
        /// The configured name.
        wanted: String,
        /// How many systems match.
        count: usize,
        /// The systems of the BMC.
        systems: Vec<String>,
    },
}

/// What names a system.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub(super) path: String,
    pub(super) id: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) serial_number: Option<String>,
}

/// Systems that a message names.
const TOLD: usize = 16;

/// The system to control: the only one, or the one with that Id, UUID, serial number or path.
pub(super) fn system<'a>(
    systems: &'a [Named],
    wanted: Option<&str>,
) -> Result<&'a Named, NoSystem> {
    let names = || systems.iter().take(TOLD).map(name).collect();
    if systems.is_empty() {
        return Err(NoSystem::None);
    }
    let Some(wanted) = wanted else {
        return match systems {
            [only] => Ok(only),
            _ => Err(NoSystem::Several(names())),
        };
    };
    let is = |field: &Option<String>| {
        let field = field.as_deref();
        field.is_some_and(|field| field.eq_ignore_ascii_case(wanted))
    };
    let fits = |system: &&Named| {
        system.path == wanted || is(&system.id) || is(&system.uuid) || is(&system.serial_number)
    };
    let found: Vec<&Named> = systems.iter().filter(fits).collect();
    match found.as_slice() {
        [only] => Ok(only),
        _ => Err(NoSystem::Other {
            wanted: wanted.into(),
            count: found.len(),
            systems: names(),
        }),
    }
}

fn name(system: &Named) -> String {
    let or = |field: &Option<String>| field.clone().unwrap_or_else(|| "unknown".into());
    format!(
        "{} (UUID {}, serial {})",
        system.id.as_ref().unwrap_or(&system.path),
        or(&system.uuid),
        or(&system.serial_number)
    )
}

/// The first virtual drive that takes a CD or DVD.
pub(super) fn drive(drives: &[VirtualMedia]) -> Option<&VirtualMedia> {
    let is_cd = |text: &String| {
        let text = text.to_ascii_lowercase();
        text.contains("cd") || text.contains("dvd")
    };
    drives.iter().find(|drive| {
        drive.media_types.iter().any(is_cd)
            || (drive.media_types.is_empty() && drive.id.iter().any(is_cd))
    })
}

#[cfg(test)]
mod tests;
