//! Whether a node runs the versions and settings that are wanted, and why not.

use super::super::observed::Observed;
use super::{correct, update};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::kubeadm::KubernetesVersion;
use crate::remedy;
use crate::settings::{self, Rollout};
use crate::{NodeView, Why};

/// Condition `UpToDate` of a Machine that has this Node, where no update is under way.
pub(super) fn finding(observed: &Observed, node: &NodeView) -> Finding {
    let machine = observed.machine.as_ref();
    let runs = &node.kubelet_version;
    if let Some(message) = others_run(observed, node) {
        return Finding::no(
            ConditionType::UpToDate,
            Reason::KubeletVersionDiffers,
            message,
        );
    }
    if let Some(why) = settings_differ(observed) {
        return why.finding(ConditionType::UpToDate);
    }
    Finding::yes(
        ConditionType::UpToDate,
        Reason::VersionsEqual,
        match machine.versions().and_then(|v| v.control_plane.as_deref()) {
            Some(control_plane) if !control_plane.is_empty() => {
                format!("control plane {control_plane}, kubelet {runs}")
            }
            _ => format!("kubelet {runs}"),
        },
    )
}

/// Until kubeadm's ConfigMaps have the settings of a Cluster, no node follows.
fn waits_for_record(cluster: &str) -> String {
    format!(
        "waiting until kubeadm's ConfigMaps have the settings of Cluster {cluster}, and its control plane one version; if that does not proceed, its conditions SettingsApplied and ConfigurationValid say why"
    )
}

/// In what its settings differ from those of its Cluster, and stay so until somebody acts.
fn settings_differ(observed: &Observed) -> Option<Why> {
    let cluster = observed.cluster.as_ref()?;
    let behind = settings::behind(&observed.machine, cluster.spec.as_ref().ok()?);
    let differences = behind.sentences().join("; ");
    let (namespace, name) = (&observed.marker.namespace, &cluster.name);
    if cluster.settings.rollout == Rollout::Waits && !behind.sentences().is_empty() {
        let message = format!("{differences}; {}", waits_for_record(name));
        return Some(Why::new(Reason::Updating, message));
    }
    let since = "the Cluster's settings changed after this node was created with them";
    if behind.can_follow() {
        return match cluster.settings.rollout {
            Rollout::Goes | Rollout::Waits => Some(Why::new(Reason::Updating, differences)),
            Rollout::Left => {
                let message = settings::left(&format!("{since}: {differences}"), namespace, name);
                Some(Why::new(Reason::SettingsDiffer, message))
            }
            Rollout::Unknown => {
                let cause = format!(
                    "{since}: {differences}. A running node is not changed, because Tatara did not create the control plane of Cluster {name}:"
                );
                Some(Why::new(Reason::SettingsDiffer, cause).remedied("set them back"))
            }
        };
    }
    (!behind.kept.is_empty()).then(|| {
        let cause = format!("{since}: {differences}. These cannot change on a running node:");
        let or = replaced(observed);
        let edit = remedy::cluster::edit(namespace, name);
        let remedy = format!("set them back: {edit}{or}");
        Why::new(Reason::NeedsReplacement, cause).remedied(remedy)
    })
}

/// The other way, which ends a cluster that has no other control plane.
fn replaced(observed: &Observed) -> String {
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.machine);
    let unless = if observed.acts_as_control_plane() {
        ", unless no other control plane is healthy"
    } else {
        ""
    };
    let delete = remedy::machine::delete(namespace, name);
    format!("; or replace the Machine{unless}: {delete}")
}

/// Other versions run than the spec wants, and that is left: an edit of what is prepared over SSH
/// is carried out.
fn others_run(observed: &Observed, node: &NodeView) -> Option<String> {
    let machine = observed.machine.as_ref();
    let wanted = machine.versions().map_or("", |v| v.kubelet.as_str());
    let runs = &node.kubelet_version;
    let mut differences = update::differences(observed);
    // what is no version of Kubernetes differs too
    let version = |text: &str| text.parse::<KubernetesVersion>().ok();
    if differences.is_empty() && version(wanted) != version(runs) {
        differences.push(format!("kubelet {runs}, wanted {wanted}"));
    }
    if differences.is_empty() {
        return None;
    }
    let own = update::runs_of_control_plane(observed);
    let own = own.map(|version| version.to_string());
    let control_plane = own.as_deref().or_else(|| {
        let versions = machine.versions()?.control_plane.as_deref();
        versions.filter(|version| !version.is_empty())
    });
    let set = correct::versions(machine, runs, control_plane);
    // none of an older version joins in its place
    let or = if update::is_other_control_plane(observed) {
        String::new()
    } else {
        replaced(observed)
    };
    let differences = differences.join("; ");
    Some(format!(
        "{differences}. The versions of the spec were not edited since, so this is left: somebody replaced them on the host, or the Machine was restored from a backup of before an update. {set}, then to what you want{or}"
    ))
}
