//! Members of etcd that belong to no Machine: what is known of them, and the removal of one.

use std::ops::ControlFlow;
use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::Clusters;
use super::probe::waits_for_control_plane;
use crate::controllers::control_plane::Silence;
use crate::controllers::machine::vacant;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::store::{IndexKeys, Item};
use crate::workload::Connectivity;
use tatara_core::NodeView;
use tatara_core::api::cluster::Turn;
use tatara_core::api::{Cluster, Host, Hypervisor, Machine};
use tatara_core::cluster::live::orphaned_member::{self, Removal as Came};
use tatara_core::cluster::{Fleet, MachineFact};
use tatara_core::control_plane::orphaned_members::{self, Facts};
use tatara_core::control_plane::peers::{self, Connections, Watch};
use tatara_core::control_plane::{Member, MemberId, Members};
use tatara_core::pace::ETCD;
use tatara_core::remedy;

/// How often the others are asked about such a member.
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// What is known of the members that belong to none of these Machines, from the watches.
pub(super) async fn observe(
    controller: &Clusters,
    cluster: &Cluster,
    etcd: Option<&Result<Arc<Members>, String>>,
    (machines, turn): (&[MachineFact], Option<&Turn>),
    now: Timestamp,
) -> Vec<Facts> {
    let Some(Ok(members)) = etcd else {
        return Vec::new();
    };
    let is_stranger = |member: &&Member| !machines.iter().any(|machine| machine.has(member));
    let strangers: Vec<&Member> = members.list.iter().filter(is_stranger).collect();
    let uid = cluster.uid().unwrap_or_default();
    let mut known = controller.workloads.known.get(&uid).strangers;
    let is_known = |member: &&Member| {
        let before = known.get(&member.id);
        before.is_some_and(|before| now.duration_since(before.at).abs() < ASK_AGAIN)
    };
    let is_news = !strangers.iter().all(is_known) || known.len() != strangers.len();
    if is_news {
        ask(controller, cluster, members, &strangers).await;
        known = controller.workloads.known.get(&uid).strangers;
    }
    if strangers.is_empty() {
        return Vec::new();
    }
    let stores = controller.base.stores();
    let namespace = cluster.namespace().unwrap_or_default();
    let fleet = Fleet {
        machines: stores.machines.within(&namespace),
        hosts: stores.hosts.within(&namespace),
        hypervisors: stores.hypervisors.within(&namespace),
    };
    let nodes = nodes(controller, cluster);
    // its own is one that a manager left which was stopped: it is returned first
    let others = turn.filter(|turn| turn.machine != uid);
    let busy = others.and_then(|turn| busy(&namespace, members, turn, &fleet));
    // it does not ask for the turn at once again
    let refused = controller.workloads.known.get(&uid).removal_refused;
    let refused = refused.filter(|(at, _)| now.duration_since(*at).unsigned_abs() < ETCD);
    let busy = busy.or(refused.map(|(_, why)| why));
    let facts = |member: &&Member| {
        let watch = known.get(&member.id)?.clone();
        let who = (&**members, *member);
        Some(facts(
            cluster,
            who,
            watch,
            &nodes,
            (&fleet, busy.clone()),
            now,
        ))
    };
    strangers.iter().filter_map(facts).collect()
}

/// Asks the other members about these, and remembers the answers.
async fn ask(controller: &Clusters, cluster: &Cluster, members: &Members, strangers: &[&Member]) {
    let connections = if strangers.is_empty() {
        Connections::new()
    } else {
        let planes = &controller.control_planes;
        planes.connections(cluster, members).await
    };
    let now = crate::clock::now();
    let uid = cluster.uid().unwrap_or_default();
    controller.workloads.known.update(&uid, |known| {
        let next = |member: &&Member| {
            let before = known.strangers.get(&member.id);
            (
                member.id,
                look(before, members, member.id, &connections, now),
            )
        };
        known.strangers = strangers.iter().map(next).collect();
    });
}

fn look(
    before: Option<&Watch>,
    members: &Members,
    id: MemberId,
    connections: &Connections,
    now: Timestamp,
) -> Watch {
    let sign = peers::sign(members, id, connections);
    let received = peers::received(id, connections);
    Watch::next(before, sign, received, now)
}

