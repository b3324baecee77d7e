//! Changes of a MachineDeployment: pause and restart. Each writes only the fields that it is about.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{Error, Name, Subject, paused_by_annotation, say};
use crate::clock;
use tatara_core::api::MachineDeployment;
use tatara_core::api::machine_deployment::StrategyType;
use tatara_core::api::names::ANNOTATION_RESTARTED_AT;

/// Field manager of these changes.
const FIELD_MANAGER: &str = "tatara-rollout";

/// Pauses it, or lets it go on.
pub(super) async fn pause(subject: &Subject, paused: bool) -> Result<(), Error> {
    let of = subject.of.clone();
    if subject.deployment.spec.paused == paused {
        let state = if paused { "paused" } else { "not paused" };
        return Err(Error::Already { of, state });
    }
    write(subject, json!({ "spec": { "paused": paused } })).await?;
    if paused {
        return say(&format!("{of}: paused"));
    }
    match paused_by_annotation(&subject.deployment) {
        Some(why) => say(&format!("{of}: resumed, but {why}")),
        None => say(&format!("{of}: resumed")),
    }
}

/// Asks for other Machines of the same template.
pub(super) async fn restart(subject: &Subject) -> Result<(), Error> {
    if subject.deployment.spec.paused {
        return Err(Error::Paused {
            of: subject.of.clone(),
        });
    }
    if let Some(why) = paused_by_annotation(&subject.deployment) {
        return Err(Error::Held {
            of: subject.of.clone(),
            why,
        });
    }
    let at = format!("{:.0}", clock::now());
    let annotations = json!({ (ANNOTATION_RESTARTED_AT): at });
    let change = json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } });
    write(subject, change).await?;
    let how = match subject.deployment.spec.strategy.type_ {
        StrategyType::OnDelete => "each of its Machines is replaced when you delete it (OnDelete)",
        StrategyType::RollingUpdate => "its Machines are replaced",
        StrategyType::InPlace => {
            "a restart replaces Machines, and strategy InPlace does not: it waits until spec.strategy.type is RollingUpdate"
        }
    };
    say(&format!("{}: {how}; {}", subject.of, follow(&subject.of)))
}

/// The command that follows what was changed.
pub(super) fn follow(of: &Name) -> String {
    format!(
        "follow it: tatara rollout status {} -n {}",
        of.name, of.namespace
    )
}

async fn write(subject: &Subject, change: Value) -> Result<(), Error> {
    patch(subject, change, false).await.map(drop)
}

/// What the API server makes of a change, without one if `dry_run`.
pub(super) async fn patch(
    subject: &Subject,
    change: Value,
    dry_run: bool,
) -> Result<MachineDeployment, Error> {
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        dry_run,
        ..PatchParams::default()
    };
    let of = subject.of.clone();
    let patch = Patch::Merge(change);
    let written = subject.api().patch(&of.name, &parameters, &patch).await;
    written.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 409 => Error::Conflict { of },
        kube::Error::Api(status) if status.code == 403 => Error::Forbidden {
            said: status.message.clone(),
            of,
        },
        kube::Error::Api(status) => Error::Refused {
            said: status.message.clone(),
            of,
        },
        error => subject.caller.explain::<MachineDeployment>(error).into(),
    })
}
