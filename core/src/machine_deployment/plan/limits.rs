//! What `maxSurge` and `maxUnavailable` allow.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::api::machine_deployment::{RollingUpdate, Strategy, StrategyType};

/// Machines that may be there beyond the wanted number when nothing is said.
const DEFAULT_SURGE: IntOrString = IntOrString::Int(1);
/// Machines that may be missing when nothing is said.
const DEFAULT_UNAVAILABLE: IntOrString = IntOrString::Int(0);

/// What a roll may do to the number of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Machines that may be there beyond the wanted number.
    pub surge: i32,
    /// Machines that may be missing.
    pub unavailable: i32,
    /// Both came to nothing, so one Machine may be missing.
    pub raised: bool,
}

impl Limits {
    /// The limits for so many replicas. A percentage of surge is rounded up, one of unavailability
    /// down; where both come to nothing, one Machine may be missing, or no roll could ever start.
    /// (Two zeros are refused at admission; percentages of few replicas may come to that.)
    ///
    /// # Errors
    /// The field whose value is not a number or a percentage, as a message.
    pub fn of(strategy: &Strategy, replicas: i32) -> Result<Self, String> {
        match strategy.type_ {
            StrategyType::OnDelete => {
                return Ok(Self {
                    surge: 0,
                    unavailable: 0,
                    raised: false,
                });
            }
            StrategyType::InPlace => return Self::in_place(strategy, replicas),
            StrategyType::RollingUpdate => (),
        }
        let RollingUpdate {
            max_surge,
            max_unavailable,
        } = strategy.rolling_update.clone().unwrap_or_default();
        let surge = max_surge.unwrap_or(DEFAULT_SURGE);
        let unavailable = max_unavailable.unwrap_or(DEFAULT_UNAVAILABLE);
        let limits = Self {
            surge: resolve("rollingUpdate.maxSurge", &surge, replicas, Round::Up)?,
            unavailable: resolve(
                "rollingUpdate.maxUnavailable",
                &unavailable,
                replicas,
                Round::Down,
            )?,
            raised: false,
        };
        if limits.surge == 0 && limits.unavailable == 0 {
            return Ok(Self {
                surge: 0,
                unavailable: 1,
                raised: true,
            });
        }
        Ok(limits)
    }

    /// The same for a control plane, whose members change one at a time: one more joins before
    /// another leaves; only without surge one may be missing.
    #[must_use]
    pub fn of_control_plane(self) -> Self {
        let surge = self.surge.min(1);
        Self {
            surge,
            unavailable: self.unavailable.min(1 - surge),
            ..self
        }
    }

    /// Nothing is created, so one Machine at least may be missing.
    fn in_place(strategy: &Strategy, replicas: i32) -> Result<Self, String> {
        let limit = strategy.in_place.clone().unwrap_or_default();
        let unavailable = limit.max_unavailable.unwrap_or(IntOrString::Int(1));
        let field = "inPlace.maxUnavailable";
        let unavailable = resolve(field, &unavailable, replicas, Round::Down)?;
        Ok(Self {
            surge: 0,
            unavailable: unavailable.max(1),
            raised: unavailable < 1,
        })
    }

    /// The fewest available Machines that a step may leave.
    pub fn min_available(&self, replicas: i32) -> i32 {
        replicas.saturating_sub(self.unavailable).max(0)
    }

    /// The most Machines that there may be, those in deletion included.
    pub fn max_total(&self, replicas: i32) -> i32 {
        replicas.saturating_add(self.surge)
    }
}

#[derive(Clone, Copy)]
enum Round {
    Up,
    Down,
}

fn resolve(field: &str, value: &IntOrString, replicas: i32, round: Round) -> Result<i32, String> {
    let wrong = |shown: String| {
        format!(
            "spec.strategy.{field} is {shown}; write a number such as 1 or a percentage such as \"25%\""
        )
    };
    match value {
        IntOrString::Int(number) if *number >= 0 => Ok(*number),
        IntOrString::Int(number) => Err(wrong(number.to_string())),
        IntOrString::String(text) => {
            let percent = text
                .strip_suffix('%')
                .and_then(|digits| digits.parse::<u32>().ok());
            let percent = percent.ok_or_else(|| wrong(format!("{text:?}")))?;
            let hundredths = i64::from(percent) * i64::from(replicas.max(0));
            let machines = match round {
                Round::Up => (hundredths + 99) / 100,
                Round::Down => hundredths / 100,
            };
            Ok(i32::try_from(machines).unwrap_or(i32::MAX))
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