/// The Nodes that the watch shows, or why it shows none.
fn nodes(controller: &Clusters, cluster: &Cluster) -> Result<Vec<Arc<NodeView>>, String> {
    let known = controller.workloads.get(cluster).and_then(|workload| {
        // before the question whether they are known: they may be dropped in between
        let nodes = workload.nodes();
        let is_connected = matches!(workload.connectivity(), Connectivity::Connected { .. });
        (is_connected && workload.is_synced()).then_some(nodes)
    });
    known.ok_or_else(|| "the cluster's API does not show the Nodes".to_owned())
}

fn facts(
    cluster: &Cluster,
    (members, member): (&Members, &Member),
    watch: Watch,
    nodes: &Result<Vec<Arc<NodeView>>, String>,
    (fleet, busy): (&Fleet, Option<String>),
    at: Timestamp,
) -> Facts {
    let its = |all: &Vec<_>| fleet.nodes_of(&cluster.name_any(), (members, member), all);
    Facts {
        id: member.id,
        at,
        ours: fleet.holder(member),
        watch,
        nodes: nodes.as_ref().map(its).map_err(Clone::clone),
        busy,
    }
}

/// Who has the turn and may be using it.
fn busy(namespace: &str, members: &Members, turn: &Turn, fleet: &Fleet) -> Option<String> {
    let holder = fleet
        .machines
        .iter()
        .find(|machine| machine.uid().as_ref() == Some(&turn.machine));
    let waits = holder.is_some_and(|machine| waits_for_control_plane(machine));
    (!orphaned_members::is_idle(members, turn.action, waits)).then(|| {
        let name = &turn.name;
        let look = remedy::describe_machine(namespace, name);
        format!("Machine {name} joins the control plane. If it does not proceed: {look}")
    })
}

/// Removes a member that belongs to no Machine, if what is read now allows it as well. In the turn
/// of the Cluster, so that nothing joins meanwhile, which is returned then; or beside a Machine
/// that has the turn and may wait for this.
///
/// # Errors
/// Those of [`vacant::hold`]; `ReconcileError::Api` when an object cannot be read.
pub(super) async fn remove(
    controller: &Clusters,
    cluster: &Cluster,
    id: MemberId,
) -> Result<ActionOutcome, ReconcileError> {
    let live = patch::live(&controller.base.engine, cluster).await?;
    if !orphaned_member::may_change(&live) {
        return Ok(ActionOutcome::Yes);
    }
    let other = vacant::hold(&controller.turns, &live).await?;
    let outcome = remove_now(controller, &live, id, other.as_ref()).await;
    if let Ok(ActionOutcome::Refused(finding)) = &outcome {
        let uid = cluster.uid().unwrap_or_default();
        let refusal = (crate::clock::now(), finding.message().clone());
        let known = &controller.workloads.known;
        known.update(&uid, |known| known.removal_refused = Some(refusal));
    }
    // Whatever came of it, others may need the turn. One that cannot be returned now is returned by
    // a later pass; what was removed is told once, now.
    if other.is_none()
        && let Err(error) = vacant::give_back(&controller.turns, &live).await
    {
        tracing::warn!(cluster = %live.name_any(), %error, "the control-plane turn is returned later");
    }
    outcome
}

async fn remove_now(
    controller: &Clusters,
    cluster: &Cluster,
    id: MemberId,
    turn: Option<&Turn>,
) -> Result<ActionOutcome, ReconcileError> {
    let Removal {
        members,
        member,
        since,
    } = match judge(controller, cluster, id, turn).await? {
        ControlFlow::Continue(removal) => removal,
        ControlFlow::Break(outcome) => return Ok(outcome),
    };
    controller.base.engine.must_lead()?;
    let planes = &controller.control_planes;
    let answer = planes.remove(cluster, &members, id).await;
    let answer = answer.map_err(|Silence(why)| why);
    let left = planes.look(cluster).await.ok();
    let came = orphaned_member::came(cluster, (&member, since), answer, left.as_deref());
    Ok(match came {
        Came::Done(finding) => {
            tracing::info!(cluster = %cluster.name_any(), member = %id, name = member.name, "removed an etcd member that belonged to no Machine");
            // the pass ends here: an error of what follows would hide that
            ActionOutcome::NotYet(finding)
        }
        Came::Refused(finding) => ActionOutcome::Refused(finding),
    })
}

