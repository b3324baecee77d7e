//! A pass over the Cluster: its plan, and what its actions do for turn, members and settings.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use tatara_core::Next;
use tatara_core::api::cluster::TurnAction;
use tatara_core::api::conditions::ConditionType;
use tatara_core::cluster::plan::{Action, Plan, plan};
use tatara_core::cluster::{Addons, Certificates, Fleet, Health, MachineFact, Moves, Observed};
use tatara_core::control_plane::health::{Judgement, Verdict};
use tatara_core::control_plane::orphaned_members::{Facts, SILENT_FOR, is_idle};
use tatara_core::control_plane::peers::{Sign, Watch};
use tatara_core::control_plane::turn::{Step, give_back, hold, settle};
use tatara_core::control_plane::{Member, MemberId, Members};
use tatara_core::kubeadm::Endpoint;
use tatara_core::machine::live::vacant;
use tatara_core::settings::text;

use super::build::{
    CLUSTER_UID, UIDS, address, at, both, cluster, host as built, machine, machine_name, of_uid,
};
use super::pass::{Cut, Doing, REMEMBERED};
use super::perform::go;
use super::scope::{cluster_spec, cluster_value};
use super::shown::node_views;
use super::state::{CLUSTER, MOST, Member as Listed, Node, Objects, Server, State};
use super::text::Text;

/// A pass over the Cluster.
pub fn of_cluster(state: &State, stop: Option<(u8, Cut)>) -> Doing {
    let mut doing = Doing::new(state, stop);
    let judged = judged(state);
    let (observed, plan) = (&judged.0, &judged.1);
    for action in &plan.actions {
        if doing.is_cut || doing.broken.is_some() || !perform(&mut doing, observed, action) {
            break;
        }
    }
    let mut said = plan.findings.iter();
    let said = said.find(|found| found.condition == ConditionType::ControlPlaneInitialized);
    let doubt = said
        .map(tatara_core::api::conditions::Finding::reason)
        .filter(|reason| reason.is_doubt());
    if doing.state.objects.doubt != doubt && !doing.is_cut {
        doing.effect(|state| state.objects.doubt = doubt);
    }
    if doing.state.objects.asks != plan.asks && !doing.is_cut {
        doing.effect(|state| state.objects.asks = plan.asks);
    }
    doing
}

/// What a pass over the Cluster reads: by this its plan is remembered.
#[derive(PartialEq, Eq, Hash)]
struct View {
    objects: Objects,
    connected: bool,
    members: Option<([Option<Listed>; MOST], u8)>,
    /// Of a member without a Machine, and its server.
    silence: bool,
    servers: [u8; MOST],
    nodes: [Option<Node>; MOST],
}

impl View {
    fn of(state: &State) -> Self {
        let has_stranger = state.orphans() > 0;
        let server = |server: &Server| {
            let facts = [
                server.stopped,
                server.begun,
                server.is_node(),
                server.api.is_some(),
            ];
            facts.iter().fold(0, |all, fact| all << 1 | u8::from(*fact))
        };
        let mut objects = state.known().clone();
        if !has_stranger {
            objects.hosts = Default::default();
        }
        Self {
            objects,
            connected: state.memory.connected,
            members: state.has_quorum().then(|| (state.members, state.healthy())),
            silence: state.memory.silence_lasts,
            servers: if has_stranger {
                state.servers.each_ref().map(server)
            } else {
                Default::default()
            },
            nodes: if has_stranger {
                state.nodes
            } else {
                Default::default()
            },
        }
    }
}

thread_local! {
    static JUDGED: RefCell<HashMap<View, Rc<(Observed, Plan)>>> = RefCell::default();
}

/// What a pass over the Cluster knows, and its plan.
pub fn judged(state: &State) -> Rc<(Observed, Plan)> {
    let view = View::of(state);
    let known = JUDGED.with_borrow(|all| all.get(&view).cloned());
    known.unwrap_or_else(|| {
        let observed = observed(state);
        let plan = plan(&observed);
        let judged = Rc::new((observed, plan));
        JUDGED.with_borrow_mut(|all| {
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.insert(view, Rc::clone(&judged));
        });
        judged
    })
}

