//! Power: asked for, and read back until it is so. An answer of 204 proves nothing.

use serde_json::json;

use super::choose::{self, Wish};
use super::resources::{ActionInfo, ActionTarget, System};
use super::{Bmc, Error};
use crate::core::host::PowerState;

impl Bmc {
    /// Brings the power to what is wished, and waits until the BMC says that it is so. A system that is there
    /// already is left alone, but for [`Wish::Restart`].
    pub async fn bring(&mut self, wish: Wish) -> Result<(), Error> {
        let mut failures = 0;
        loop {
            let (system, _) = self.read_system().await?;
            if is_there(wish, system.power_state) {
                return Ok(());
            }
            match self.ask(wish, &system).await {
                Ok(()) => return self.await_power(wish).await,
                // busy, the connection was lost, or (409) in the middle of another change: what came of it is
                // read back before it is asked for again
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

    /// What the reset action takes: written beside it, or in a resource of its own.
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

/// Whether nothing is left to be done.
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
