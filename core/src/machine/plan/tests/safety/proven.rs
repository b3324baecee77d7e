//! What an action needs to be true, said a second time and in another way.

use super::*;

/// The host answered in this pass, and its marker names the Machine.
pub(super) fn is_ours(case: &Case) -> bool {
    case.placement == "seen" && matches!(case.owner, "me" | "made")
}

/// The whole cluster goes, or is gone.
pub(super) fn cluster_goes(case: &Case) -> bool {
    case.cluster.is_none_or(|(deleting, ..)| deleting)
}

pub(super) fn may(case: &Case, action: &Action) -> bool {
    let has_no_claim = matches!(case.placement, "free" | "none" | "missing" | "lost");
    let is_held = !has_no_claim;
    let gave_up = case.limit.is_some_and(|limit| case.age >= limit);
    let (initialized_by, turn, certificates) = case
        .cluster
        .map_or((None, None, false), |(_, by, turn, certificates, _)| {
            (by, turn, certificates)
        });
    let node_is_settled =
        case.node != "unknown" || !case.had_node || cluster_goes(case) || case.excluded || gave_up;
    match action {
        Action::Adopt { .. } => !case.deleting,
        Action::Acquire(Acquire::Place { instead, .. }) => {
            let is_chosen = matches!(case.placement, "missing" | "lost");
            let may_move = never_started(case) && instead.is_some();
            !case.deleting
                && !is_held
                // of one that chose a Host no claim is on its way in these cases
                && (is_chosen || !case.claiming)
                && !is_begun(case)
                && (!is_chosen || may_move)
        }
        Action::TakeHost => {
            let is_nobodys = case.placement == "seen" && case.owner == "nobody";
            !case.deleting && is_nobodys && !is_begun(case)
        }
        Action::RunJob(JobKind::Prepare | JobKind::Join) | Action::AwaitRecord => {
            !case.deleting && is_ours(case)
        }
        // who has the turn goes on with it, whatever its spec says since
        Action::RunJob(JobKind::Init) => {
            !case.deleting
                && is_ours(case)
                && certificates
                && turn == Some(ME)
                && initialized_by.is_none()
                && case.owner != "made"
        }
        // the others are of virtual machines or updates, and these cases are about hosts of one
        // version
        Action::RunJob(
            JobKind::Reset
            | JobKind::Address
            | JobKind::Images
            | JobKind::Upgrade
            | JobKind::Kubelet
            | JobKind::Addons,
        )
        | Action::AwaitComponents
        | Action::EndAddons(_)
        | Action::RecordSettings { .. }
        | Action::Acquire(
            Acquire::Elsewhere
            | Acquire::Image
            | Acquire::Machine
            | Acquire::Record
            | Acquire::RemoveSeed
            | Acquire::Update,
        )
        | Action::Power(_)
        | Action::Release(Release::Later)
        | Action::DeleteLeftNode { .. }
        // nor are there hooks, Nodes that we cordoned, or an etcd
        | Action::AwaitHooks(_)
        | Action::UncordonNode { .. }
        | Action::GiveAddress
        | Action::RemoveMember(_)
        | Action::ReturnTurn(TurnIsOver::Member(_) | TurnIsOver::Vacant(_)) => false,
        Action::TakeTurn => {
            !case.deleting
                && is_ours(case)
                && case.control_plane
                && certificates
                && turn.is_none()
                && initialized_by.is_none()
        }
        Action::ReturnTurn(TurnIsOver::Recorded) => turn == Some(ME) && initialized_by.is_some(),
        Action::ReturnTurn(TurnIsOver::Proven(_)) => {
            case.deleting && turn == Some(ME) && is_proven(case)
        }
        Action::RecordInitialized => {
            let goes = case.deleting && cluster_goes(case);
            !goes && is_ours(case) && case.owner == "made" && initialized_by.is_none()
        }
        Action::UpdateNode { .. } | Action::RemoveToken => !case.deleting && case.node == "ready",
        Action::Drain { .. } | Action::AwaitVolumes { .. } => {
            case.deleting && case.node == "ready" && !cluster_goes(case)
        }
        Action::Release(Release::Now) => {
            let is_released = matches!(case.placement, "releasing" | "reset");
            case.deleting && is_held && !is_released && node_is_settled
        }
        Action::DeleteNode { .. } => {
            case.deleting && case.node == "ready" && is_proven(case) && !cluster_goes(case)
        }
        Action::RemoveFinalizer(_) => case.deleting && is_proven(case) && node_is_settled,
    }
}

/// kubeadm was begun, by what is recorded beside the host.
pub(super) fn is_begun(case: &Case) -> bool {
    let recorded = case
        .cluster
        .is_some_and(|(_, by, turn, ..)| by == Some(ME) || turn == Some(ME));
    case.had_node || case.node == "ready" || recorded
}

/// The host that was chosen, and whose claim is not there, has nothing of the Machine.
pub(super) fn never_started(case: &Case) -> bool {
    let is_nobodys = matches!(case.owner, "nobody" | "occupied" | "machine" | "management");
    case.placement == "lost" && is_nobodys && case.units.is_empty() && !is_begun(case)
}

/// Something says that nothing of the Machine runs: its host, or that it never had one. That
/// nothing is held is not it.
pub(super) fn is_proven(case: &Case) -> bool {
    match case.placement {
        "reset" => true,
        "free" | "none" => !case.claiming && !is_begun(case),
        _ => never_started(case),
    }
}
