//! A change of a host's power: whether it may be made, by what was read live just before, and what
//! it shows.

use super::PowerState;
use crate::api::Host;
use crate::api::conditions::{ConditionType, Finding, Reason};

/// A change of power, with its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// On, because the host is needed.
    On,
    /// Off, because the host is free.
    Off,
    /// Off, because the host was released and does not answer.
    Fence,
}

impl Switch {
    /// What is published once the BMC reports it.
    pub fn news(self, host: &str) -> Finding {
        let (reason, message) = match self {
            Self::On => (
                Reason::SwitchedOn,
                format!("Host {host} was switched on by its BMC"),
            ),
            Self::Off => (
                Reason::SwitchedOff,
                format!("Host {host} is free, and was switched off by its BMC"),
            ),
            Self::Fence => (
                Reason::Fenced,
                format!("Host {host} was released; its BMC cut its power, and reports it off"),
            ),
        };
        Finding::yes(ConditionType::PowerOn, reason, message)
    }
}

/// Whether the decision still holds for the host as read live.
pub fn still_holds(decided_on: &Host, live: &Host) -> bool {
    let (was, is) = (&decided_on.spec, &live.spec);
    was.bmc == is.bmc && !is.maintenance && was.consumer_ref == is.consumer_ref
}

/// Whether the BMC reports the host off after powering it off. If it refused or did not answer, the
/// host may still run: observations of it, such as the private key of a cluster's CA, remain valid.
pub fn is_away(switch: Switch, power: Option<&PowerState>) -> bool {
    switch != Switch::On && power == Some(&PowerState::Off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_said_is_forgotten_only_once_its_bmc_says_that_it_is_off() {
        for (switch, power, is_forgotten) in [
            (Switch::Fence, Some(PowerState::Off), true),
            (Switch::Fence, Some(PowerState::On), false),
            (Switch::Fence, None, false),
            (Switch::Off, Some(PowerState::Off), true),
            (Switch::Off, None, false),
            (Switch::On, Some(PowerState::On), false),
            (Switch::On, Some(PowerState::Off), false),
        ] {
            let is = is_away(switch, power.as_ref());
            assert_eq!(is, is_forgotten, "{switch:?}, {power:?}");
        }
    }
}
