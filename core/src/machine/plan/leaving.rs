//! A control plane leaves: another one holds the virtual IP, then its etcd member is removed through the others, before its
//! machine is released.

use k8s_openapi::jiff::Timestamp;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Contact, Lookup, Observed, Placement};
use super::address::Giving;
use super::delete::deleting;
use super::doubt::{self, ClusterName};
use super::joining::{has_turn, in_the_way};
use super::{Action, Plan, address, update};
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{Finding, Reason};
use crate::control_plane::{Change, Member, Members, Obstacle, permits};
use crate::node::{JobKind, Ownership};
use crate::proof::TurnIsOver;

/// What a Machine that is being deleted still is to the etcd of its cluster.
pub(super) enum Leaving<'a> {
    /// Nothing that concerns its release.
    Nothing,
    /// No member is at its address; a turn that it has ends by this.
    Removed(Option<TurnIsOver>),
    /// A member, which is removed first.
    Member(&'a Member),
    /// It must wait, for this.
    Waits(Finding),
}

/// What it is. Nothing where the whole cluster goes, where there is no control plane yet, or where that is not ours.
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
        // kubeadm adds its member at any moment while it runs: that it does not is read from its host
        if let OnHost::Runs(why) | OnHost::MayRun(why) = kubeadm_on_host(observed) {
            return Leaving::Waits(deleting(Reason::WaitingForHost, why));
        }
        let own = cluster.turn.as_ref();
        let ends = own.is_some_and(|turn| turn.machine == observed.uid() && turn.is_later());
        let proof = observed.member_proof(members).filter(|_| ends);
        return Leaving::Removed(proof.map(TurnIsOver::Member));
    };
    if let Some(why) = is_anothers(observed, member) {
        return Leaving::Waits(why);
    }
    // without its member kubeadm would wait for minutes
    if let OnHost::Runs(why) = kubeadm_on_host(observed) {
        return Leaving::Waits(deleting(Reason::WaitingForHost, why));
    }
    if let Some(why) = in_the_way(observed, cluster) {
        let message = format!("waiting to leave: {why}");
        return Leaving::Waits(deleting(Reason::WaitingForTurn, message));
    }
    match permits(members, Change::Remove(member.id)) {
        Ok(()) if !address::is_held_without(observed, members) => {
            let message = "waiting until another control plane takes part in holding the virtual IP. If that lasts: condition UpToDate of the other control-plane Machines, and their Hosts, say what is in the way";
            Leaving::Waits(deleting(Reason::AddressChanging, message))
        }
        Ok(()) => match joins_first(observed, cluster, members, member) {
            Some(why) => Leaving::Waits(deleting(Reason::WaitingForTurn, why)),
            None => Leaving::Member(member),
        },
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

/// Why the member at its address stays: its host is another Machine's, as after a restore, and so may the member be.
fn is_anothers(observed: &Observed, member: &Member) -> Option<Finding> {
    let Placement::Held(held) = &observed.placement else {
        return None;
    };
    let whose = match &held.contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) if seen.owner.of(&observed.marker).is_none() => format!(
                "its marker names Machine {}/{} (uid {})",
                owner.marker.namespace, owner.marker.machine, owner.marker.uid
            ),
            Ownership::Unreadable(why) => format!("its marker cannot be read ({why})"),
            Ownership::Owner(_) | Ownership::Nobody => return None,
        },
        // as it was when its own controller asked it last
        Contact::NotAsked | Contact::Unreachable { .. } | Contact::SelfRegistering(_) => {
            let (reason, why) = held.why.as_ref()?;
            let is_strange = Reason::parse(reason).is_some_and(Reason::is_of_strange_host);
            is_strange.then(|| why.clone())?
        }
    };
    let message = format!(
        "etcd member {} stays, and with it this Machine: it may be another's by now. Host {}: {whose}. Condition Clean of that Host has the remedy",
        member.label(),
        held.name
    );
    Some(deleting(Reason::Orphaned, message))
}

/// Why one whose member serves leaves later: another control plane is ready to join, and etcd has a member more meanwhile. None
/// may join beside one that does not vote. One that has begun to leave goes on.
fn joins_first(
    observed: &Observed,
    cluster: &ObservedCluster,
    members: &Members,
    member: &Member,
) -> Option<String> {
    let name = cluster.neighbours.joins.as_ref()?;
    let can_wait = members.trouble(member).is_none();
    let has_begun = has_turn(observed, cluster, TurnAction::Remove);
    let may_join = permits(members, Change::Add).is_ok();
    (can_wait && may_join && !has_begun).then(|| {
        format!(
            "waiting to leave: Machine {name} is prepared, and joins the control plane first. If that does not proceed: tatara describe machine {name} -n {}",
            observed.marker.namespace
        )
    })
}

/// Why the turn of a Machine that waits to leave is over, though it may not leave yet: its member votes, and kubeadm does not run
/// on its host. Who is in its way may need that turn, to leave first or to join.
pub(super) fn unused_turn(observed: &Observed) -> Option<TurnIsOver> {
    let cluster = observed.cluster.as_ref().filter(|_| is_asked(observed))?;
    let later = [TurnAction::Join, TurnAction::Upgrade, TurnAction::Remove];
    let is_held = |action| has_turn(observed, cluster, action);
    let is_over = matches!(kubeadm_on_host(observed), OnHost::Over);
    let over = || observed.member_votes();
    (is_over && later.into_iter().any(is_held))
        .then(over)
        .flatten()
}

