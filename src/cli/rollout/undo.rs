//! The way back to an earlier template, checked before anything is written: by the API server, and
//! by what runs.

use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::change::{follow, patch};
use super::history::{revision, revision_of, sets};
use super::{Error, Name, Subject, say};
use crate::engine::patch::replacement;
use tatara_core::api::machine_deployment::StrategyType;
use tatara_core::api::names::{ANNOTATION_RESTARTED_AT, LABEL_CLUSTER};
use tatara_core::api::{Cluster, Machine, MachineDeployment, MachineProviderSpec, MachineSet};
use tatara_core::kubeadm::{KubernetesVersion, version};
use tatara_core::machine_deployment::revision::Revision;
use tatara_core::machine_deployment::{has_control_plane, runs};

/// How often a change is tried while others write to the object.
const ATTEMPTS: usize = 5;

/// Goes back to an earlier template. Also while it is paused: nothing rolls then. While others
/// write to the object, it tries again, unless they changed the template that was to be taken back.
pub(super) async fn undo(mut subject: Subject, to: Option<i64>) -> Result<(), Error> {
    let mut attempt = 1;
    loop {
        let conflict = match try_undo(&subject, to).await {
            Err(conflict @ Error::Conflict { .. }) if attempt < ATTEMPTS => conflict,
            result => return result,
        };
        let before = subject.deployment.spec.template.clone();
        subject = subject.again().await?;
        if subject.deployment.spec.template != before {
            return Err(conflict);
        }
        attempt += 1;
    }
}

async fn try_undo(subject: &Subject, to: Option<i64>) -> Result<(), Error> {
    let sets = sets(subject).await?;
    let present = subject.present().await?;
    let around = around(subject).await?;
    let ran = ran(&sets, &around.control_planes);
    let set = target(&subject.of, &sets, present.as_ref(), (to, ran.as_ref()))?;
    must_not_go_back(&subject.of, ran.as_ref(), set)?;
    let wanted = revision_of(set);
    let keeps_spec = present
        .as_ref()
        .is_some_and(|present| present.has_provider_spec_of(&wanted));
    let change = change(&subject.deployment, set, keeps_spec);
    let becomes = patch(subject, change.clone(), true).await?;
    if let Some(why) = refusal(&becomes, &wanted, &sets, &around) {
        return Err(Error::NotRunnable {
            of: subject.of.clone(),
            revision: revision(set),
            why,
        });
    }
    patch(subject, change, false).await?;
    let differences = present.map(|present| present.differences(&wanted));
    let what = differences.map(|fields| format!(" ({})", fields.join(", ")));
    let mut text = format!(
        "{}: goes back to the template of revision {}{}, which the API server accepts and nothing that runs forbids; {}",
        subject.of,
        revision(set),
        what.unwrap_or_default(),
        follow(&subject.of)
    );
    if !keeps_spec {
        text.push_str(&replaces_class(subject).unwrap_or_default());
    }
    say(&text)
}

/// A provider spec of its own has precedence over the class that is named.
fn replaces_class(subject: &Subject) -> Option<String> {
    let Name { namespace, name } = &subject.of;
    let spec = &subject.deployment.spec.template.spec.provider_spec;
    let class = spec.value_from.as_ref()?.machine_class.as_ref()?;
    Some(format!(
        ". Its template now has the provider spec that revision had, and no longer names MachineClass {}. To use the class again, apply your manifest, then: kubectl -n {namespace} patch machinedeployment {name} --type=json -p '[{{\"op\":\"remove\",\"path\":\"/spec/template/spec/providerSpec/value\"}}]'",
        class.name
    ))
}

/// The set to go back to: that of the number, or else the newest whose template is another one than
/// the present and can be run. The present template may have no set, if nothing can be made of it.
fn target<'a>(
    of: &Name,
    sets: &'a [MachineSet],
    present: Option<&Revision>,
    (to, ran): (Option<i64>, Option<&KubernetesVersion>),
) -> Result<&'a MachineSet, Error> {
    let differs =
        |set: &&MachineSet| present.is_none_or(|present| !revision_of(set).repeats(present));
    let found = if let Some(to) = to {
        sets.iter().find(|set| revision(set) == to)
    } else {
        let others = || sets.iter().rev().filter(differs);
        let mut may_run = others().filter(|set| must_not_go_back(of, ran, set).is_ok());
        may_run.next().or_else(|| others().next())
    };
    found.ok_or_else(|| Error::NoRevision {
        of: of.clone(),
        which: to.map_or_else(
            || "revision with another template than the present one".into(),
            |to| format!("revision {to}"),
        ),
    })
}

fn control_plane(set: &MachineSet) -> Option<KubernetesVersion> {
    let versions = set.spec.template.spec.versions.as_ref()?;
    versions.control_plane.as_ref()?.parse().ok()
}