/// What is removed, by what was read just before.
struct Removal {
    members: Arc<Members>,
    member: Member,
    /// Since when it does not serve.
    since: Timestamp,
}

/// Judges a member by what is read now; or says why it is not removed.
async fn judge(
    controller: &Clusters,
    cluster: &Cluster,
    id: MemberId,
    turn: Option<&Turn>,
) -> Result<ControlFlow<ActionOutcome, Removal>, ReconcileError> {
    // pages may take a while: what etcd shows is read after them, and what the watch has shown
    // meanwhile counts as well
    let mut nodes_now = live_nodes(controller, cluster).await;
    let members = controller.control_planes.look(cluster).await;
    let (members, member) = match orphaned_member::listed(members, id) {
        Ok(Some(listed)) => listed,
        Ok(None) => return Ok(ControlFlow::Break(ActionOutcome::Yes)),
        Err(finding) => return Ok(ControlFlow::Break(ActionOutcome::Refused(finding))),
    };
    if let (Ok(listed), Ok(shown)) = (&mut nodes_now, nodes(controller, cluster)) {
        listed.extend(shown);
    }
    let facts = live_facts(controller, cluster, (&members, &member), &nodes_now, turn).await?;
    let since = orphaned_member::may_remove(cluster, (&members, &member), &facts);
    Ok(match since {
        Ok(since) => ControlFlow::Continue(Removal {
            members,
            member,
            since,
        }),
        Err(finding) => ControlFlow::Break(ActionOutcome::Refused(finding)),
    })
}

/// The same as [`observe`] knows of one member, read now from the members and both API servers.
async fn live_facts(
    controller: &Clusters,
    cluster: &Cluster,
    (members, member): (&Members, &Member),
    nodes: &Result<Vec<Arc<NodeView>>, String>,
    turn: Option<&Turn>,
) -> Result<Facts, ReconcileError> {
    let connections = controller
        .control_planes
        .connections(cluster, members)
        .await;
    let fleet = Fleet {
        machines: list::<Machine>(controller, cluster).await?,
        hosts: list::<Host>(controller, cluster).await?,
        hypervisors: list::<Hypervisor>(controller, cluster).await?,
    };
    let now = crate::clock::now();
    let uid = cluster.uid().unwrap_or_default();
    let before = controller.workloads.known.get(&uid).strangers;
    let watch = look(
        before.get(&member.id),
        members,
        member.id,
        &connections,
        now,
    );
    controller.workloads.known.update(&uid, |known| {
        known.strangers.insert(member.id, watch.clone());
    });
    let namespace = cluster.namespace().unwrap_or_default();
    let busy = turn.and_then(|turn| busy(&namespace, members, turn, &fleet));
    let who = (members, member);
    Ok(facts(cluster, who, watch, nodes, (&fleet, busy), now))
}

/// All objects of a kind in the namespace of a Cluster, also those that cannot be decoded.
async fn list<K>(controller: &Clusters, cluster: &Cluster) -> Result<Vec<Arc<K>>, ReconcileError>
where
    K: IndexKeys
        + Clone
        + kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    Item<K>: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let namespace = cluster.namespace().unwrap_or_default();
    let all: Api<Item<K>> = Api::namespaced(controller.base.client(), &namespace);
    let all = all.list(&ListParams::default()).await;
    let what = format!("list {}", K::plural(&()));
    let all = all.map_err(ReconcileError::api(what))?;
    Ok(all
        .items
        .into_iter()
        .map(|Item(one)| Arc::new(one))
        .collect())
}

async fn live_nodes(
    controller: &Clusters,
    cluster: &Cluster,
) -> Result<Vec<Arc<NodeView>>, String> {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Err("the cluster's API is not connected".into());
    };
    let nodes = crate::workload::nodes::list(workload.client()).await;
    nodes.map_err(|why| format!("the cluster's API does not list its Nodes: {why}"))
}
