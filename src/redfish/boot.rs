//! What a system boots from next. What was asked for is read back: some BMCs keep for ever what was to hold
//! once.

use serde_json::json;

use super::choose::NotAllowed;
use super::resources::{Boot, BootDevice, BootOverride};
use super::{Bmc, Error};

impl Bmc {
    /// What overrides the boot order now; nothing when nothing does.
    pub async fn boot_override(&mut self) -> Result<Option<BootOverride>, Error> {
        Ok(current(&self.read_system().await?.0.boot))
    }

    /// Has the system boot from this device once, and says how the BMC keeps that: what it keeps as
    /// `Continuous` has to be taken back with [`Bmc::boot_from_disk`].
    pub async fn boot_once(&mut self, device: BootDevice) -> Result<BootOverride, Error> {
        self.set_boot(device.as_str(), "Once").await
    }

    /// Has the system boot from its own disk, unless it does so anyway. Left to itself, an override by the
    /// network or a CD could install something over what is on the disk.
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
                problem: NotAllowed {
                    wanted: vec![target.into()],
                    allowed: targets.clone(),
                },
            });
        }
        let mut boot = json!({
            "BootSourceOverrideEnabled": enabled,
            "BootSourceOverrideTarget": target,
        });
        // some forget the mode when it is not sent again
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
