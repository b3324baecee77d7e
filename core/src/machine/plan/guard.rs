//! What comes before the stage of a Machine, whichever that is: a checklist, of which the first
//! that applies counts.

use kube::ResourceExt;

use super::super::kind::PlaceKind;
use super::super::observed::{Lookup, MOMENT, Observed, Placement};
use super::deletion::deleting;
use super::lost_claim::give_back;
use super::stage::running;
use super::{Action, Plan, correct, hypervisor, release};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_PAUSED, LABEL_CLUSTER, provider_ids};
use crate::kubeadm::version;
use crate::node::Marker;
use crate::remedy;

/// The first of the checklist that applies: it waits for that, or does that first.
pub(super) fn first(observed: &Observed) -> Option<Plan> {
    paused(observed)
        .or_else(|| claimed_twice(observed))
        .or_else(|| contradictory(observed))
        .or_else(|| moved(observed))
        .or_else(|| hypervisor::moved(observed))
        .or_else(|| {
            if observed.is_deleting() {
                let is_ours = observed.is_adopted();
                // the latter: init was recorded on the CA Secret alone when the manager was stopped
                let first = || unclear(observed).or_else(|| release::unrecorded(observed));
                is_ours.then(first).flatten()
            } else {
                unusable(observed)
                    .or_else(|| not_adopted(observed))
                    .or_else(|| not_read_yet(observed))
            }
        })
}

fn paused(observed: &Observed) -> Option<Plan> {
    let object = observed.paused_by.as_ref()?;
    Some(Plan::waiting(Finding::yes(
        ConditionType::Paused,
        Reason::Paused,
        format!("nothing is done while {object} has the annotation {ANNOTATION_PAUSED}"),
    )))
}

/// Several Hosts have its claim: only their servers show which one is its own, and nothing is done
/// to any of them.
fn claimed_twice(observed: &Observed) -> Option<Plan> {
    let [_, _, ..] = observed.claims.as_slice() else {
        return None;
    };
    let message = format!(
        "Hosts {} all have spec.consumerRef of this Machine, for example because one was created from the YAML of another; nothing is done to any of them. Delete all but the one that it runs on; each Host says whether its server has the marker: {}",
        observed.claims.join(", "),
        remedy::host::all_messages(&observed.marker.namespace)
    );
    Some(Plan::stopped(observed, Reason::ClaimedTwice, message))
}

/// The records of its place contradict each other, so it is unknown what could prove anything about
/// it.
fn contradictory(observed: &Observed) -> Option<Plan> {
    let message = observed.kind().err()?;
    Some(Plan::stopped(observed, Reason::PlaceInDoubt, message))
}

/// The Host that has its claim is not the one that it chose: a claim that was moved by hand is not
/// followed.
fn moved(observed: &Observed) -> Option<Plan> {
    let (Placement::Held(held), Some(chosen)) = (&observed.placement, &observed.chosen) else {
        return None;
    };
    if chosen.host == held.name {
        return None;
    }
    let (bears, named) = (&held.name, &chosen.host);
    let other = match observed.machine.annotations().get(ANNOTATION_HOST) {
        Some(_) => format!("annotation {ANNOTATION_HOST} names Host {named}"),
        None => format!("the server of Host {named} has its marker"),
    };
    let Marker {
        namespace, machine, ..
    } = &observed.marker;
    let message = format!(
        "Host {bears} has the claim of this Machine, but {other}; nothing is done. Check which server has /var/lib/tatara/owner.json with uid {}. \
         If it is the server of {bears}: {}. \
         If it is the server of {named}: {}, and restore the claim of {named}: {}",
        observed.uid(),
        remedy::machine::set_host(namespace, machine, bears),
        remedy::host::delete_at_once(namespace, bears),
        give_back(observed, named)
    );
    Some(Plan::stopped(observed, Reason::ClaimMoved, message))
}

/// Which Cluster it is of, or whether it has a Node, is not known yet, as after a restart of ours:
/// so nothing is done that needs this.
fn unclear(observed: &Observed) -> Option<Plan> {
    let finding = match (&observed.whose, &observed.node) {
        (Some(why), _) => deleting(Reason::ClusterInDoubt, why.clone()),
        (None, Lookup::NotYet(why)) => deleting(Reason::WaitingForApi, why.clone()),
        _ => return None,
    };
    Some(Plan::waiting(finding))
}

/// A mistake, or a missing object, that a person must correct: a running node stays as it is.
fn unusable(observed: &Observed) -> Option<Plan> {
    problem(observed).map(|problem| running::beside(observed, problem))
}

