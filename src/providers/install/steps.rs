//! The steps of an installation. Each may be interrupted and repeated: its state is stored on the
//! Host, and its preconditions are read from the API server just before.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{Installs, image};
use crate::engine::{ReconcileError, patch};
use crate::providers::bmc::Errand;
use tatara_core::api::conditions::{ConditionType, Finding, Reason};
use tatara_core::api::installation::{Cause, Phase, Record};
use tatara_core::api::names::{ANNOTATION_INSTALLATION, ANNOTATION_REINSTALL, FINALIZER_IN_USE};
use tatara_core::api::{Host, Machine};
use tatara_core::finalizers;
use tatara_core::host::installation::{self, is_free, is_unchanged, may_be_given_up};
use tatara_core::host::plan::installation::reason;
use tatara_core::host::{Contact, Observed};
use tatara_core::proof::{Clean, Proof};

/// Creates the keys, and records on the Host that an installation is running. The caller has
/// checked that erasing the disk destroys no control plane.
///
/// # Errors
/// A precondition does not hold any more, or the keys or the Host cannot be written.
pub async fn begin(installs: &Installs, observed: &Observed) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    must_be_free(installs, host).await?;
    installs.engine.must_lead()?;
    if let (Some(media), Some(installation)) = (&installs.media, &host.spec.installation) {
        media.library.forget_failure(&installation.iso);
    }
    let (id, host_key) = image::make_keys(&installs.engine, host).await?;
    let record = Record {
        id,
        phase: Phase::Booting,
        started: Time(crate::clock::now()),
        host_key,
        root_device_hints: host.spec.root_device_hints.clone(),
        iso_sha256: host
            .spec
            .installation
            .as_ref()
            .map(|installation| installation.iso.sha256.clone()),
        cause: None,
        message: None,
    };
    let text = text(&record)?;
    let change = |host: &Host| {
        json!({ "metadata": {
            "annotations": { ANNOTATION_REINSTALL: null, ANNOTATION_INSTALLATION: text },
            "finalizers": finalizers::with(host, FINALIZER_IN_USE),
        }})
    };
    patch::swap(&installs.engine, host, installation::basis, change).await?;
    let message = "its operating system is being reinstalled; all data on that disk is lost";
    tell(
        installs,
        host,
        &Finding::yes(
            ConditionType::Installed,
            Reason::InstallationBegins,
            message,
        ),
    )
    .await;
    Ok(())
}

/// Serves the installer to the host again after a restart of the manager.
///
/// # Errors
/// The image is missing, or the Host or a Secret cannot be read.
pub async fn open_again(installs: &Installs, observed: &Observed) -> Result<(), ReconcileError> {
    let Some((record, host)) = underway(observed) else {
        return Ok(());
    };
    // the cache may still show an installation that has ended, which must not be served again
    must_be_free(installs, host).await?;
    if let Err(problem) = image::open(installs, observed, record).await? {
        give_up(installs, observed, Cause::AnswersUnfit, problem).await?;
    }
    Ok(())
}

/// Serves the installer to the host, and makes its BMC boot it.
///
/// # Errors
/// A precondition does not hold any more, or the Host cannot be written.
pub async fn boot(installs: &Installs, observed: &Observed) -> Result<(), ReconcileError> {
    let Some((record, host)) = underway(observed) else {
        return Ok(());
    };
    must_be_free(installs, host).await?;
    let url = match image::open(installs, observed, record).await? {
        Ok(url) => url,
        Err(problem) => return give_up(installs, observed, Cause::AnswersUnfit, problem).await,
    };
    installs.engine.must_lead()?;
    if ask(installs, host, &Errand::BootImage(url)).await {
        proceed(installs, observed, Phase::Installing).await?;
        let message = "its BMC boots the installer";
        tell(
            installs,
            host,
            &Finding::yes(ConditionType::Installed, Reason::InstallerBooted, message),
        )
        .await;
    }
    Ok(())
}

/// Revokes the installer, and makes the BMC boot the installed system.
///
/// # Errors
/// A precondition does not hold any more, or the Host cannot be written.
pub async fn boot_installed(
    installs: &Installs,
    observed: &Observed,
) -> Result<(), ReconcileError> {
    let Some((_, host)) = underway(observed) else {
        return Ok(());
    };
    must_be_free(installs, host).await?;
    installs.engine.must_lead()?;
    if ask(installs, host, &Errand::BootDisk).await {
        close(installs, host);
        proceed(installs, observed, Phase::Starting).await?;
    }
    Ok(())
}

