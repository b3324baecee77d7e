//! What a control plane is to the etcd of its cluster: whether etcd has a say; and of one that is
//! being deleted, whether it has a member, whether that may go, and whether kubeadm runs on its
//! host, which adds one.

use super::super::cluster::ObservedCluster;
use super::super::member::ControlPlaneMachine;
use super::super::observed::{Contact, Infrastructure, Lookup, Observed, Placement};
use super::super::units;
use super::deletion::deleting;
use super::doubt::{self, ClusterName};
use super::foreign_member;
use super::lost_claim::host_is_gone;
use super::turn::{has_turn, in_the_way};
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{Finding, Reason};
use crate::control_plane::{Change, Member, Members, Obstacle, permits};
use crate::node::JobKind;

/// What a Machine that is being deleted still is to the etcd of its cluster.
pub(super) enum Leaving<'a> {
    /// Nothing that concerns its release.
    Nothing,
    /// No member is at its address.
    Removed,
    /// A member, which is removed first.
    Member(&'a Member),
    /// It must wait, for this.
    Waits(Finding),
}

/// What it is. Nothing where the whole cluster goes, where there is no control plane yet, or where
/// that is not ours.
pub(super) fn of(observed: &Observed) -> Leaving<'_> {
    let Some(cluster) = observed.cluster.as_ref().filter(|_| is_asked(observed)) else {
        return Leaving::Nothing;
    };
    let members = match &cluster.etcd {
        Lookup::Known(members) => members,
        Lookup::Unknown(why) | Lookup::NotYet(why) => {
            return Leaving::Waits(unread(observed, cluster, why));
        }
    };
    let Some(member) = observed.member(members) else {
        // kubeadm adds its member at any moment while it runs: that it does not is read from its
        // host
        if let Kubeadm::Runs(why) | Kubeadm::MayRun(why) = kubeadm_on_host(observed) {
            return Leaving::Waits(deleting(Reason::WaitingForHost, why));
        }
        return Leaving::Removed;
    };
    if let Some(why) = foreign_member::stays(observed, member) {
        return Leaving::Waits(why);
    }
    // without its member kubeadm would wait for minutes
    if let Kubeadm::Runs(why) = kubeadm_on_host(observed) {
        return Leaving::Waits(deleting(Reason::WaitingForHost, why));
    }
    if let Some(why) = in_the_way(observed, cluster) {
        let message = format!("waiting to leave: {why}");
        return Leaving::Waits(deleting(Reason::WaitingForTurn, message));
    }
    let doubt = in_doubt(observed, cluster);
    match permits(members, Change::Remove(member.id)) {
        Ok(()) if let Some(doubt) = doubt => Leaving::Waits(doubt),
        Ok(()) if !is_held_without(observed, members) => {
            let message = "waiting until another control plane takes part in holding the virtual IP. If that lasts: condition UpToDate of the other control-plane Machines, and their Hosts, say what is in the way";
            Leaving::Waits(deleting(Reason::AddressChanging, message))
        }
        Ok(()) if foreign_member::is_left(observed) => Leaving::Nothing,
        Ok(()) => Leaving::Member(member),
        Err(Obstacle::LastMember(_)) => Leaving::Waits(last(cluster)),
        Err(obstacle) => {
            let message = format!(
                "etcd member {} stays, and with it this Machine: {}",
                member.label(),
                obstacle.message()
            );
            Leaving::Waits(deleting(obstacle.reason(), message))
        }
    }
}

/// Why nobody gets the turn to leave: it is in doubt who has it, or that there is a control plane.
fn in_doubt(observed: &Observed, cluster: &ObservedCluster) -> Option<Finding> {
    let named = ClusterName::of(&observed.marker);
    if let Some(doubt) = &cluster.in_doubt {
        return Some(deleting(doubt.reason(), doubt.message(named)));
    }
    let is_lost = cluster.initialized_by.is_none();
    let why = is_lost.then(|| doubt::lost_record(cluster, named))?;
    Some(deleting(why.reason, why.message()))
}

/// Whether another member takes part, so that the address stays when this one leaves; also where
/// there is none to hold.
fn is_held_without(observed: &Observed, members: &Members) -> bool {
    let Some(cluster) = &observed.cluster else {
        return true;
    };
    let serves = |address: &String| {
        let member = members.at(address);
        member.is_some_and(|member| members.trouble(member).is_none())
    };
    let takes_part = |other: &ControlPlaneMachine| {
        other.applied.is_some() && other.address.as_ref().is_some_and(serves)
    };
    units::address(observed).is_none() || cluster.other_control_planes.iter().any(takes_part)
}

/// Whether etcd has a say: the Machine may have a member in a control plane of ours that stays.
pub fn is_asked(observed: &Observed) -> bool {
    let is_begun = || observed.is_begun() || observed.shows_join() || is_listed(observed);
    is_of_control_plane(observed) && is_begun()
}

/// Whether nothing shows that it has a member, and nothing that it has none: its host did not show
/// in this pass that kubeadm was not run there. A management cluster that was restored from a
/// backup may know nothing of that.
pub fn may_be_listed(observed: &Observed) -> bool {
    let is_unseen = |held: &Infrastructure| !matches!(held.contact, Contact::Seen(_));
    matches!(&observed.placement, Placement::Held(held) if is_unseen(held))
        && is_of_control_plane(observed)
        && !is_asked(observed)
        && observed.user_says_gone().is_none()
}