fn observed(state: &State) -> Observed {
    let known = state.known();
    let mut seen = known.clone();
    if !state.memory.connected {
        seen.secret = Default::default();
    }
    let both = both(&seen);
    let exists = |uid: &str| {
        let which = usize::from(of_uid(uid));
        which < MOST && known.machines[which].exists
    };
    let is_made = known.cluster.initialized.is_some();
    let serves = state.has_quorum() && state.memory.connected;
    let etcd = (is_made && state.memory.connected).then(|| state.members_now().map(Arc::new));
    let machines = machines(state);
    let members = etcd.as_ref().and_then(|etcd| etcd.as_ref().ok());
    let strangers = members.map_or_else(Vec::new, |members| {
        let strangers = members
            .list
            .iter()
            .filter(|member| !machines.iter().any(|one| one.has(member)));
        strangers
            .map(|member| facts(state, members, member))
            .collect()
    });
    let holder = both.holder().cloned();
    let later = |action| action != TurnAction::Init;
    Observed {
        spec: Ok(cluster_spec(known.wants).clone()),
        well: machines.len(),
        new_for: None,
        pool: None,
        sets_left: 0,
        unlabelled: Vec::new(),
        unreadable: Vec::new(),
        certificates: Certificates::Ready,
        initialized_by: known
            .cluster
            .initialized
            .map(|by| UIDS[usize::from(by)].into()),
        external: false,
        doubt: both.doubt(),
        host_is_gone: false,
        turn_waits: None,
        is_holder_gone: holder.as_ref().is_some_and(|turn| !exists(&turn.machine)),
        is_turn_vacant: holder
            .as_ref()
            .is_some_and(|turn| later(turn.action) && !exists(&turn.machine)),
        unused: None,
        unsettled: settle(&both) != Step::Done,
        endpoint: Some(Endpoint {
            host: "192.0.2.100".into(),
            port: 6443,
        }),
        kubeconfig_ready: true,
        kubeconfig_problem: None,
        secrets_held: true,
        connected: serves,
        health: is_made.then(|| Health {
            judgement: Judgement {
                verdict: if serves {
                    Verdict::Healthy
                } else {
                    Verdict::Unhealthy
                },
                failures: 0,
            },
            sentence: String::new(),
            version: None,
            unread: None,
        }),
        leaderless: Vec::new(),
        is_awaited: false,
        moves: moves(state),
        made_with: None,
        addons: Addons::Applied,
        addons_due: false,
        addons_next: Next::OnChange,
        profile: Vec::new(),
        turn: holder,
        etcd,
        strangers,
        machines,
        cluster: cluster(known, cluster_value(known.wants)),
    }
}

fn machines(state: &State) -> Vec<MachineFact> {
    let known = state.known();
    let all = known.machines.iter().enumerate();
    let all = all.filter(|(_, machine)| machine.exists);
    let facts = all.map(|(which, machine)| MachineFact {
        name: machine_name(which).into(),
        reason: String::new(),
        control_plane: machine.is_control_plane,
        addresses: machine
            .chosen
            .map(|host| address(host.into()).into())
            .into_iter()
            .collect(),
        ready: true,
        deleting: machine.deleted,
        trouble: None,
    });
    facts.collect()
}

fn moves(state: &State) -> Option<Moves> {
    let known = state.known();
    let (who, action) = both(known)
        .holder()
        .map(|turn| (of_uid(&turn.machine), turn.action))?;
    let which = usize::from(who);
    let holder = known.machines.get(which).filter(|machine| machine.exists)?;
    let turn = super::build::turn((who, action));
    (action == TurnAction::Upgrade)
        .then(|| Moves::of_update(&machine(which, holder), &turn))
        .flatten()
}

