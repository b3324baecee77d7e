//! Power: requested, then read back until it is reached. An answer of 204 proves nothing.

use serde_json::json;

use super::choose::{self, Wish};
use super::resources::{ActionInfo, ActionTarget, System};
use super::{Bmc, Error};
use tatara_core::host::PowerState;

impl Bmc {
    /// Changes the power as requested, and waits until the BMC reports it. Does nothing if the
    /// power is so already, except for [`Wish::Restart`].
    ///
    /// # Errors
    /// The BMC cannot be reached, does not offer or refuses the action, or does not report the
    /// power state in time.
    pub async fn bring(&mut self, wish: Wish) -> Result<(), Error> {
        let mut failures = 0;
        loop {
            let (system, _) = self.read_system().await?;
            if is_there(wish, system.power_state) {
                return Ok(());
            }
            match self.ask(wish, &system).await {
                Ok(()) => return self.await_power(wish).await,
                // busy, the connection was lost, or another change is under way (409): the power
                // state is read before the next attempt
                Err(error) if failures + 1 < self.http.pace.attempts && may_pass(&error) => {
                    tokio::time::sleep(self.http.pace.pause * 2_u32.pow(failures.min(8))).await;
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn ask(&mut self, wish: Wish, system: &System) -> Result<(), Error> {
        let action = system.actions.reset.clone().unwrap_or_default();
        let allowed = self.allowed(&action).await?;
        let reset_type =
            choose::reset_type(wish, &allowed).map_err(|problem| Error::NotAllowed {
                address: self.http.address(),
                problem,
            })?;
        let usual = || {
            format!(
                "{}/Actions/ComputerSystem.Reset",
                system.path.trim_end_matches('/')
            )
        };
        let target = action.target.unwrap_or_else(usual);
        let body = json!({ "ResetType": reset_type });
        self.act(&target, &body).await.map_err(|error| match error {
            Error::Refused {
                address,
                status: status @ 400..=499,
                said,
                ..
            } => Error::PowerRefused {
                address,
                action: reset_type,
                status,
                said,
            },
            error => error,
        })
    }

    /// Values that the reset action allows: listed beside it, or in an `ActionInfo` resource.
    async fn allowed(&mut self, action: &ActionTarget) -> Result<Vec<String>, Error> {
        let (true, Some(info)) = (action.reset_types.is_empty(), &action.info) else {
            return Ok(action.reset_types.clone());
        };
        let info: ActionInfo = self.http.read(info).await?;
        let parameter = info
            .parameters
            .into_iter()
            .find(|parameter| parameter.name.as_deref() == Some("ResetType"));
        Ok(parameter
            .map(|parameter| parameter.allowable_values)
            .unwrap_or_default())
    }

    async fn await_power(&mut self, wish: Wish) -> Result<(), Error> {
        let pace = self.http.pace;
        let mut seen = PowerState::Unknown;
        for _ in 0..pace.looks(pace.change) {
            seen = self.power().await?;
            if is_there(wish, seen) || (wish == Wish::Restart && seen == PowerState::On) {
                return Ok(());
            }
            tokio::time::sleep(pace.poll).await;
        }
        Err(Error::NotReached {
            address: self.http.address(),
            wanted: wish.to_string(),
            seen: seen.to_string(),
            seconds: pace.change.as_secs(),
        })
    }
}

/// Whether the power state is reached.
fn is_there(wish: Wish, state: PowerState) -> bool {
    match wish {
        Wish::On => state == PowerState::On,
        Wish::ForceOff | Wish::Shutdown => state == PowerState::Off,
        Wish::Restart => false,
    }
}

fn may_pass(error: &Error) -> bool {
    error.may_pass() || matches!(error, Error::PowerRefused { status: 409, .. })
}
