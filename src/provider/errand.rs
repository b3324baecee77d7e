//! What a BMC is asked for in one session.

use secrecy::{ExposeSecret as _, SecretString};

use super::ContactError;
use super::bmc_error::contact_error;
use crate::redfish::{Access, Bmc, BootDevice, Error, Pace, PowerState, Wish};

/// What a BMC is asked for in one session. Each may be asked for again after it was cut in the middle.
pub enum Errand {
    /// Whether the system is on.
    Look,
    /// Bring the power to what is wished. A system that is switched on boots from its own disk.
    Bring(Wish),
    /// Boot the image behind this URL, whatever runs now.
    BootImage(SecretString),
    /// Take out the image, and boot from disk.
    BootDisk,
    /// Take out the image, and have the next boot be from disk; switched off.
    TakeBack,
}

/// One login, one errand, and the end of the session. An error comes with what may be told of it: no URL of an
/// image is in that.
pub async fn run(
    access: &Access,
    pace: Pace,
    errand: &Errand,
) -> Result<PowerState, (Error, ContactError)> {
    let mut bmc = Bmc::open(access, pace).await.map_err(told)?;
    let result = match errand {
        Errand::BootImage(image) => boot_image(&mut bmc, image).await,
        _ => others(&mut bmc, errand).await.map_err(told),
    };
    bmc.close().await;
    result
}

async fn others(bmc: &mut Bmc, errand: &Errand) -> Result<PowerState, Error> {
    match errand {
        Errand::Bring(Wish::On) => {
            bmc.boot_from_disk().await?;
            bmc.bring(Wish::On).await?;
        }
        Errand::Bring(Wish::Shutdown) => match bmc.bring(Wish::Shutdown).await {
            Err(Error::NotAllowed { .. } | Error::NotReached { .. }) => {
                bmc.bring(Wish::ForceOff).await?;
            }
            result => result?,
        },
        Errand::Bring(wish) => bmc.bring(*wish).await?,
        Errand::BootDisk => {
            bmc.eject_cd().await?;
            bmc.boot_from_disk().await?;
            bmc.bring(Wish::On).await?;
        }
        Errand::TakeBack => {
            bmc.bring(Wish::ForceOff).await?;
            bmc.eject_cd().await?;
            bmc.boot_from_disk().await?;
        }
        Errand::Look | Errand::BootImage(_) => {}
    }
    bmc.power().await
}

async fn boot_image(
    bmc: &mut Bmc,
    image: &SecretString,
) -> Result<PowerState, (Error, ContactError)> {
    bmc.bring(Wish::ForceOff).await.map_err(told)?;
    let inserted = bmc.insert_cd(image.expose_secret()).await;
    inserted.map_err(refused)?;
    bmc.boot_once(BootDevice::Cd).await.map_err(told)?;
    bmc.bring(Wish::On).await.map_err(told)?;
    bmc.power().await.map_err(told)
}

fn told(error: Error) -> (Error, ContactError) {
    let said = contact_error(&error);
    (error, said)
}

fn refused(error: Error) -> (Error, ContactError) {
    let (error, mut said) = told(error);
    said.message = without_tokens(&said.message);
    if matches!(
        error,
        Error::Refused { .. }
            | Error::NotReached { .. }
            | Error::TaskFailed { .. }
            | Error::NoVirtualMedia { .. }
    ) {
        said.reason = "VirtualMediaRefused";
        said.message = format!(
            "its BMC could not put the installer into its virtual CD drive; it has to reach --media-url of the \
             manager: {}",
            said.message
        );
    }
    (error, said)
}

/// Many BMCs name the URL, or a part of it, when they cannot fetch it; who reads a condition must not learn it.
fn without_tokens(message: &str) -> String {
    let mut parts = message.split("/media/");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str("/media/...");
        clean.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::without_tokens;

    #[test]
    fn no_token_is_told_whole_or_in_part() {
        for (said, told) in [
            ("no", "no"),
            (
                "cannot fetch https://m:1/media/00ffAA/installer.iso twice: \"/media/00ff",
                "cannot fetch https://m:1/media/.../installer.iso twice: \"/media/...",
            ),
        ] {
            assert_eq!(without_tokens(said), told);
        }
    }
}