/// What is known of a member without a Machine: silence, once its server is down, that lasts as an event says.
fn facts(state: &State, members: &Members, member: &Member) -> Facts {
    let host = (0..MOST).find(|host| member.is_at(address(*host)));
    let host = host.expect("a server of the world");
    let server = &state.servers[host];
    let sign = if server.stopped || server.begun && !server.is_node() || server.api.is_none() {
        Sign::Silent
    } else {
        Sign::Connected("another".into())
    };
    let since = if state.memory.silence_lasts {
        at(0).checked_sub(SILENT_FOR).expect("a time")
    } else {
        at(0)
    };
    let known = state.known();
    let all = (0..MOST).filter(|which| known.machines[*which].exists);
    let hosts = (0..MOST).filter(|host| known.hosts[*host].exists);
    let fleet = Fleet {
        machines: all
            .map(|which| machine(which, &known.machines[which]))
            .collect(),
        hosts: hosts.map(|at| built(at, &known.hosts[at])).collect(),
        hypervisors: Vec::new(),
    };
    let nodes = node_views(
        &state.nodes,
        state.ready() & !(u8::from(server.stopped) << host),
    );
    let nodes = fleet.nodes_of("a", (members, member), &nodes);
    let turn = both(state.known()).holder().cloned();
    let busy = turn
        .filter(|turn| turn.machine != CLUSTER_UID)
        .and_then(|turn| {
            let which = usize::from(of_uid(&turn.machine));
            let waits = state.known().machines.get(which).is_some_and(|machine| {
                let said = machine.status.bootstrap.map(|(_, reason)| reason);
                said.is_some_and(|reason| super::rest::WAITS_FOR_CONTROL_PLANE.contains(&reason))
            });
            (!is_idle(members, turn.action, waits)).then_some(turn.name)
        });
    Facts {
        id: member.id,
        at: at(0),
        ours: fleet.holder(member),
        watch: Watch {
            since: (sign == Sign::Silent).then_some(since),
            sign,
            received: BTreeMap::new(),
            at: at(0),
        },
        nodes: Ok(nodes),
        busy,
    }
}

/// Carries one action out. Whether the next one may follow.
fn perform(doing: &mut Doing, observed: &Observed, action: &Action) -> bool {
    match action {
        Action::SettleTurn => go(doing, settle) == Some(Step::Done),
        Action::ReturnVacantTurn => give_back_vacant(doing),
        Action::RemoveMember { id } => remove(doing, *id),
        Action::ApplySettings { to, .. } => super::settings::apply(doing, observed, to),
        Action::RecordSettings { settings, .. } => {
            let text = Text::of(&text(settings, 0));
            doing.effect(|state| state.objects.settings = Some(text))
        }
        _ => true,
    }
}

/// Returns a later turn, if its Machine does not exist, read live.
fn give_back_vacant(doing: &mut Doing) -> bool {
    let live = both(&doing.state.objects);
    let Some(turn) = vacant::later(&live) else {
        return true;
    };
    let which = usize::from(of_uid(&turn.machine));
    let object = doing
        .state
        .objects
        .machines
        .get(which)
        .filter(|one| one.exists);
    let object = object.map(|object| machine(which, object));
    if vacant::without_machine(turn, object.as_deref()).is_none() {
        return true;
    }
    let uid = turn.machine.clone();
    go(doing, |both| give_back(both, &uid)) == Some(Step::Done)
}

/// Removes a member without a Machine, in the turn of the Cluster, or beside a Machine that has it.
fn remove(doing: &mut Doing, id: MemberId) -> bool {
    let is_allowed = |state: &State| {
        let members = state.members_now().ok()?;
        let member = members.get(id)?.clone();
        let facts = facts(state, &members, &member);
        let cluster = cluster(&state.objects, cluster_value(state.objects.wants));
        let judged = tatara_core::cluster::live::orphaned_member::may_remove(
            &cluster,
            (&members, &member),
            &facts,
        );
        judged.ok()
    };
    let object = cluster(&doing.state.objects, cluster_value(0));
    let wanted = vacant::of_cluster(&object);
    let Some(step) = go(doing, |both| hold(both, &wanted)) else {
        return false;
    };
    let is_own = match vacant::held(step) {
        vacant::Held::Own => true,
        vacant::Held::By(_) => false,
        vacant::Held::Changed => return false,
    };
    if is_allowed(&doing.state).is_some() {
        let number = u8::try_from(id.0 - 1).expect("few");
        if !doing.effect(|state| state.remove_member(number)) {
            return false;
        }
    }
    if is_own {
        debug_assert_eq!(
            doing.state.objects.secret.turn.map(|(who, _)| who),
            Some(CLUSTER)
        );
        give_back_vacant(doing);
    }
    // the pass ends by what is told
    false
}
