//! Observes a running installation.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::Installs;
use tatara_core::api::Host;
use tatara_core::api::installation::{Phase, Record};
use tatara_core::host::{Contact, PowerState, Underway};

/// How long a reading of a BMC is valid.
const STANDS: SignedDuration = SignedDuration::from_secs(10);

/// The record of an installation on the Host, and the state of its image.
pub fn look(installs: &Installs, host: &Host) -> Option<Underway> {
    let record = Record::of(host)?;
    let media = installs.media.as_ref();
    let served = media.and_then(|media| media.of(&host.uid().unwrap_or_default()));
    let is_needed = matches!(record.phase, Phase::Booting | Phase::Installing);
    let iso = host.spec.installation.as_ref().filter(|_| is_needed);
    let image = media.zip(iso).map(|(media, installation)| {
        let (waker, host) = (installs.waker.clone(), host.clone());
        let wake = move || waker.wake_object(&host);
        media.library.image(&installation.iso, wake)
    });
    Some(Underway {
        record,
        image,
        is_open: served.is_some(),
        report: served.and_then(|served| served.report()),
    })
}

/// Observes the host or its BMC, as the phase requires.
pub async fn ask(installs: &Installs, host: &Host, record: &Record, now: Timestamp) -> Contact {
    match record.phase {
        Phase::Booting | Phase::Failed => Contact::NotAsked,
        Phase::Installing => {
            is_off(installs, host, now).await;
            Contact::NotAsked
        }
        Phase::Starting => {
            let (contact, _) = installs.hosts.ask(host).await;
            match &contact {
                Contact::Failed(error)
                    if error.is_silence() && is_off(installs, host, now).await =>
                {
                    Contact::Off
                }
                _ => contact,
            }
        }
    }
}

/// Whether its BMC reports power off, at most [`STANDS`] ago.
async fn is_off(installs: &Installs, host: &Host, now: Timestamp) -> bool {
    let last = installs.bmcs.last(host);
    let heard = match last.filter(|heard| now.duration_since(heard.at) < STANDS) {
        Some(heard) => heard,
        None => installs.bmcs.power(host, now).await,
    };
    heard.power == Ok(PowerState::Off)
}