/// A mistake or a missing object that a person must correct.
fn problem(observed: &Observed) -> Option<Finding> {
    let no = |reason, message: String| {
        Some(Finding::no(
            ConditionType::InfrastructureReady,
            reason,
            message,
        ))
    };
    let label = observed.machine.labels().get(LABEL_CLUSTER);
    let Some(cluster) = &observed.cluster else {
        return match label {
            None => no(Reason::ClusterLabelMissing, "metadata.labels has no cluster.k8s.io/cluster-name; set it to the name of a Cluster in this namespace".into()),
            Some(name) => no(Reason::ClusterMissing, format!("Cluster {name}, named by the label cluster.k8s.io/cluster-name, does not exist in this namespace; create it, or correct the label")),
        };
    };
    if let Err(problem) = &observed.spec {
        let message = match problem.reason {
            Reason::InvalidConfiguration => {
                format!("{problem}. {}", correct::remedy(&observed.machine))
            }
            _ => problem.message(),
        };
        return no(problem.reason, message);
    }
    if let Some(message) = strange_provider_id(observed) {
        return no(Reason::ProviderIDNotOwn, message);
    }
    if let Some(message) = other_provider(observed) {
        return no(Reason::InvalidConfiguration, message);
    }
    if let Err(problem) = &cluster.spec {
        return no(
            Reason::ClusterInvalid,
            format!("Cluster {}: {problem}", cluster.name),
        );
    }
    if let Some(refusal) = unsupported(observed) {
        return no(Reason::UnsupportedVersion, refusal);
    }
    (cluster.deleting).then(|| {
        Finding::no(
            ConditionType::InfrastructureReady,
            Reason::ClusterDeleting,
            format!("Cluster {} is being deleted", cluster.name),
        )
    })
}

/// Why `spec.providerID` cannot be this Machine's, if it is another's.
fn strange_provider_id(observed: &Observed) -> Option<String> {
    let id = observed.machine.spec.provider_id.as_ref()?;
    if provider_ids(observed.uid()).contains(id) {
        return None;
    }
    Some(format!(
        "spec.providerID is {id}, which does not belong to this Machine (uid {}), for example because it was copied from the YAML of another; nothing is done. Delete this Machine, and apply it again without spec.providerID",
        observed.uid()
    ))
}

/// Why its spec is not for the provider that it was created with, if that was edited.
fn other_provider(observed: &Observed) -> Option<String> {
    let (Ok(spec), Ok(Some(kind))) = (&observed.spec, observed.kind()) else {
        return None;
    };
    let (is, was) = (spec.provider(), kind.provider());
    if is == was {
        return None;
    }
    Some(format!(
        "spec.providerSpec is for provider {is}, but this Machine was created with provider {was}; its host or virtual machine is left alone. Set spec.providerSpec back, in the manager's name: {}",
        remedy::machine::edit_as_manager(&observed.marker.namespace, &observed.marker.machine)
    ))
}

/// Why the wanted versions cannot be run, if they cannot.
fn unsupported(observed: &Observed) -> Option<String> {
    let versions = observed.machine.versions();
    let kubelet = versions.map_or("", |versions| versions.kubelet.as_str());
    let control_plane = versions.and_then(|versions| versions.control_plane.as_deref());
    // as in 2019, the block may stand beside spec
    let block = match observed.machine.spec.versions {
        Some(_) => "spec.versions",
        None => "versions",
    };
    let refusal = version::check_block(block, kubelet, control_plane).err()?;
    Some(refusal.to_string())
}

/// Writes finalizer, resolved provider spec and place to a Machine, before anything else.
fn not_adopted(observed: &Observed) -> Option<Plan> {
    let machine = &observed.machine;
    let has_place = matches!(observed.placement, Placement::Held(_));
    let is_needed = !observed.is_adopted()
        || machine.spec.provider_spec.value.is_none()
        || (has_place && machine.spec.provider_id.is_none());
    is_needed.then(|| Plan {
        actions: vec![Action::Adopt {
            host: place(observed),
        }],
        ..Plan::default()
    })
}

/// The place that is written down with the adoption: what the Machine has, or is to have next.
fn place(observed: &Observed) -> Option<String> {
    let spec = observed.spec.as_ref();
    let is_late = spec.is_ok_and(|spec| PlaceKind::of_spec(spec).is_chosen_late());
    match &observed.placement {
        Placement::Held(held) => Some(held.name.clone()),
        Placement::None(Ok(host))
            if !is_late && observed.chosen.is_none() && !observed.is_begun() =>
        {
            Some(host.clone())
        }
        Placement::None(_) => None,
    }
}

/// Its Node was not read yet since the manager started, or for a moment. A restart of ours is no
/// news, nor an address that moves: the workload cluster's next answer wakes us.
fn not_read_yet(observed: &Observed) -> Option<Plan> {
    matches!(observed.node, Lookup::NotYet(_)).then(|| Plan {
        hands_off: true,
        next: Next::After(MOMENT),
        ..Plan::default()
    })
}
