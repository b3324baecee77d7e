//! A Machine that has a Node: keep the Node according to the Machine's spec, and report its health.

use crate::Why;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Lookup, MOMENT, Observed, Placement};
use super::super::own_node;
use super::{Action, Plan, correct, leaving, update};
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::kubeadm::{self, KubernetesVersion};
use crate::node_change::NodeChange;
use crate::proof::TurnIsOver;
use crate::settings::{self, Rollout};
use crate::{Next, NodeView};

/// Keeps the Node according to the Machine's spec.
pub fn plan(observed: &Observed, node: &NodeView) -> Plan {
    let mut plan = Plan::default();
    let cluster = observed.cluster.as_ref();
    if let Some(over) = cluster.and_then(|cluster| turn_is_over(observed, cluster)) {
        plan.actions.push(Action::ReturnTurn(over));
    }
    if observed.has_token {
        plan.actions.push(Action::RemoveToken);
    }
    if differs(&wanted(observed), node) {
        plan.actions.push(Action::UpdateNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    plan.findings.push(Finding::yes(
        ConditionType::InfrastructureReady,
        Reason::HostClaimed,
        format!("runs as Node {}", node.name),
    ));
    plan.findings.push(Finding::yes(
        ConditionType::BootstrapReady,
        Reason::Bootstrapped,
        "",
    ));
    plan.findings
        .push(with_others(observed, with_host(observed, health(node))));
    plan.findings.push(up_to_date(observed, node));
    plan
}

/// Why its turn is over: init is recorded, or its etcd member votes.
fn turn_is_over(observed: &Observed, cluster: &ObservedCluster) -> Option<TurnIsOver> {
    cluster.initialized_by.as_ref()?;
    let is_own = |turn: &&Turn| turn.machine == observed.uid();
    let turn = cluster
        .turn
        .iter()
        .chain(&cluster.other_turn)
        .find(is_own)?;
    match turn.action {
        TurnAction::Init => return Some(TurnIsOver::Recorded),
        // that one ends with the update
        TurnAction::Upgrade => return None,
        TurnAction::Join | TurnAction::Remove => (),
    }
    observed.member_votes()
}

/// A Machine whose settings, or those of its Cluster, cannot be used. A running node is left as it is and
/// judged by its Node; nothing is started before the problem is resolved.
pub fn beside(observed: &Observed, problem: Finding) -> Plan {
    let runs = matches!(&observed.placement, Placement::Held(held) if !held.releasing);
    let goes = observed.cluster.as_ref().is_some_and(|c| c.deleting);
    let mut plan = match &observed.node {
        _ if goes => return Plan::waiting(problem),
        Lookup::Known(Some(node)) if runs => plan(observed, node),
        Lookup::Unknown(why) if runs && observed.had_node() => Plan::waiting(Finding::unknown(
            ConditionType::NodeHealthy,
            unknown(observed, Reason::NodeUnknown),
            why.clone(),
        )),
        Lookup::NotYet(_) => {
            return Plan {
                hands_off: true,
                next: Next::After(MOMENT),
                ..Plan::default()
            };
        }
        _ => return Plan::waiting(problem),
    };
    plan.actions.clear();
    plan.findings
        .retain(|finding| finding.condition != ConditionType::UpToDate);
    update::beside(observed, &mut plan, &problem);
    plan.findings.push(Finding {
        condition: ConditionType::UpToDate,
        ..problem
    });
    plan
}

/// The desired labels, annotations and taints of the Node. Taints are additive: others stay.
pub fn wanted(observed: &Observed) -> NodeChange {
    let machine = &observed.machine;
    let mut annotations = machine.spec.metadata.annotations.clone();
    annotations.insert(
        crate::api::names::ANNOTATION_MACHINE.into(),
        format!("{}/{}", observed.marker.namespace, observed.marker.machine),
    );
    let own = NodeChange {
        labels: set(machine.spec.metadata.labels.clone()),
        annotations: set(annotations),
        taints: machine.spec.taints.clone(),
        ..NodeChange::default()
    };
    match kubeadm_marks(observed) {
        Some(marks) => with(own, marks),
        None => own,
    }
}

/// kubeadm's marks of a control plane, where its Node is another one than the Machine has recorded: it was deleted by hand, and a
/// kubelet registers it without them. On the recorded one they are the user's to change.
fn kubeadm_marks(observed: &Observed) -> Option<NodeChange> {
    let Lookup::Known(Some(node)) = &observed.node else {
        return None;
    };
    let status = observed.machine.status.as_ref()?;
    let recorded = status.node_ref.as_ref()?.uid.as_ref()?;
    if *recorded == node.uid || observed.is_deleting() || !leaving::is_asked(observed) {
        return None;
    }
    let spec = observed.cluster.as_ref()?.spec.as_ref().ok()?;
    let labels = kubeadm::CONTROL_PLANE_LABELS.map(|label| (label.to_owned(), String::new()));
    Some(NodeChange {
        labels: set(labels.into()),
        taints: kubeadm::control_plane_taints(spec, observed.is_initializer()),
        ..NodeChange::default()
    })
}

/// Whether its Node is not the recorded one, and still lacks kubeadm's marks.
pub fn lacks_marks(observed: &Observed, node: &NodeView) -> bool {
    kubeadm_marks(observed).is_some() && differs(&wanted(observed), node)
}

/// Both; what the first says counts.
fn with(mut first: NodeChange, second: NodeChange) -> NodeChange {
    for (label, value) in second.labels {
        first.labels.entry(label).or_insert(value);
    }
    for taint in second.taints {
        let is_same = |own: &Taint| own.key == taint.key && own.effect == taint.effect;
        if !first.taints.iter().any(is_same) {
            first.taints.push(taint);
        }
    }
    first
}

fn differs(wanted: &NodeChange, node: &NodeView) -> bool {
    let lacks = |wanted: &BTreeMap<String, Option<String>>, has: &BTreeMap<String, String>| {
        wanted
            .iter()
            .any(|(key, value)| has.get(key) != value.as_ref())
    };
    let tainted = |taint: &Taint| {
        node.taints.iter().any(|has| {
            has.key == taint.key && has.effect == taint.effect && has.value == taint.value
        })
    };
    lacks(&wanted.labels, &node.labels)
        || lacks(&wanted.annotations, &node.annotations)
        || !wanted.taints.iter().all(tainted)
}

fn set(map: BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    map.into_iter()
        .map(|(key, value)| (key, Some(value)))
        .collect()
}

fn health(node: &NodeView) -> Finding {
    match node.ready {
        Some(true) => Finding::yes(
            ConditionType::NodeHealthy,
            Reason::NodeReady,
            format!("Node {} is Ready", node.name),
        ),
        Some(false) => Finding::no(
            ConditionType::NodeHealthy,
            Reason::NodeNotReady,
            format!("Node {}: {}", node.name, node.ready_message),
        ),
        None if node.ready_reason.is_empty() => Finding::unknown(
            ConditionType::NodeHealthy,
            Reason::NodeNotReady,
            format!("Node {}: its kubelet has not reported yet", node.name),
        ),
        None => Finding::unknown(
            ConditionType::NodeHealthy,
            Reason::NodeUnknown,
            format!("Node {}: {}", node.name, node.ready_message),
        ),
    }
}

/// Of a Node that is not Ready also what is wrong with its host: the kubelet cannot say that.
fn with_host(observed: &Observed, mut finding: Finding) -> Finding {
    if let Placement::Held(held) = &observed.placement
        && let Some((reason, said)) = held.why.as_ref().filter(|_| !held.releasing)
        && finding.status != Status::True
    {
        let node = finding.message();
        let node = node.trim_end_matches('.');
        let mut message = format!("{node}. Host {}: {said}", held.name);
        let is_silent = [Reason::SshUnreachable, Reason::SshDisconnected];
        // an update that was begun says it itself
        if is_silent.iter().any(|silent| reason == silent) && !update::is_begun(observed) {
            let lost = update::if_lost(observed);
            message.push_str(". Power it on. ");
            message.push_str(&lost);
        }
        finding.reword(message);
    }
    finding
}

/// Of a Node beside which others have the provider ID, also that: the Machine stays what its own Node is.
fn with_others(observed: &Observed, mut finding: Finding) -> Finding {
    if observed.contested.is_empty() {
        return finding;
    }
    if finding.status == Status::True {
        finding.why = Why::new(Reason::ProviderIDContested, own_node::contested(observed));
    } else {
        let own = finding.message();
        let own = own.trim_end_matches('.');
        finding.reword(format!("{own}. {}", own_node::contested(observed)));
    }
    finding
}

/// The reason of what waits for a Node that is unknown.
pub(super) fn unknown(observed: &Observed, otherwise: Reason) -> Reason {
    if observed.contested.is_empty() {
        otherwise
    } else {
        Reason::ProviderIDContested
    }
}

/// Its Node existed, and does not exist any more.
pub fn gone(observed: &Observed) -> Finding {
    let status = observed.machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref());
    let node = node.and_then(|node| node.name.as_deref()).unwrap_or("NODE");
    let marker = &observed.marker;
    // a control plane is not made again
    let end = if observed.acts_as_control_plane() {
        String::new()
    } else {
        format!(
            ". If the host has no kubelet any more: kubectl -n {} delete machine {}",
            marker.namespace, marker.machine
        )
    };
    let message = format!(
        "its Node {node} does not exist any more: it was deleted by hand, or this Machine was restored from a backup. A kubelet registers its Node only when it starts; on the host: systemctl restart kubelet{end}"
    );
    Finding::no(ConditionType::NodeHealthy, Reason::NodeGone, message)
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
        let remedy = format!("set them back: kubectl -n {namespace} edit cluster {name}{or}");
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
    format!("; or replace the Machine{unless}: kubectl -n {namespace} delete machine {name}")
}

/// Other versions run than the spec wants, and that is left: an edit of what is prepared over SSH is carried out.
fn others_run(observed: &Observed, node: &NodeView) -> Option<String> {
    let machine = observed.machine.as_ref();
    let wanted = machine.versions().map_or("", |v| v.kubelet.as_str());
    let runs = &node.kubelet_version;
    let mut differences = update::versions(observed);
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

fn up_to_date(observed: &Observed, node: &NodeView) -> Finding {
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
