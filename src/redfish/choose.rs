//! Which system is meant, which power action does what is wanted, which drive takes a CD. Pure.

use std::fmt;

use super::resources::{System, VirtualMedia};

/// What is wanted of a system's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It shall run.
    On,
    /// It shall not run, whatever is lost.
    ForceOff,
    /// It shall end what it does, and be off.
    Shutdown,
    /// It shall start again, whatever is lost.
    Restart,
}

impl Wish {
    /// Power actions that do it, the best first.
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

/// The BMC does not offer what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it offers none of {} for this system; it allows {}", .wanted.join(", "), or_nothing(.allowed))]
pub struct NotAllowed {
    /// What would do.
    pub wanted: Vec<String>,
    /// What it allows.
    pub allowed: Vec<String>,
}

fn or_nothing(list: &[String]) -> String {
    if list.is_empty() {
        "nothing".into()
    } else {
        list.join(", ")
    }
}

/// The power action to ask for. A BMC that does not say what it allows is asked for the usual one: some
/// answer 204 to anything, and do nothing, so that the outcome is read back in any case.
pub(super) fn reset_type(wish: Wish, allowed: &[String]) -> Result<&'static str, NotAllowed> {
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

fn none(ways: &[&str], allowed: &[String]) -> NotAllowed {
    NotAllowed {
        wanted: ways.iter().map(ToString::to_string).collect(),
        allowed: allowed.to_vec(),
    }
}

/// Why none of the systems of a BMC is the one that is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSystem {
    /// It has none.
    #[error("it has no system; is it a BMC?")]
    None,
    /// It has several, and none is named.
    #[error("it has several systems; set spec.bmc.systemID to the Id, UUID or serial number of one: {}", .0.join("; "))]
    Several(Vec<String>),
    /// The one that is named is not there, or there are several.
    #[error("spec.bmc.systemID {wanted:?} fits {count} of its systems; set it to the Id, UUID or serial number of one: {}", .systems.join("; "))]
    Other {
        /// What is named.
        wanted: String,
        /// How many have it.
        count: usize,
        /// What there is.
        systems: Vec<String>,
    },
}

/// The system that is meant: the only one, or the one with that Id, UUID, serial number or path.
pub(super) fn system<'a>(
    systems: &'a [System],
    wanted: Option<&str>,
) -> Result<&'a System, NoSystem> {
    let names = || systems.iter().map(name).collect();
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
    let fits = |system: &&System| {
        system.path == wanted || is(&system.id) || is(&system.uuid) || is(&system.serial_number)
    };
    let found: Vec<&System> = systems.iter().filter(fits).collect();
    match found.as_slice() {
        [only] => Ok(only),
        _ => Err(NoSystem::Other {
            wanted: wanted.into(),
            count: found.len(),
            systems: names(),
        }),
    }
}

fn name(system: &System) -> String {
    let or = |field: &Option<String>| field.clone().unwrap_or_else(|| "unknown".into());
    format!(
        "{} (UUID {}, serial {})",
        system.id.as_ref().unwrap_or(&system.path),
        or(&system.uuid),
        or(&system.serial_number)
    )
}

/// The first drive that takes a CD.
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
