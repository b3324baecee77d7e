//! Changes of a MachineDeployment: pause, restart, undo.

use kube::ResourceExt;
use kube::api::PostParams;

use super::history::{revision, sets};
use super::{Error, Name, Subject};
use crate::api::names::ANNOTATION_RESTARTED_AT;
use crate::api::{MachineDeployment, MachineSet};
use crate::clock;
use crate::core::kubeadm::KubernetesVersion;
use crate::core::machine_deployment::revision::Revision;

/// Field manager of these changes.
const FIELD_MANAGER: &str = "tatara-rollout";

/// Pauses it, or lets it go on.
pub(super) async fn pause(subject: &Subject, paused: bool) -> Result<(), Error> {
    let of = subject.of.clone();
    if subject.deployment.spec.paused == paused {
        let state = if paused { "paused" } else { "not paused" };
        return Err(Error::Already { of, state });
    }
    let mut deployment = subject.deployment.clone();
    deployment.spec.paused = paused;
    write(subject, deployment).await?;
    println!("{of}: {}", if paused { "paused" } else { "resumed" });
    Ok(())
}

/// Asks for other Machines of the same template.
pub(super) async fn restart(subject: &Subject) -> Result<(), Error> {
    must_go_on(subject)?;
    let mut deployment = subject.deployment.clone();
    let annotations = &mut deployment.spec.template.metadata.annotations;
    annotations.insert(
        ANNOTATION_RESTARTED_AT.into(),
        format!("{:.0}", clock::now()),
    );
    write(subject, deployment).await?;
    println!(
        "{}: its Machines are replaced; follow it: {}",
        subject.of,
        follow(&subject.of)
    );
    Ok(())
}

/// Goes back to an earlier template.
pub(super) async fn undo(subject: &Subject, to: Option<i64>) -> Result<(), Error> {
    must_go_on(subject)?;
    let sets = sets(subject).await?;
    let set = target(&subject.of, &sets, to)?;
    let (deployment, number) = (with_template_of(subject, set)?, revision(set));
    write(subject, deployment).await?;
    println!(
        "{}: goes back to the template of revision {number}; follow it: {}",
        subject.of,
        follow(&subject.of)
    );
    Ok(())
}

fn follow(of: &Name) -> String {
    format!("tatara rollout status {} -n {}", of.name, of.namespace)
}

fn must_go_on(subject: &Subject) -> Result<(), Error> {
    if subject.deployment.spec.paused {
        return Err(Error::Paused {
            of: subject.of.clone(),
        });
    }
    Ok(())
}

/// The set of a revision; without one, of the one before the newest.
fn target<'a>(of: &Name, sets: &'a [MachineSet], to: Option<i64>) -> Result<&'a MachineSet, Error> {
    let found = match to {
        Some(to) => sets.iter().find(|set| revision(set) == to),
        None => sets.iter().rev().nth(1),
    };
    found.ok_or_else(|| Error::NoRevision {
        of: of.clone(),
        which: to.map_or_else(
            || "revision before the present one".into(),
            |to| format!("revision {to}"),
        ),
    })
}

/// The deployment with what of a set's template needs other Machines. The rest, as labels, is not of a revision.
fn with_template_of(subject: &Subject, set: &MachineSet) -> Result<MachineDeployment, Error> {
    let mut deployment = subject.deployment.clone();
    let old = &set.spec.template;
    let template = &mut deployment.spec.template;
    let version =
        |text: Option<&String>| text.and_then(|text| text.parse::<KubernetesVersion>().ok());
    let present = template.spec.versions.as_ref();
    let present = present.and_then(|versions| versions.control_plane.as_ref());
    let before = old.spec.versions.as_ref();
    let before = before.and_then(|versions| versions.control_plane.as_ref());
    if let (Some(is), Some(was)) = (version(present), version(before))
        && was < is
    {
        return Err(Error::Downgrade {
            of: subject.of.clone(),
            revision: revision(set),
            old: was.to_string(),
            new: is.to_string(),
        });
    }
    template.spec.versions.clone_from(&old.spec.versions);
    // where a MachineClass was named, the set has what that said then
    template
        .spec
        .provider_spec
        .clone_from(&old.spec.provider_spec);
    let restarted = old.metadata.annotations.get(ANNOTATION_RESTARTED_AT);
    let annotations = &mut template.metadata.annotations;
    match restarted {
        Some(at) => annotations.insert(ANNOTATION_RESTARTED_AT.into(), at.clone()),
        None => annotations.remove(ANNOTATION_RESTARTED_AT),
    };
    debug_assert_eq!(Revision::of_set(template), Revision::of_set(old));
    Ok(deployment)
}

/// Writes it, if nobody changed it meanwhile.
async fn write(subject: &Subject, deployment: MachineDeployment) -> Result<(), Error> {
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PostParams::default()
    };
    let name = deployment.name_any();
    let written = subject.api().replace(&name, &parameters, &deployment).await;
    written.map(drop).map_err(|error| match error {
        kube::Error::Api(status) => Error::Refused {
            of: subject.of.clone(),
            said: match status.code {
                409 => "it was changed meanwhile; try again".into(),
                _ => status.message.clone(),
            },
        },
        error => subject.caller.explain::<MachineDeployment>(error).into(),
    })
}