/// Whether it is one of a control plane of ours, which stays.
fn is_of_control_plane(observed: &Observed) -> bool {
    observed.cluster.as_ref().is_some_and(|cluster| {
        let records = [&cluster.initialized_by, &cluster.initialized_by_secret];
        // the records may be lost: what has come after init shows it too
        let is_made = records.iter().any(|record| record.is_some())
            || observed.had_node()
            || observed.shows_join()
            || cluster.turn.as_ref().is_some_and(Turn::is_later);
        is_made && !cluster.external && !cluster.deleting
    }) && observed.acts_as_control_plane()
}

/// Whether the last list of etcd's members has one of it.
fn is_listed(observed: &Observed) -> bool {
    let etcd = observed.cluster.as_ref().map(|cluster| &cluster.etcd);
    matches!(etcd, Some(Lookup::Known(members)) if observed.member(members).is_some())
}

/// Whether it is known that kubeadm does not run on its host.
pub(super) fn is_without_kubeadm(observed: &Observed) -> bool {
    matches!(kubeadm_on_host(observed), Kubeadm::Over)
}

/// Whether kubeadm runs on its host, where it changes the control plane, and why that is waited
/// for.
enum Kubeadm {
    /// It does not run.
    Over,
    /// It runs.
    Runs(String),
    /// The host does not say.
    MayRun(String),
}

/// The job of kubeadm for which the Machine has the turn.
pub fn job_of_turn(observed: &Observed) -> Option<JobKind> {
    let cluster = observed.cluster.as_ref()?;
    let jobs = [
        (TurnAction::Join, JobKind::Join),
        (TurnAction::Upgrade, JobKind::Upgrade),
    ];
    let mut jobs = jobs.into_iter();
    jobs.find_map(|(action, kind)| has_turn(observed, cluster, action).then_some(kind))
}

fn kubeadm_on_host(observed: &Observed) -> Kubeadm {
    let Placement::Held(held) = &observed.placement else {
        return Kubeadm::Over;
    };
    if observed.user_says_gone().is_some() {
        return Kubeadm::Over;
    }
    let runs = |kind: JobKind| {
        let what = kind.title();
        format!("{what} runs on its host; it leaves when that has ended")
    };
    // whoever has the turn: a management cluster that was restored from a backup may know of none,
    // or of an older one
    if let Contact::Seen(seen) = &held.contact {
        let running = observed.job_of_member(seen);
        return running.map_or(Kubeadm::Over, |kind| Kubeadm::Runs(runs(kind)));
    }
    let is_silent = matches!(held.contact, Contact::Unreachable { .. });
    let seen = observed.last_look.job().filter(|_| !held.releasing);
    // of a host that is silent by now, only a join counts: it may add a member
    let may_add = seen.filter(|kind| is_silent && *kind == JobKind::Join);
    let Some(kind) = job_of_turn(observed).or(may_add) else {
        let followed = observed.follow.as_ref().map(|follow| follow.job.kind);
        let changes = |kind: &JobKind| matches!(kind, JobKind::Upgrade | JobKind::Kubelet);
        let running = followed.filter(|kind| changes(kind) && !held.releasing);
        let running = running.or(seen.filter(|_| !is_silent));
        return running.map_or(Kubeadm::Over, |kind| Kubeadm::Runs(runs(kind)));
    };
    let what = kind.title();
    match &held.contact {
        // a job that is followed is this one, or waits on the host for its end
        Contact::NotAsked if observed.follow.is_some() && !held.releasing => {
            let followed = observed.follow.as_ref().map(|follow| follow.job.kind);
            Kubeadm::Runs(runs(followed.unwrap_or(kind)))
        }
        Contact::NotAsked | Contact::SelfRegistering(_) | Contact::Seen(_) => {
            Kubeadm::MayRun(runs(kind))
        }
        Contact::Unreachable { message, .. } => Kubeadm::MayRun(format!(
            "{what} may run on its host, which does not answer: {message}. Only if the server is destroyed, erased or disconnected for good: {}",
            host_is_gone(observed)
        )),
    }
}

fn unread(observed: &Observed, cluster: &ObservedCluster, why: &str) -> Finding {
    if cluster.other_control_planes.is_empty() && observed.is_initializer() {
        return last(cluster);
    }
    // etcd is read of a control plane that is recorded
    if cluster.initialized_by.is_none()
        && let Some(why) = in_doubt(observed, cluster)
    {
        return why;
    }
    let message = format!(
        "the etcd member of this Machine stays until the manager reads a list of etcd members that has a quorum: {why}. Condition EtcdHealthy of Cluster {} has the remedy",
        cluster.name
    );
    deleting(Reason::EtcdUnreachable, message)
}

/// The last one is deleted with its Cluster only.
fn last(cluster: &ObservedCluster) -> Finding {
    deleting(
        Reason::LastControlPlane,
        format!(
            "this is the last control-plane Machine of Cluster {}, with the only copy of its state: it is not reset, and the cluster keeps running. Its deletion cannot be undone. To complete it, create another control-plane Machine: this one leaves once that has joined (only with controlPlaneEndpoint). Delete the Cluster only to delete all of it: that resets every host",
            cluster.name
        ),
    )
}
