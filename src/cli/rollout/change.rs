//! Changes of a MachineDeployment: pause, restart, undo. Each writes only the fields that it is about.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::history::{revision, revision_of, sets};
use super::{Error, Name, Subject, paused_by_annotation, say};
use crate::api::machine_deployment::StrategyType;
use crate::api::names::ANNOTATION_RESTARTED_AT;
use crate::api::{MachineDeployment, MachineSet};
use crate::clock;
use crate::core::kubeadm::KubernetesVersion;
use crate::core::machine_deployment::revision::Revision;
use crate::engine::patch::replacement;

/// Field manager of these changes.
const FIELD_MANAGER: &str = "tatara-rollout";
/// How often a change is tried while others write to the object.
const ATTEMPTS: usize = 5;

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

/// Goes back to an earlier template. Also while it is paused: nothing rolls then. While others write to the object, it tries
/// again, unless they changed the template that was to be taken back.
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
    let set = target(&subject.of, &sets, present.as_ref(), to)?;
    must_not_go_back(&subject.of, &sets, set)?;
    let wanted = revision_of(set);
    let keeps_spec = present
        .as_ref()
        .is_some_and(|present| present.has_provider_spec_of(&wanted));
    write(subject, change(&subject.deployment, set, keeps_spec)).await?;
    let differences = present.map(|present| present.differences(&wanted));
    let what = differences.map(|fields| format!(" ({})", fields.join(", ")));
    let mut text = format!(
        "{}: goes back to the template of revision {}{}; {}",
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

fn follow(of: &Name) -> String {
    format!(
        "follow it: tatara rollout status {} -n {}",
        of.name, of.namespace
    )
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

/// The set to go back to: that of the number, or else the newest whose template is another one than the present and can be run.
/// The present template may have no set, if nothing can be made of it.
fn target<'a>(
    of: &Name,
    sets: &'a [MachineSet],
    present: Option<&Revision>,
    to: Option<i64>,
) -> Result<&'a MachineSet, Error> {
    let differs =
        |set: &&MachineSet| present.is_none_or(|present| !revision_of(set).repeats(present));
    let found = if let Some(to) = to {
        sets.iter().find(|set| revision(set) == to)
    } else {
        let others = || sets.iter().rev().filter(differs);
        let mut may_run = others().filter(|set| must_not_go_back(of, sets, set).is_ok());
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

/// A control plane that ran a version cannot run an older one.
fn must_not_go_back(of: &Name, sets: &[MachineSet], set: &MachineSet) -> Result<(), Error> {
    let version = |set: &MachineSet| {
        let versions = set.spec.template.spec.versions.as_ref()?;
        versions
            .control_plane
            .as_ref()?
            .parse::<KubernetesVersion>()
            .ok()
    };
    // one whose Machines never came up ran nothing
    let ran = sets.iter().filter(|set| {
        let status = set.status.as_ref();
        status.is_some_and(|status| status.available_replicas > 0)
    });
    let ran = ran.filter_map(version).max();
    if let (Some(ran), Some(old)) = (ran, version(set))
        && old < ran
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

async fn write(subject: &Subject, change: Value) -> Result<(), Error> {
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let of = subject.of.clone();
    let patch = Patch::Merge(change);
    let written = subject.api().patch(&of.name, &parameters, &patch).await;
    written.map(drop).map_err(|error| match error {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(number: i64, kubelet: &str, restarted: Option<&str>) -> MachineSet {
        let annotations = json!({
            "machinedeployment.clusters.k8s.io/revision": number.to_string(),
            "tatara.dev/restarted-at": restarted,
        });
        let mut value = json!({
            "metadata": { "name": format!("md-{number}"), "annotations": annotations },
            "spec": { "selector": {}, "template": { "spec": {
                "versions": { "kubelet": kubelet }, "providerSpec": { "value": { "a": 1, "b": 2 } } } } },
        });
        if restarted.is_none() {
            value["metadata"]["annotations"]
                .as_object_mut()
                .expect("annotations")
                .remove("tatara.dev/restarted-at");
        }
        serde_json::from_value(value).expect("a MachineSet")
    }

    #[test]
    fn it_goes_back_to_the_newest_other_template() {
        let of = Name {
            namespace: "n".into(),
            name: "md".into(),
        };
        let sets = [
            set(1, "v1.35.4", None),
            set(2, "v1.36.3", None),
            set(3, "v1.36.3", Some("t")),
        ];
        let unusable = set(9, "v1.39.0", None);
        let goes_to = |present: Option<&MachineSet>, to: Option<i64>| {
            let present = present.map(revision_of);
            target(&of, &sets, present.as_ref(), to).map(revision).ok()
        };
        for (case, present, to, expected) in [
            ("restarted since", Some(&sets[2]), None, Some(1)),
            ("as before", Some(&sets[1]), None, Some(1)),
            ("nothing can be made of it", Some(&unusable), None, Some(3)),
            ("its class is missing", None, None, Some(3)),
            ("the first", Some(&sets[0]), None, Some(3)),
            ("a number", Some(&sets[2]), Some(2), Some(2)),
            ("no such number", Some(&sets[2]), Some(7), None),
        ] {
            assert_eq!(goes_to(present, to), expected, "{case}");
        }
    }

    #[test]
    fn a_control_plane_goes_back_to_no_version_that_is_older_than_one_that_ran() {
        let of = Name {
            namespace: "n".into(),
            name: "md".into(),
        };
        // of each revision its version, if it has control planes, and how many of them are available
        let sets = |versions: &[(Option<&str>, i32)]| -> Vec<MachineSet> {
            let numbered = (1..).zip(versions);
            let made = numbered.map(|(number, (version, available))| {
                let mut set = set(number, "v1.35.0", None);
                let versions = set.spec.template.spec.versions.get_or_insert_default();
                versions.control_plane = version.map(str::to_owned);
                set.status.get_or_insert_default().available_replicas = *available;
                set
            });
            made.collect()
        };
        // as `undo` does: the revision that it goes to, or why it does not
        let undone = |sets: &[MachineSet], to: Option<i64>| {
            let present = sets.last().map(revision_of);
            let set = target(&of, sets, present.as_ref(), to)?;
            must_not_go_back(&of, sets, set).map(|()| revision(set))
        };
        let (older, newer, patch) = (Some("v1.35.4"), Some("v1.36.3"), Some("v1.36.2"));
        for (case, versions, to, expected) in [
            ("workers", vec![(None, 1), (None, 2)], Some(1), Ok(1)),
            (
                "it runs",
                vec![(older, 0), (newer, 3)],
                Some(1),
                Err("v1.35.4"),
            ),
            (
                "the newest other",
                vec![(older, 0), (newer, 3)],
                None,
                Err("v1.35.4"),
            ),
            (
                "in mid-roll",
                vec![(older, 2), (newer, 1)],
                None,
                Err("v1.35.4"),
            ),
            (
                "a patch version",
                vec![(patch, 0), (newer, 3)],
                None,
                Err("v1.36.2"),
            ),
            (
                "it never came up",
                vec![(older, 3), (newer, 0)],
                None,
                Ok(1),
            ),
            (
                "the same version",
                vec![(newer, 0), (newer, 3)],
                Some(1),
                Ok(1),
            ),
            (
                "a newer one that never came up",
                vec![(newer, 0), (older, 3)],
                None,
                Ok(1),
            ),
            // the last revision that may run, not the last one
            (
                "past one that may not",
                vec![(newer, 3), (older, 0), (Some("v1.37.0"), 0)],
                None,
                Ok(1),
            ),
        ] {
            let undone = match undone(&sets(&versions), to) {
                Ok(revision) => Ok(revision),
                Err(Error::Downgrade { old, .. }) => Err(old),
                Err(other) => panic!("{case}: {other}"),
            };
            assert_eq!(undone, expected.map_err(str::to_owned), "{case}");
        }
        let sets = sets(&[(older, 0), (newer, 3)]);
        let refused = must_not_go_back(&of, &sets, &sets[0]).expect_err("a downgrade");
        let said = "revision 1 of MachineDeployment n/md has versions.controlPlane v1.35.4, and a later one had v1.36.3";
        assert!(refused.to_string().starts_with(said), "{refused}");
    }

    #[test]
    fn only_what_is_of_a_revision_is_written_and_what_it_did_not_have_is_removed() {
        let value = json!({
            "metadata": { "name": "md", "resourceVersion": "7" },
            "spec": { "selector": {}, "template": {
                "metadata": { "labels": { "x": "y" }, "annotations": { "tatara.dev/restarted-at": "t" } },
                "spec": { "versions": { "kubelet": "v1.36.3" }, "providerSpec": { "value": { "a": 1, "c": 3 } } } } },
        });
        let deployment: MachineDeployment = serde_json::from_value(value).expect("it");
        let spec = json!({ "value": { "b": 2, "c": null } });
        let expected = |spec: Value| {
            json!({
                "metadata": { "resourceVersion": "7" },
                "spec": { "template": {
                    "metadata": { "annotations": { "tatara.dev/restarted-at": null } }, "spec": spec } },
            })
        };
        let old = set(1, "v1.35.4", None);
        let versions = json!({ "kubelet": "v1.35.4" });
        assert_eq!(
            change(&deployment, &old, false),
            expected(json!({ "versions": versions, "providerSpec": spec }))
        );
        assert_eq!(
            change(&deployment, &old, true),
            expected(json!({ "versions": versions }))
        );
    }
}
