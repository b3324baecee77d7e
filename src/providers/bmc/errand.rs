//! The operations on a BMC in one session.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use super::error::contact_error;
use tatara_core::api::conditions::Reason;
use tatara_core::host::{ContactError, PowerState};
use tatara_redfish::{Access, Bmc, BootDevice, Error, Pace, Wish};

/// Hexadecimal runs of this length or more may be part of a token, which has 64 digits; a shorter
/// part is useless.
const PIECE: usize = 16;
/// Time limit of all requests of an errand, and of those before it that find the system. A boot
/// from an image changes power twice and a drive twice, each in a minute, after tasks of up to
/// five.
const LIMIT: Duration = Duration::from_mins(30);

/// The operations on a BMC in one session. Each is idempotent and may be repeated after an
/// interruption.
pub enum Errand {
    /// Read the power state.
    Look,
    /// Change the power. A system that is switched on boots from its own disk.
    Bring(Wish),
    /// Boot the image at this URL, whatever is running now.
    BootImage(SecretString),
    /// Eject the image and boot from disk.
    BootDisk,
    /// Eject the image, set the next boot to disk, and power off.
    TakeBack,
}

/// Begins a session.
///
/// # Errors
/// The error of the BMC, also in the form for a condition, which contains no secrets.
pub async fn open(access: &Access, pace: Pace) -> Result<Bmc, (Error, ContactError)> {
    let address = access.address();
    let opening = async { Bmc::open(access, pace).await.map_err(told) };
    within(LIMIT, address, Box::pin(opening)).await
}

async fn within<T>(
    limit: Duration,
    address: &str,
    work: impl Future<Output = Result<T, (Error, ContactError)>>,
) -> Result<T, (Error, ContactError)> {
    let done = timeout(limit, work).await;
    done.unwrap_or_else(|_| Err(told(late(address, limit))))
}

/// The error of a BMC that always answers, and never to the point.
fn late(address: &str, limit: Duration) -> Error {
    Error::NotReached {
        address: address.trim_end_matches('/').to_owned(),
        wanted: "every request".into(),
        seen: "that there is more to do".into(),
        seconds: limit.as_secs(),
    }
}

/// Runs one errand and ends the session.
///
/// # Errors
/// The error of the BMC, also in the form for a condition, which does not contain the image URL.
pub async fn run(mut bmc: Bmc, errand: &Errand) -> Result<PowerState, (Error, ContactError)> {
    let address = bmc.address();
    let work = async {
        match errand {
            Errand::BootImage(image) => boot_image(&mut bmc, image).await,
            _ => others(&mut bmc, errand).await.map_err(told),
        }
    };
    let result = within(LIMIT, &address, Box::pin(work)).await;
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
    let mut said = contact_error(&error);
    // these name fingerprints and serial numbers, which users need in full, and never the image URL
    let names_the_bmc = matches!(
        error,
        Error::CertificateChanged { .. }
            | Error::CertificateUntrusted { .. }
            | Error::NoSystem { .. }
    );
    if !names_the_bmc {
        said.message = without_tokens(&said.message);
    }
    (error, said)
}

fn refused(error: Error) -> (Error, ContactError) {
    let (error, mut said) = told(error);
    if matches!(
        error,
        Error::Refused { .. }
            | Error::NotReached { .. }
            | Error::TaskFailed { .. }
            | Error::NoVirtualMedia { .. }
    ) {
        said.reason = Reason::VirtualMediaRefused;
        let remedy = match error {
            Error::NoVirtualMedia { .. } => "",
            _ => ". Check that the BMC can reach --media-url of the manager",
        };
        said.message = format!(
            "its BMC failed to insert the installer into its virtual CD drive: {}{remedy}",
            said.message
        );
    }
    (error, said)
}

/// Removes every long hexadecimal run. Many BMCs repeat the image URL, or a part of it in another
/// notation; it contains a token, and conditions have more readers than Secrets.
fn without_tokens(message: &str) -> String {
    let mut clean = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_hexdigit());
        let (run, after) = from.split_at(end.unwrap_or(from.len()));
        clean.push_str(before);
        clean.push_str(if run.len() < PIECE { run } else { "..." });
        rest = after;
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has the length of a real token.
    const TOKEN: &str = "00ffAA1122334455667788990011223344556677889900aabbccddeeff001122";

    #[tokio::test]
    async fn an_errand_ends_however_much_a_bmc_has_to_say() {
        let endless = std::future::pending::<Result<(), _>>();
        let ended = within(Duration::from_millis(10), "https://192.0.2.20/", endless);
        let ended = timeout(Duration::from_secs(5), ended).await;
        let (_, told) = ended.expect("an end").expect_err("it is late");
        assert!(
            told.message
                .starts_with("the BMC at https://192.0.2.20 accepted every request, but"),
            "{}",
            told.message
        );
    }

    #[test]
    fn no_token_is_told_whole_or_in_part() {
        let (piece, start) = (&TOKEN[30..], &TOKEN[..40]);
        for (said, told) in [
            ("no", "no".to_owned()),
            (
                "code 0xdeadbeef at 12:00",
                "code 0xdeadbeef at 12:00".into(),
            ),
            (
                &format!(
                    "cannot fetch https://m:1/media/{TOKEN}/installer.iso twice: \"/media/{start}"
                ),
                "cannot fetch https://m:1/media/.../installer.iso twice: \"/media/...".into(),
            ),
            (
                &format!(r#"{{"Image":"https:\/\/m\/media\/{TOKEN}\/installer.iso"}}"#),
                r#"{"Image":"https:\/\/m\/media\/...\/installer.iso"}"#.into(),
            ),
            (
                &format!("media%2F{TOKEN}%2Finstaller.iso"),
                "media%...%2Finstaller.iso".into(),
            ),
            (
                &format!("…{piece}/installer.iso"),
                "….../installer.iso".into(),
            ),
        ] {
            assert_eq!(without_tokens(said), told);
        }
    }

    #[test]
    fn what_a_bmc_says_to_any_errand_is_told_without_tokens_and_what_names_it_stays_whole() {
        let address = || "https://192.0.2.20".to_owned();
        let said = || format!(": https:\\/\\/m\\/media\\/{TOKEN}\\/installer.iso is in use");
        let errors = [
            Error::Refused {
                address: address(),
                what: "POST /redfish/v1/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
                    .into(),
                status: 400,
                said: said(),
            },
            Error::PowerRefused {
                address: address(),
                action: "On",
                status: 400,
                said: said(),
            },
            Error::TaskFailed {
                address: address(),
                task: "/redfish/v1/TaskService/Tasks/1".into(),
                problem: format!("ended with Exception{}", said()),
            },
        ];
        for error in errors {
            let (_, said) = told(error);
            assert!(!said.message.contains(&TOKEN[..16]), "{}", said.message);
            assert!(said.message.contains("is in use"), "{}", said.message);
        }
        let fingerprint = "0a".repeat(32);
        let (_, said) = told(Error::CertificateChanged {
            address: address(),
            shown: fingerprint.clone(),
            pinned: "0b".repeat(32),
        });
        assert!(said.message.contains(&fingerprint), "{}", said.message);
    }
}