/// Returns the turn of what was under way when it was deleted, before a drain or a hook that may last: it may end by what needs
/// that turn, such as a Node that joins.
fn give_back_unused(observed: &Observed, plan: &mut Plan) {
    let cluster = observed.cluster.as_ref();
    let leaves = cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Remove));
    if !leaves && !update::may_have_stopped(observed) {
        let over = unused_turn(observed).map(Action::ReturnTurn);
        plan.actions.splice(0..0, over);
    }
}

/// Whether etcd has a say: the Machine may have a member in a control plane of ours that stays.
pub fn is_asked(observed: &Observed) -> bool {
    observed.cluster.as_ref().is_some_and(|cluster| {
        let records = [&cluster.initialized_by, &cluster.initialized_by_secret];
        // the records may be lost: what has come after init shows it too
        let is_made = records.iter().any(|record| record.is_some())
            || observed.had_node()
            || cluster.turn.as_ref().is_some_and(Turn::is_later);
        is_made && !cluster.external && !cluster.deleting
    }) && observed.acts_as_control_plane()
        && observed.is_begun()
}

/// What its host says of kubeadm, which changes the control plane there, and why that is waited for.
enum OnHost {
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

fn kubeadm_on_host(observed: &Observed) -> OnHost {
    let Placement::Held(held) = &observed.placement else {
        return OnHost::Over;
    };
    if observed.user_says_gone().is_some() {
        return OnHost::Over;
    }
    let runs = |kind: JobKind| {
        let what = kind.title();
        format!("{what} runs on its host; it leaves when that has ended")
    };
    // whoever has the turn: a management cluster that was restored from a backup may know of none, or of an older one
    if let Contact::Seen(seen) = &held.contact {
        let running = observed.job_of_member(seen);
        return running.map_or(OnHost::Over, |kind| OnHost::Runs(runs(kind)));
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
        return running.map_or(OnHost::Over, |kind| OnHost::Runs(runs(kind)));
    };
    let what = kind.title();
    match &held.contact {
        // a job that is followed is this one, or waits on the host for its end
        Contact::NotAsked if observed.follow.is_some() && !held.releasing => {
            let followed = observed.follow.as_ref().map(|follow| follow.job.kind);
            OnHost::Runs(runs(followed.unwrap_or(kind)))
        }
        Contact::NotAsked | Contact::SelfRegistering(_) | Contact::Seen(_) => {
            OnHost::MayRun(runs(kind))
        }
        Contact::Unreachable { message, .. } => OnHost::MayRun(format!(
            "{what} may run on its host, which does not answer: {message}. Only if the server is destroyed, erased or disconnected for good: {}",
            super::unheld::host_is_gone(observed)
        )),
    }
}

fn unread(observed: &Observed, cluster: &ObservedCluster, why: &str) -> Finding {
    if cluster.other_control_planes.is_empty() && observed.is_initializer() {
        return last(cluster);
    }
    // etcd is read of a control plane that is recorded
    if cluster.initialized_by.is_none() {
        let why = doubt::lost_record(cluster, ClusterName::of(&observed.marker));
        return deleting(why.reason, why.message());
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

/// Puts the turn, what precedes the removal of its member, and that removal in the place of what would end the Machine; that
/// follows in the pass which no longer sees the member. Afterwards the turn is returned. A plan that waits is left alone, unless
/// `always`; an address that was given away is taken back meanwhile.
pub(super) fn first(observed: &Observed, mut plan: Plan, always: bool, now: Timestamp) -> Plan {
    let drains =
        |action: &Action| matches!(action, Action::Drain { .. } | Action::AwaitVolumes { .. });
    let ends = |action: &Action| !drains(action) && !matches!(action, Action::AwaitHooks(_));
    match of(observed) {
        Leaving::Member(member) if always || plan.actions.iter().any(ends) => {
            plan.actions.retain(|action| !ends(action));
            if plan.actions.iter().any(drains) {
                give_back_unused(observed, &mut plan);
            }
            plan.actions.push(Action::TakeTurn(TurnAction::Remove));
            match address::give_away(observed, now) {
                Giving::Over(said) => {
                    plan.actions.push(Action::RemoveMember(member.clone()));
                    address::say(&mut plan, said);
                }
                Giving::Next(step) => {
                    plan.actions.extend(step.actions);
                    address::say(&mut plan, step.findings);
                    plan.next = plan.next.sooner(step.next);
                }
            }
        }
        Leaving::Member(_) => {
            address::take_back(observed, &mut plan, now);
            give_back_unused(observed, &mut plan);
        }
        Leaving::Removed(Some(over)) => {
            let at = plan.actions.iter().position(|action| !drains(action));
            let at = at.unwrap_or(plan.actions.len());
            plan.actions.insert(at, Action::ReturnTurn(over));
        }
        Leaving::Nothing | Leaving::Removed(None) | Leaving::Waits(_) => (),
    }
    plan
}