/// Revokes the installer; `free` then pins the host key of the installed system, removes the
/// installation record, and frees the host if it was released. It receives the proof that the host
/// is clean, and that key.
///
/// # Errors
/// The error of `free`.
pub async fn end(
    installs: &Installs,
    observed: &Observed,
    free: impl AsyncFnOnce(Option<&Clean>, &str) -> Result<(), ReconcileError>,
) -> Result<(), ReconcileError> {
    let Some((record, host)) = underway(observed) else {
        return Ok(());
    };
    close(installs, host);
    let clean = match (&observed.contact, &host.spec.consumer_ref) {
        (Contact::Seen(seen), Some(consumer)) => {
            Proof::of_installation(&consumer.uid, &record.id, seen)
                .as_ref()
                .and_then(Clean::from)
        }
        _ => None,
    };
    free(clean.as_ref(), &record.host_key).await?;
    let message =
        "its operating system was installed, and presents the host key of this installation";
    tell(
        installs,
        host,
        &Finding::yes(ConditionType::Installed, Reason::Installed, message),
    )
    .await;
    Ok(())
}

/// Revokes the installer, makes the BMC eject it, and records the cause on the Host.
///
/// # Errors
/// The Host cannot be written.
pub async fn give_up(
    installs: &Installs,
    observed: &Observed,
    cause: Cause,
    mut why: String,
) -> Result<(), ReconcileError> {
    let Some((record, host)) = underway(observed) else {
        return Ok(());
    };
    let live = patch::live(&installs.engine, host).await?;
    if !may_be_given_up(host, &live) {
        return Err(conflict(host));
    }
    close(installs, host);
    // an installed system that does not answer stays on, so that its console shows the cause
    if record.phase != Phase::Starting {
        installs.engine.must_lead()?;
        let heard = installs
            .bmcs
            .ask(host, crate::clock::now(), &Errand::TakeBack);
        if let Err(error) = heard.await.power {
            why = format!("{why}; failed to restore the settings of its BMC: {error}");
        }
        installs.hosts.forget(host);
    }
    let failed = Record {
        phase: Phase::Failed,
        cause: Some(cause),
        message: Some(why.clone()),
        ..record.clone()
    };
    write(installs, observed, &failed).await?;
    tell(
        installs,
        host,
        &Finding::no(ConditionType::Installed, reason(cause), why),
    )
    .await;
    Ok(())
}

fn underway(observed: &Observed) -> Option<(&Record, &Host)> {
    let underway = observed.installation.as_ref()?;
    Some((&underway.record, observed.host.as_ref()))
}

fn close(installs: &Installs, host: &Host) {
    if let Some(media) = &installs.media {
        media.revoke(&host.uid().unwrap_or_default());
    }
}

/// Runs an errand on the BMC. The result is stored for the next pass.
async fn ask(installs: &Installs, host: &Host, errand: &Errand) -> bool {
    let heard = installs.bmcs.ask(host, crate::clock::now(), errand).await;
    // the restart of the host ended its SSH connection
    installs.hosts.forget(host);
    match heard.power {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(host = %host.name_any(), error = %error, "failed to control the BMC for an installation");
            false
        }
    }
}

/// Checks with the API server that the Host is unchanged, and unclaimed or released by a deleted
/// Machine.
async fn must_be_free(installs: &Installs, decided_on: &Host) -> Result<(), ReconcileError> {
    let live = patch::live(&installs.engine, decided_on).await?;
    if !is_unchanged(decided_on, &live) {
        return Err(conflict(decided_on));
    }
    let machine = match &live.spec.consumer_ref {
        Some(consumer) => {
            let namespace = live.namespace().unwrap_or_default();
            let machines: Api<Machine> =
                Api::namespaced(installs.engine.client.clone(), &namespace);
            let what = format!("read Machine {}", consumer.name);
            let machine = machines.get_opt(&consumer.name).await;
            machine.map_err(ReconcileError::api(what))?
        }
        None => None,
    };
    if is_free(decided_on, &live, machine.as_ref()) {
        return Ok(());
    }
    Err(conflict(decided_on))
}

fn conflict(host: &Host) -> ReconcileError {
    ReconcileError::Conflict {
        what: format!("install the operating system of Host {}", host.name_any()),
    }
}

async fn proceed(
    installs: &Installs,
    observed: &Observed,
    phase: Phase,
) -> Result<(), ReconcileError> {
    let Some((record, _)) = underway(observed) else {
        return Ok(());
    };
    let next = Record {
        phase,
        ..record.clone()
    };
    write(installs, observed, &next).await
}

/// Records the progress of the installation, if its record is unchanged.
async fn write(
    installs: &Installs,
    observed: &Observed,
    record: &Record,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let text = text(record)?;
    let part = |host: &Host| installation::record(host).cloned();
    let change = |_: &Host| -> Value {
        json!({ "metadata": { "annotations": { ANNOTATION_INSTALLATION: text } } })
    };
    patch::swap(&installs.engine, host, part, change).await?;
    tracing::info!(host = %host.name_any(), phase = ?record.phase, "recorded the phase of an installation");
    installs.waker.wake_object(host);
    Ok(())
}

fn text(record: &Record) -> Result<String, ReconcileError> {
    serde_json::to_string(record)
        .map_err(|error| ReconcileError::other("record an installation", error))
}

async fn tell(installs: &Installs, host: &Host, news: &Finding) {
    installs.engine.events.publish(host, news).await;
}