/// The newest version that a control plane ran: of a revision whose Machines were available, or of
/// a Machine now. One that is updated in place is not available meanwhile.
fn ran(sets: &[MachineSet], control_planes: &[Machine]) -> Option<KubernetesVersion> {
    // a revision whose Machines never came up ran nothing
    let sets = sets.iter().filter(|set| {
        let status = set.status.as_ref();
        status.is_some_and(|status| status.available_replicas > 0)
    });
    sets.filter_map(control_plane)
        .chain(runs::highest(control_planes))
        .max()
}

/// A control plane that ran a version cannot run an older one.
fn must_not_go_back(
    of: &Name,
    ran: Option<&KubernetesVersion>,
    set: &MachineSet,
) -> Result<(), Error> {
    if let (Some(ran), Some(old)) = (ran, control_plane(set))
        && old < *ran
    {
        return Err(Error::Downgrade {
            of: of.clone(),
            revision: revision(set),
            old: old.to_string(),
            ran: ran.to_string(),
        });
    }
    Ok(())
}

/// What a template is run beside.
#[derive(Default)]
struct Around {
    cluster: Option<Cluster>,
    control_planes: Vec<Machine>,
}

async fn around(subject: &Subject) -> Result<Around, Error> {
    let labels = &subject.deployment.spec.template.metadata.labels;
    let own = subject.deployment.labels();
    let Some(name) = labels.get(LABEL_CLUSTER).or_else(|| own.get(LABEL_CLUSTER)) else {
        return Ok(Around::default());
    };
    let api: Api<Machine> = Api::namespaced(subject.caller.client.clone(), &subject.of.namespace);
    let of_cluster = ListParams::default().labels(&format!("{LABEL_CLUSTER}={name}"));
    let listed = api.list(&of_cluster).await;
    let listed = listed.map_err(|error| subject.caller.explain::<Machine>(error))?;
    let mut control_planes = listed.items;
    control_planes.retain(Machine::is_control_plane);
    Ok(Around {
        cluster: subject.caller.find::<Cluster>(name).await?,
        control_planes,
    })
}

/// Why nothing would come of a template that the API server accepts.
fn refusal(
    becomes: &MachineDeployment,
    wanted: &Revision,
    sets: &[MachineSet],
    around: &Around,
) -> Option<String> {
    let template = &becomes.spec.template;
    let versions = template.spec.versions.clone().unwrap_or_default();
    let block = "spec.template.spec.versions";
    let control_plane = versions.control_plane.as_deref();
    if let Err(error) = version::check_block(block, &versions.kubelet, control_plane) {
        return Some(error.to_string());
    }
    if let Some(value) = &template.spec.provider_spec.value
        && let Err(error) = MachineProviderSpec::decode(value)
    {
        return Some(format!("spec.template.{error}"));
    }
    if let Some(cluster) = &around.cluster {
        let error = if has_control_plane(template) {
            runs::forbidden(template, cluster, &around.control_planes)
        } else {
            let kubelet = versions.kubelet.parse().ok();
            let skew = kubelet.zip(runs::lowest(cluster));
            skew.and_then(|(kubelet, lowest)| version::check_kubelet(&kubelet, &lowest).err())
        };
        // what waits for the control plane goes on by itself
        if let Some(error) = error.filter(|error| !error.is_wait()) {
            return Some(error.to_string());
        }
    }
    if becomes.spec.strategy.type_ != StrategyType::InPlace {
        return None;
    }
    let mut used = sets.iter().filter(|set| {
        let status = set.status.as_ref();
        status.is_some_and(|status| status.replicas > 0)
    });
    let differs = used.find_map(|set| {
        let differs = revision_of(set).needs_replacement(wanted);
        (!differs.is_empty()).then_some(differs)
    })?;
    Some(format!(
        "{} changes, and strategy InPlace changes versions and node.software alone; set spec.strategy.type to RollingUpdate first, which replaces the Machines",
        differs.join(", ")
    ))
}

/// What of a template needs other Machines, as it was. The rest, as labels, is not of a revision.
fn change(deployment: &MachineDeployment, set: &MachineSet, keeps_spec: bool) -> Value {
    let (is, was) = (&deployment.spec.template.spec, &set.spec.template.spec);
    let mut spec = json!({ "versions": replacement(&json!(is.versions), &json!(was.versions)) });
    if !keeps_spec {
        spec["providerSpec"] = replacement(&json!(is.provider_spec), &json!(was.provider_spec));
    }
    let restarted = set.annotations().get(ANNOTATION_RESTARTED_AT);
    let annotations = json!({ (ANNOTATION_RESTARTED_AT): restarted });
    let template = json!({ "metadata": { "annotations": annotations }, "spec": spec });
    json!({
        "metadata": { "resourceVersion": deployment.metadata.resource_version },
        "spec": { "template": template },
    })
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
