//! The revisions of a MachineDeployment.

use kube::api::{Api, ListParams};
use kube::{Resource, ResourceExt};

use super::{Error, Subject, say};
use tatara_core::api::names::ANNOTATION_REVISION;
use tatara_core::api::{MachineDeployment, MachineSet};
use tatara_core::machine_deployment::revision::Revision;
use tatara_core::machine_set::Owner;

/// The sets of a MachineDeployment, by revision.
pub(super) async fn sets(subject: &Subject) -> Result<Vec<MachineSet>, Error> {
    let api: Api<MachineSet> =
        Api::namespaced(subject.caller.client.clone(), &subject.of.namespace);
    let listed = api.list(&ListParams::default()).await;
    let listed = listed.map_err(|error| subject.caller.explain::<MachineSet>(error))?;
    let uid = subject.deployment.uid().unwrap_or_default();
    let mut sets = listed.items;
    sets.retain(|set| Owner::of(set.meta(), &uid) == Owner::Ours && revision(set) > 0);
    sets.sort_by_key(revision);
    Ok(sets)
}

/// The revision of a set; 0 if it has none.
pub(super) fn revision(set: &MachineSet) -> i64 {
    let text = set.annotations().get(ANNOTATION_REVISION);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// What a set means.
pub(super) fn revision_of(set: &MachineSet) -> Revision {
    Revision::of_set(&set.spec.template, set.annotations())
}

/// Prints the revisions, the newest last.
pub(super) async fn print(subject: &Subject) -> Result<(), Error> {
    let sets = sets(subject).await?;
    say(&table(&subject.deployment, &sets))
}

fn table(deployment: &MachineDeployment, sets: &[MachineSet]) -> String {
    let mut rows = vec![["REVISION", "MACHINES", "KUBELET", "CHANGED"].map(str::to_owned)];
    let mut before: Option<Revision> = None;
    for set in sets {
        let is = revision_of(set);
        let changed = match &before {
            None => "-".to_owned(),
            Some(before) => before.differences(&is).join(", "),
        };
        let status = set.status.as_ref();
        let versions = set.spec.template.spec.versions.as_ref();
        rows.push([
            revision(set).to_string(),
            status.map_or(0, |status| status.replicas).to_string(),
            versions.map_or_else(|| "-".into(), |versions| versions.kubelet.clone()),
            changed,
        ]);
        before = Some(is);
    }
    if rows.len() == 1 {
        return format!(
            "MachineDeployment {} has no revision yet",
            deployment.name_any()
        );
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}  "));
        let last = &row[3];
        format!("{}{last}", cells.collect::<String>())
            .trim_end()
            .to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_revision_says_what_it_changed() {
        let set = |revision: i64,
                   kubelet: &str,
                   restarted: Option<&str>,
                   replicas: i32|
         -> MachineSet {
            let mut annotations = json!({ (ANNOTATION_REVISION): revision.to_string() });
            if let Some(at) = restarted {
                annotations["tatara.dev/restarted-at"] = at.into();
            }
            let value = json!({
                "metadata": {"name": format!("md-{revision}"), "annotations": annotations},
                "spec": {"selector": {}, "template": {
                    "spec": {"versions": {"kubelet": kubelet}, "providerSpec": {"value": {"a": 1}}}}},
                "status": {"replicas": replicas},
            });
            serde_json::from_value(value).expect("a MachineSet")
        };
        let deployment =
            json!({"metadata": {"name": "md"}, "spec": {"selector": {}, "template": {"spec": {}}}});
        let deployment: MachineDeployment = serde_json::from_value(deployment).expect("it");
        let sets = [
            set(1, "v1.35.4", None, 0),
            set(2, "v1.36.3", None, 0),
            set(3, "v1.36.3", Some("2027-01-15T08:00:00Z"), 12),
        ];
        let expected = [
            "REVISION  MACHINES  KUBELET  CHANGED",
            "1         0         v1.35.4  -",
            "2         0         v1.36.3  versions.kubelet 1.35.4 → 1.36.3",
            "3         12        v1.36.3  restart absent → 2027-01-15T08:00:00Z",
        ];
        assert_eq!(table(&deployment, &sets), expected.join("\n"));
        assert_eq!(
            table(&deployment, &[]),
            "MachineDeployment md has no revision yet"
        );
    }
}
