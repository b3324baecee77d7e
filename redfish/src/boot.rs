//! The boot source override of a system. It is read back after each change: some BMCs keep an
//! override as `Continuous` that was requested as `Once`.

use serde_json::json;

use super::choose::UnsupportedValue;
use super::resources::{Boot, BootDevice, BootOverride};
use super::{Bmc, Error};

impl Bmc {
    /// The boot source override that is in effect, if any.
    ///
    /// # Errors
    /// The BMC cannot be reached, or its answer is malformed.
    pub async fn boot_override(&mut self) -> Result<Option<BootOverride>, Error> {
        Ok(current(&self.read_system().await?.0.boot))
    }

    /// Makes the system boot from this device once, and returns the override as the BMC keeps it:
    /// one that it keeps as `Continuous` must be removed with [`Bmc::boot_from_disk`].
    ///
    /// # Errors
    /// The BMC cannot be reached, refuses the change, or accepts it and keeps the former value.
    pub async fn boot_once(&mut self, device: BootDevice) -> Result<BootOverride, Error> {
        self.set_boot(device.as_str(), "Once").await
    }

    /// Makes the system boot from its own disk, unless it does so already. An override that
    /// remains, to the network or a CD, could install over the data on the disk.
    ///
    /// # Errors
    /// The BMC cannot be reached, refuses the change, or accepts it and keeps the former value.
    pub async fn boot_from_disk(&mut self) -> Result<(), Error> {
        let (system, _) = self.read_system().await?;
        match current(&system.boot) {
            None => return Ok(()),
            Some(current) if current.target == BootDevice::Hdd.as_str() => return Ok(()),
            Some(_) => {}
        }
        let targets = &system.boot.targets;
        if targets.is_empty() || targets.iter().any(|t| t == BootDevice::Hdd.as_str()) {
            self.set_boot(BootDevice::Hdd.as_str(), "Continuous")
                .await?;
        } else {
            self.set_boot("None", "Disabled").await?;
        }
        Ok(())
    }

    async fn set_boot(&mut self, target: &str, enabled: &str) -> Result<BootOverride, Error> {
        let (system, _) = self.read_system().await?;
        let targets = &system.boot.targets;
        if enabled != "Disabled" && !targets.is_empty() && !targets.iter().any(|t| t == target) {
            return Err(Error::NotAllowed {
                address: self.http.address(),
                problem: UnsupportedValue {
                    wanted: vec![target.into()],
                    allowed: targets.clone(),
                },
            });
        }
        let mut boot = json!({
            "BootSourceOverrideEnabled": enabled,
            "BootSourceOverrideTarget": target,
        });
        // some BMCs reset the mode unless it is sent again
        if let Some(mode) = &system.boot.mode {
            boot["BootSourceOverrideMode"] = mode.as_str().into();
        }
        let path = self.system.clone();
        self.patch(&path, &json!({ "Boot": boot })).await?;
        let pace = self.http.pace;
        let mut seen = None;
        for _ in 0..pace.looks(pace.change) {
            seen = current(&self.read_system().await?.0.boot);
            match (&seen, enabled) {
                (None, "Disabled") => {
                    return Ok(BootOverride {
                        enabled: enabled.into(),
                        target: target.into(),
                    });
                }
                (Some(now), _) if now.target == target => return Ok(now.clone()),
                _ => tokio::time::sleep(pace.poll).await,
            }
        }
        Err(Error::NotReached {
            address: self.http.address(),
            wanted: format!("boot from {target}"),
            seen: seen.map_or("no override".into(), |now| now.target),
            seconds: pace.change.as_secs(),
        })
    }
}

fn current(boot: &Boot) -> Option<BootOverride> {
    let enabled = boot.enabled.as_ref()?;
    let target = boot.target.as_ref()?;
    (enabled != "Disabled" && target != "None").then(|| BootOverride {
        enabled: enabled.clone(),
        target: target.clone(),
    })
}
