//! The stages of a Machine's life, a file each. Which one a Machine is in is derived in each pass
//! from its objects and its host; no stage is stored. What is recorded of earlier passes and
//! decides here: the finalizer, the record of init and the turn, that it had a Node
//! (`status.nodeRef`), and that its commands have succeeded (condition `BootstrapReady`).

mod awaiting_grant;
mod choosing;
mod claiming;
mod creating;
mod ending;
mod finishing;
mod initialising;
mod joining;
mod leaving;
mod preparing;
mod registering;
mod releasing;
pub(super) mod running;
mod stays;
mod taking;
mod unread;

use k8s_openapi::jiff::Timestamp;

use super::super::cluster::ObservedCluster;
use super::super::observed::{
    Contact, Infrastructure, Lookup, Observed, Placement, VirtualMachine,
};
use super::doubt::{self, ClusterName};
use super::{Plan, addons, address, hypervisor, update, virtual_machine};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::machine_stage::StageName;
use crate::node::{JobKind, Observation};
use crate::{NodeView, Why};

/// Where a Machine is in its life, and what decides there.
enum Stage<'a> {
    /// It has no place: the host that it would claim, or why there is none.
    Choosing(&'a Result<String, Why>),
    /// It has claimed the host of this name, which the watch does not show yet.
    Claiming(&'a str),
    /// Its virtual machine does not run, or has no address.
    Creating(&'a VirtualMachine),
    /// Its host has to show what is next, and shows nothing in this pass.
    Unread(&'a Infrastructure),
    /// Its host does not have its marker, or has it of another Cluster.
    Taking(SeenHost<'a>),
    /// Its host is not prepared.
    Preparing(SeenHost<'a>),
    /// Its host is prepared, and kubeadm was not begun there: a control plane waits for the turn, a
    /// worker until it may join.
    AwaitingGrant(SeenHost<'a>),
    /// It has the turn to run kubeadm init, or has run it, which is not recorded or not at its end.
    Initialising(SeenHost<'a>),
    /// kubeadm join was begun there, also where it has failed.
    Joining(SeenHost<'a>),
    /// Nothing is left to be done on its host, and its Node is not seen.
    Registering(&'a Infrastructure),
    /// It has a Node, and steps after kubeadm are left.
    Finishing(&'a Infrastructure, &'a NodeView),
    /// It has a Node.
    Running(&'a NodeView),
    /// It is being deleted, and stays for now, for this reason.
    Stays(Finding),
    /// It is being deleted, and has its place.
    Leaving(&'a Infrastructure),
    /// Its place was released.
    Releasing(&'a Infrastructure),
    /// It is being deleted, and has no place.
    Ending,
    /// It is being deleted, and does not have our finalizer.
    Ended,
}

/// A host that showed in this pass what is on it, and the Machine that holds it.
#[derive(Clone, Copy)]
struct SeenHost<'a> {
    observed: &'a Observed,
    cluster: &'a ObservedCluster,
    held: &'a Infrastructure,
    seen: &'a Observation,
}

impl SeenHost<'_> {
    /// What is wrong where the marker names this Machine in another Cluster.
    fn of_another_cluster(&self) -> Option<Finding> {
        let owner = self.seen.owner.of(&self.observed.marker)?;
        let named = ClusterName::of(&self.observed.marker);
        let bootstrap = ConditionType::BootstrapReady;
        doubt::of_another(bootstrap, &owner.marker, &self.held.name, named)
    }
}

/// The next step in the stage in which it is.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let stage = of(observed);
    let mut plan = match &stage {
        Stage::Choosing(choice) => choosing::plan(observed, choice),
        Stage::Claiming(host) => claiming::plan(observed, host),
        Stage::Creating(machine) => creating::plan(observed, machine, now),
        Stage::Unread(held) => unread::plan(observed, held),
        Stage::Taking(host) => claimed(host.held, taking::plan(host)),
        Stage::Preparing(host) => claimed(host.held, preparing::plan(host, now)),
        Stage::AwaitingGrant(host) => claimed(host.held, awaiting_grant::plan(host, now)),
        Stage::Initialising(host) => claimed(host.held, initialising::plan(host, now)),
        Stage::Joining(host) => claimed(host.held, joining::plan(host, now)),
        Stage::Registering(held) => claimed(held, registering::plan(observed)),
        Stage::Finishing(held, node) => finishing::plan(observed, held, node, now),
        Stage::Running(node) => running::plan(observed, node, now),
        Stage::Stays(why) => stays::plan(observed, why, now),
        Stage::Leaving(held) => leaving::plan(observed, held, now),
        Stage::Releasing(held) => releasing::plan(observed, held, now),
        Stage::Ending => ending::plan(observed, now),
        Stage::Ended => Plan::default(),
    };
    plan.stage = stage.name(observed);
    if let Some(held) = observed.held().filter(|_| stage.may_change()) {
        address::keep(observed, held, &mut plan, now);
        update::keep(observed, held, &mut plan, now);
        addons::keep(observed, held, &mut plan, now);
        virtual_machine::remove_seed(observed, held, &mut plan);
        hypervisor::record(observed, &mut plan);
    }
    if !observed.is_deleting() && observed.machine.spec.config_source.is_some() {
        plan.findings.push(Finding::no(ConditionType::ConfigSourceUsed, Reason::Ignored, "spec.configSource is accepted as in 2019 and not used; use kubeletConfiguration of the Cluster"));
    }
    plan
}

impl Stage<'_> {
    /// Its name; `None` where only its host could tell.
    fn name(&self, observed: &Observed) -> Option<StageName> {
        Some(match self {
            Stage::Choosing(_) => StageName::Choosing,
            Stage::Claiming(_) => StageName::Claiming,
            Stage::Creating(_) => StageName::Creating,
            Stage::Unread(_) => return unread::name(observed),
            Stage::Taking(_) => StageName::Taking,
            Stage::Preparing(_) => StageName::Preparing,
            Stage::AwaitingGrant(_) => StageName::AwaitingGrant,
            Stage::Initialising(_) => StageName::Initialising,
            Stage::Joining(_) => StageName::Joining,
            // its Node was deleted, or cannot be read
            Stage::Registering(_) if observed.had_node() => StageName::Running,
            Stage::Registering(_) => StageName::Registering,
            Stage::Finishing(..) => StageName::Finishing,
            Stage::Running(_) => StageName::Running,
            Stage::Stays(_) => StageName::Stays,
            Stage::Leaving(_) => StageName::Leaving,
            Stage::Releasing(_) => StageName::Releasing,
            Stage::Ending => StageName::Ending,
            Stage::Ended => StageName::Ended,
        })
    }

    /// Whether what runs on its place may be changed beside it, such as to another version.
    fn may_change(&self) -> bool {
        match self {
            Stage::Creating(_)
            | Stage::Unread(_)
            | Stage::Taking(_)
            | Stage::Preparing(_)
            | Stage::AwaitingGrant(_)
            | Stage::Initialising(_)
            | Stage::Joining(_)
            | Stage::Registering(_)
            | Stage::Finishing(..)
            | Stage::Running(_) => true,
            Stage::Choosing(_)
            | Stage::Claiming(_)
            | Stage::Stays(_)
            | Stage::Leaving(_)
            | Stage::Releasing(_)
            | Stage::Ending
            | Stage::Ended => false,
        }
    }
}

/// The stage that it is in.
fn of(observed: &Observed) -> Stage<'_> {
    if observed.is_deleting() {
        return of_deleted(observed);
    }
    match &observed.placement {
        Placement::None(choice) => {
            let claimed = observed.claiming.as_deref();
            claimed.map_or(Stage::Choosing(choice), Stage::Claiming)
        }
        Placement::Held(held) if held.releasing => Stage::Releasing(held),
        Placement::Held(held) => of_held(observed, held),
    }
}

fn of_deleted(observed: &Observed) -> Stage<'_> {
    if !observed.is_adopted() {
        return Stage::Ended;
    }
    if let Some(why) = stays::why(observed) {
        return Stage::Stays(why);
    }
    match &observed.placement {
        Placement::Held(held) if held.releasing => Stage::Releasing(held),
        Placement::Held(held) => Stage::Leaving(held),
        Placement::None(_) => {
            let claimed = observed.claiming.as_deref();
            claimed.map_or(Stage::Ending, Stage::Claiming)
        }
    }
}

fn of_held<'a>(observed: &'a Observed, held: &'a Infrastructure) -> Stage<'a> {
    let machine = observed.virtual_machine.as_ref();
    let down = machine.filter(|machine| !virtual_machine::is_up(observed, machine));
    match (observed.known_node(), down) {
        (Some(node), Some(_)) => Stage::Running(node),
        (Some(node), None) => of_node(observed, held, node),
        (None, Some(machine)) => Stage::Creating(machine),
        (None, None) => match (&held.contact, on_host(observed, held)) {
            (Contact::SelfRegistering(None), _) => Stage::Registering(held),
            (_, Some(host)) => of_host(host),
            (_, None) => Stage::Unread(held),
        },
    }
}

fn of_node<'a>(observed: &'a Observed, held: &'a Infrastructure, node: &'a NodeView) -> Stage<'a> {
    let cluster = observed.cluster.as_ref();
    // kubeadm init ran there, as its host shows, and nothing else does; of whoever has the turn to
    // run it, that host is waited for
    if let Some(cluster) = cluster.filter(|cluster| cluster.is_unrecorded()) {
        let is_own_init = cluster
            .turn
            .as_ref()
            .is_some_and(|turn| turn.machine == observed.uid() && turn.action == TurnAction::Init);
        match on_host(observed, held) {
            Some(host)
                if initialising::is_unrecorded(&host) && host.of_another_cluster().is_none() =>
            {
                return Stage::Initialising(host);
            }
            None if is_own_init => return Stage::Unread(held),
            _ => (),
        }
    }
    if observed.awaits_commands() {
        Stage::Finishing(held, node)
    } else {
        Stage::Running(node)
    }
}

fn on_host<'a>(observed: &'a Observed, held: &'a Infrastructure) -> Option<SeenHost<'a>> {
    let cluster = observed.cluster.as_ref()?;
    match &held.contact {
        Contact::Seen(seen) => Some(SeenHost {
            observed,
            cluster,
            held,
            seen,
        }),
        _ => None,
    }
}

/// By what its host shows.
fn of_host(host: SeenHost<'_>) -> Stage<'_> {
    let SeenHost { observed, seen, .. } = host;
    if seen.owner.of(&observed.marker).is_none() || host.of_another_cluster().is_some() {
        return Stage::Taking(host);
    }
    if initialising::is_unrecorded(&host) {
        return Stage::Initialising(host);
    }
    // what runs as a Node is not prepared anew because the Node cannot be seen
    if observed.had_node() && matches!(observed.node, Lookup::Unknown(_) | Lookup::NotYet(_)) {
        return Stage::Registering(host.held);
    }
    if preparing::is_due(&host) {
        return Stage::Preparing(host);
    }
    if observed.acts_as_control_plane() && host.cluster.initialized_by.is_none() {
        return match initialising::awaits(&host) {
            Some(_) => Stage::AwaitingGrant(host),
            None => Stage::Initialising(host),
        };
    }
    if observed.acts_as_control_plane() && observed.is_initializer() {
        let has_job = seen.job(&observed.marker.job(JobKind::Init)).is_some();
        return if has_job && observed.awaits_commands() {
            Stage::Initialising(host)
        } else {
            Stage::Registering(host.held)
        };
    }
    of_join(host)
}

fn of_join(host: SeenHost<'_>) -> Stage<'_> {
    let SeenHost { observed, seen, .. } = host;
    let owner = seen.owner.of(&observed.marker);
    let is_joined = owner.is_some_and(|owner| owner.joined) && observed.acts_as_control_plane();
    match seen.job(&observed.marker.job(JobKind::Join)) {
        Some(job) if job.has_succeeded() && awaiting_grant::halted(&host).is_none() => {
            Stage::Registering(host.held)
        }
        Some(_) => Stage::Joining(host),
        None if is_joined => Stage::Joining(host),
        None => Stage::AwaitingGrant(host),
    }
}

/// The plan of a stage in which it has its place, and no Node.
fn claimed(held: &Infrastructure, mut plan: Plan) -> Plan {
    let runs = Finding::yes(
        ConditionType::InfrastructureReady,
        Reason::HostClaimed,
        format!("runs on {}", held.name),
    );
    plan.findings.insert(0, runs);
    plan
}
