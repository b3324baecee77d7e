//! Machines, Hosts (one of another namespace), their servers and a Cluster in memory, changed by the plans of both
//! controllers, and by all that people and backups do to objects between any two passes: Hosts deleted by force,
//! registered again, made from the YAML of others; claims, records and specs edited; the management state restored to an
//! earlier point. Whatever happens in whatever order: no second init, no host of two Machines and no Machine on two, no
//! live node reset or deleted, and who is stuck says so.
//!
//! Files on servers are changed by nothing but scripts. Servers answer, or do not; SSH tells what is there now, while
//! what a pass knows of objects may be old. The CA Secret keeps the turn, and what its own tests show of it is taken for
//! granted: it is neither edited nor restored to before a turn while the host of that turn cannot be asked, nor is that
//! Host deleted after it: then nothing in reach knows of the init, as docs/security.md says.

use proptest::prelude::*;

use super::*;
use crate::api::Host;
use crate::api::names::ANNOTATION_HOST;
use crate::controllers::host::plan as of_hosts;
use crate::controllers::host::{self, Consumer};

/// Two control-plane Machines, and a worker.
const UIDS: [&str; 3] = [ME, OTHER, "33333333-0000-4000-8000-000000000003"];
/// As many Hosts, each a server; the last is a spare.
const HOSTS: [&str; 4] = ["host-a", "host-b", "host-c", "host-d"];

type Which = usize;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A pass over a Machine; it may know the objects as they were when they were last looked at.
    Machine { which: Which, fresh: bool },
    /// A pass over a Host.
    Host { which: Which, fresh: bool },
    /// What runs on a server ends, well or not.
    Ends { server: Which, well: bool },
    /// A server stops answering, or answers again.
    Cable { server: Which },
    /// Somebody deletes a Machine.
    Delete { which: Which },
    /// Somebody takes the finalizers off a Host and deletes it.
    ForceDelete { host: Which },
    /// Somebody registers a Host again.
    Register { host: Which },
    /// Somebody removes a claim.
    Unclaim { host: Which },
    /// Somebody sets `releasing`, or takes it back.
    Releasing { host: Which },
    /// Somebody makes a Host from the YAML of another, claim and all.
    Copy { from: Which, to: Which },
    /// Somebody makes a Host of another namespace from the YAML of one here, claim and all: it stands for the same server.
    Away { from: Which },
    /// Somebody sets `releasing` there, or takes it back.
    AwayReleasing,
    /// A pass over that Host.
    AwayHost,
    /// Somebody edits a Machine: what was recorded on it, or whether it is a control plane.
    Edit { which: Which, what: u8 },
    /// Somebody takes the turn off the Cluster and its CA Secret.
    DropTurn,
    /// Somebody makes a backup.
    Backup,
    /// Somebody restores it.
    Restore,
}

fn event() -> impl Strategy<Value = Event> {
    let (m, h) = (|| 0..UIDS.len(), || 0..HOSTS.len());
    prop_oneof![
        12 => (m(), any::<bool>()).prop_map(|(which, fresh)| Event::Machine { which, fresh }),
        10 => (h(), any::<bool>()).prop_map(|(which, fresh)| Event::Host { which, fresh }),
        8 => (h(), prop::bool::weighted(0.8)).prop_map(|(server, well)| Event::Ends { server, well }),
        1 => h().prop_map(|server| Event::Cable { server }),
        2 => m().prop_map(|which| Event::Delete { which }),
        1 => h().prop_map(|host| Event::ForceDelete { host }),
        2 => h().prop_map(|host| Event::Register { host }),
        1 => h().prop_map(|host| Event::Unclaim { host }),
        1 => h().prop_map(|host| Event::Releasing { host }),
        1 => (h(), h()).prop_map(|(from, to)| Event::Copy { from, to }),
        1 => h().prop_map(|from| Event::Away { from }),
        1 => Just(Event::AwayReleasing),
        2 => Just(Event::AwayHost),
        1 => (m(), 0..4_u8).prop_map(|(which, what)| Event::Edit { which, what }),
        1 => Just(Event::DropTurn),
        1 => Just(Event::Backup),
        1 => Just(Event::Restore),
    ]
}

/// A claim: the Machine, and whether it let go.
type Claim = (Which, bool);

#[derive(Clone, Default, PartialEq)]
struct HostObject {
    /// It is registered.
    exists: bool,
    claim: Option<Claim>,
    /// Its controller found it clean.
    available: bool,
    /// Its controller says that it was reset.
    freeing: bool,
    /// Its controller says that its marker is this Machine's, whose claim it does not bear.
    orphan_of: Option<Which>,
}

#[derive(Clone, Default, PartialEq)]
struct MachineObject {
    gone: bool,
    deleted: bool,
    chosen: Option<Which>,
    settings: bool,
    node_ref: bool,
    stripped: bool,
}

/// What the API server has.
#[derive(Clone, Default, PartialEq)]
struct Objects {
    hosts: [HostObject; 4],
    machines: [MachineObject; 3],
    turn: Option<Which>,
    made_by: Option<Which>,
}

/// What is on a server.
#[derive(Clone, Default)]
struct Server {
    silent: bool,
    marker: Option<Which>,
    initialized: bool,
    joined: bool,
    /// Units: whose, which, and how it ended.
    units: Vec<(Which, UnitName, Option<bool>)>,
    /// `kubeadm init` was begun since the last reset.
    began: bool,
}

impl Server {
    /// The node of this Machine runs on it.
    fn runs(&self, machine: Which) -> bool {
        self.marker == Some(machine) && (self.initialized || self.joined)
    }

    fn says(&self) -> Observation {
        let mut seen = unmarked(Vec::new());
        seen.kubelet_active = self.initialized || self.joined;
        if let Some(machine) = self.marker {
            seen.owner = Ownership::Owner(Owner {
                marker: marker_of(machine),
                initialized: self.initialized,
                joined: self.joined,
            });
        }
        let units = self.units.iter().map(|(machine, name, end)| UnitStatus {
            machine: UIDS[*machine].into(),
            unit: *name,
            identity: String::new(),
            state: match end {
                None => UnitState::Running(step("one")),
                Some(true) => UnitState::Succeeded,
                Some(false) => failure("no"),
            },
        });
        seen.units = units.collect();
        seen
    }
}

/// What was prepared is what is wanted.
fn same_preparation(observed: &mut Observed) {
    let Ok(wanted) = units::prepare(observed).map(|unit| unit.identity()) else {
        return;
    };
    let Placement::Held(Held {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    else {
        return;
    };
    for unit in &mut seen.units {
        unit.identity.clone_from(&wanted);
    }
}

fn consumer_ref((machine, releasing): Claim) -> Value {
    let marker = marker_of(machine);
    json!({ "name": marker.machine, "uid": marker.uid, "cluster": "a", "releasing": releasing })
}

fn marker_of(machine: Which) -> Marker {
    marker(&format!("m-{machine}"), UIDS[machine])
}

struct World {
    now: Objects,
    /// The objects as each Machine, and each Host, knows them.
    known: [Objects; 7],
    backup: Option<Objects>,
    servers: [Server; 4],
    /// The Host of another namespace: its server, and its claim.
    away: Option<(Which, Claim)>,
}

impl World {
    fn new() -> Self {
        let mut now = Objects::default();
        for host in &mut now.hosts {
            host.exists = true;
            host.available = true;
        }
        Self {
            known: std::array::from_fn(|_| now.clone()),
            now,
            backup: None,
            servers: Default::default(),
            away: None,
        }
    }

    fn contact(&self, server: Which) -> Contact {
        if self.servers[server].silent {
            return Contact::Unreachable {
                reason: "SshUnreachable",
                message: "no answer".into(),
            };
        }
        says(self.servers[server].says())
    }

    /// The Node of a Machine: there once a server of it joined, and until it is deleted.
    fn has_node(&self, machine: Which) -> bool {
        self.now.made_by.is_some() && self.servers.iter().any(|server| server.runs(machine))
    }

    fn machine(&self, which: Which) -> Observed {
        let known = &self.known[which];
        let object = &known.machines[which];
        let is_control_plane = which < 2 && !object.stripped;
        let mut observed = observed(is_control_plane);
        observed.marker = marker_of(which);
        let mut machine = machine(&observed.marker.machine, UIDS[which], is_control_plane);
        let annotations = machine.metadata.annotations.get_or_insert_default();
        if let Some(host) = object.chosen {
            annotations.insert(ANNOTATION_HOST.into(), HOSTS[host].into());
        }
        if object.settings {
            annotations.insert(ANNOTATION_SETTINGS.into(), "{}".into());
        }
        observed.machine = Arc::new(machine);
        if object.node_ref {
            observed = had_node(observed);
        }
        if object.deleted {
            observed = deleted(observed, at(0));
        }
        observed = with_cluster(observed, |cluster| {
            cluster.turn = known.turn.map(|turn| turn_of(UIDS[turn]));
            cluster.initialized_by = known.made_by.map(|by| UIDS[by].to_owned());
        });
        if self.has_node(which) {
            let mut node = node();
            node.annotations.insert(
                "cluster.k8s.io/machine".into(),
                format!("default/m-{which}"),
            );
            observed.node = Seen::Known(Some(Arc::new(node)));
        }
        self.placed(which, observed)
    }

    fn placed(&self, which: Which, mut observed: Observed) -> Observed {
        let known = &self.known[which];
        let claims: Vec<Which> = (0..HOSTS.len())
            .filter(|host| known.hosts[*host].exists)
            .filter(|host| {
                known.hosts[*host]
                    .claim
                    .is_some_and(|(machine, _)| machine == which)
            })
            .collect();
        let free = (0..HOSTS.len()).find(|host| {
            let host = &known.hosts[*host];
            host.exists && host.claim.is_none() && host.available
        });
        let refused = Refusal {
            reason: "NoHostAvailable",
            message: "none is free".into(),
        };
        observed.placement =
            Placement::None(free.map(|host| HOSTS[host].to_owned()).ok_or(refused));
        if let [host] = claims.as_slice() {
            let releasing = known.hosts[*host]
                .claim
                .is_some_and(|(_, releasing)| releasing);
            let deleted = known.machines[which].deleted;
            let asks = if releasing {
                known.hosts[*host].freeing
            } else {
                !deleted && !self.has_node(which)
            };
            observed.placement = held(if asks {
                self.contact(*host)
            } else {
                Contact::NotAsked
            });
            if let Placement::Held(held) = &mut observed.placement {
                held.releasing = releasing;
                held.name = HOSTS[*host].into();
            }
        } else if claims.len() > 1 {
            observed.contested = claims.iter().map(|host| HOSTS[*host].to_owned()).collect();
        }
        same_preparation(&mut observed);
        let marked = || {
            known
                .hosts
                .iter()
                .position(|host| host.orphan_of == Some(which))
        };
        observed.chosen = known.machines[which]
            .chosen
            .or_else(marked)
            .map(|host| Chosen {
                host: HOSTS[host].into(),
                now: match (&observed.placement, &known.hosts[host]) {
                    (Placement::Held(_), _) => Unheld::Held,
                    (_, object) if !object.exists => Unheld::Missing,
                    (_, object)
                        if object.claim.is_none()
                            && object.available
                            && !known.machines[which].deleted =>
                    {
                        Unheld::Free
                    }
                    _ => Unheld::Asked(self.contact(host)),
                },
            });
        observed
    }

    fn host(&self, which: Which) -> host::Observed {
        let known = &self.known[UIDS.len() + which];
        let object = &known.hosts[which];
        let mut manifest = json!({
            "apiVersion": "tatara.dev/v1alpha1",
            "kind": "Host",
            "metadata": { "name": HOSTS[which], "namespace": "default", "uid": HOSTS[which] },
            "spec": { "ssh": { "address": HOSTS[which], "credentialsRef": { "name": "key" } } },
        });
        if let Some(claim) = object.claim {
            manifest["spec"]["consumerRef"] = consumer_ref(claim);
        }
        let host: Host = serde_json::from_value(manifest).expect("a Host");
        let rivals = (0..HOSTS.len()).filter(|other| {
            let other_host = &known.hosts[*other];
            let claim = |host: &HostObject| host.claim.map(|(machine, _)| machine);
            *other != which
                && other_host.exists
                && claim(object).is_some()
                && claim(other_host) == claim(object)
        });
        let contact = match self.contact(which) {
            Contact::Seen(seen) => host::Contact::Seen(seen),
            _ => host::Contact::Failed(crate::provider::ContactError {
                reason: "SshUnreachable",
                message: "no answer".into(),
                transient: true,
            }),
        };
        let consumer = object.claim.map_or(Consumer::Missing, |(machine, _)| {
            let of = &known.machines[machine];
            let recorded = known.turn == Some(machine) || known.made_by == Some(machine);
            if of.gone {
                return Consumer::Missing;
            }
            Consumer::Exists {
                is_deleting: of.deleted,
                is_begun: of.settings || of.node_ref || recorded || self.has_node(machine),
            }
        });
        let server = &self.servers[which];
        let guards = server.marker.filter(|machine| {
            let by = known.made_by;
            server.initialized && by.is_none_or(|by| by == *machine)
        });
        host::Observed {
            host: Arc::new(host),
            management: "management".into(),
            twins: crate::controllers::host::twins::Twins::default(),
            contact,
            bmc: None,
            is_missed: false,
            heard_at: None,
            first_contact_keys: Vec::new(),
            following: None,
            owner: host::Owner::Unknown,
            consumer,
            rivals: rivals.map(|other| HOSTS[other].to_owned()).collect(),
            guards: guards.map(|_| "a".into()),
            stands_in: None,
            unrecorded: None,
            attempts: Attempts::default(),
            has_media: false,
            installation: None,
        }
    }

    /// The Host of another namespace, where neither the Machine nor the Cluster is; their UIDs are the same.
    fn away(&self, server: Which, claim: Claim) -> host::Observed {
        let mut observed = self.host(server);
        let host = Arc::make_mut(&mut observed.host);
        host.metadata.namespace = Some("other".into());
        let claim = serde_json::from_value(consumer_ref(claim)).expect("a claim");
        host.spec.consumer_ref = Some(claim);
        observed.consumer = Consumer::Missing;
        observed.rivals = Vec::new();
        observed
    }

    fn pass_away(&mut self) -> Result<(), TestCaseError> {
        let Some((server, claim)) = self.away else {
            return Ok(());
        };
        let plan = of_hosts::plan(&self.away(server, claim), at(0));
        for action in &plan.actions {
            match action {
                of_hosts::Action::Free(_) => {
                    let lives = self.servers[server].runs(claim.0);
                    prop_assert!(!lives, "a host was freed whose node runs");
                    self.away = None;
                }
                _ => prop_assert!(false, "{action:?} on a server of another namespace"),
            }
        }
        Ok(())
    }

    /// Something that can be asked, or is recorded, says that another host ran `kubeadm init`; see the turn's own tests.
    fn is_witnessed(&self, machine: Which, server: Which) -> bool {
        let other = |(which, found): (Which, &Server)| {
            which != server && self.now.hosts[which].exists && !found.silent && found.began
        };
        let begun = |(which, found): (Which, &MachineObject)| {
            which != machine && found.settings && !found.gone
        };
        self.servers.iter().enumerate().any(other)
            || self.now.machines.iter().enumerate().any(begun)
    }

    fn pass_machine(&mut self, which: Which) -> Result<(), TestCaseError> {
        let observed = self.machine(which);
        let plan = plan(&observed, at(0));
        says_why(&plan)?;
        for action in &plan.actions {
            if !self.perform(which, &observed, action)? {
                break;
            }
        }
        let object = &mut self.now.machines[which];
        object.node_ref |= !object.gone && matches!(observed.node, Seen::Known(Some(_)));
        Ok(())
    }

    /// Carries an action out as `execute` does: judged on what is true now, where that matters. Says whether the next
    /// may follow.
    fn perform(
        &mut self,
        which: Which,
        observed: &Observed,
        action: &Action,
    ) -> Result<bool, TestCaseError> {
        let index = |name: &str| HOSTS.iter().position(|host| *host == name).expect("a Host");
        let known = self.known[which].clone();
        let place = match &observed.placement {
            Placement::Held(held) => Some(index(&held.name)),
            Placement::None(_) => None,
        };
        let is_same = self.now.machines[which] == known.machines[which];
        match action {
            Action::Acquire { host, .. } => {
                let host = index(host);
                if !is_same {
                    return Ok(false);
                }
                self.now.machines[which].chosen = Some(host);
                let live = &mut self.now.hosts[host];
                if *live != known.hosts[host] {
                    return Ok(false);
                }
                live.claim = Some((which, false));
            }
            Action::TakeHost => {
                let server = &mut self.servers[place.expect("a place")];
                if server.marker.is_none() && !server.silent {
                    server.marker = Some(which);
                    server.units.clear();
                }
            }
            Action::RunUnit(name) => return Ok(self.run(which, place.expect("a place"), *name)),
            Action::TakeTurn(_) => {
                let is_free = self.now.turn.is_none() && self.now.made_by.is_none();
                if !is_free || self.is_witnessed(which, place.expect("a place")) {
                    return Ok(false);
                }
                self.now.turn = Some(which);
            }
            Action::ReturnTurn(_) if self.now.turn == Some(which) => self.now.turn = None,
            Action::RecordInitialized if self.now.made_by.is_none() => {
                self.now.made_by = Some(which);
                self.now.turn = self.now.turn.filter(|turn| *turn != which);
            }
            Action::Release => {
                let live = &mut self.now.hosts[place.expect("a place")];
                if live.claim != Some((which, false)) {
                    return Ok(false);
                }
                live.claim = Some((which, true));
            }
            Action::DeleteNode { .. } => {
                let lives = self.servers.iter().any(|server| server.runs(which));
                prop_assert!(!lives, "the Node of a server that runs was deleted");
            }
            Action::RemoveFinalizer(_) => {
                if !is_same {
                    return Ok(false);
                }
                self.now.machines[which].gone = true;
            }
            _ => (),
        }
        Ok(true)
    }

    fn run(&mut self, which: Which, at_server: Which, name: UnitName) -> bool {
        let turn = self.now.turn == Some(which) && self.now.made_by.is_none();
        if name == UnitName::Init && (!turn || self.is_witnessed(which, at_server)) {
            return false;
        }
        if matches!(name, UnitName::Init | UnitName::Join) {
            self.now.machines[which].settings = true;
        }
        let server = &mut self.servers[at_server];
        let runs = server.units.iter().any(|(_, _, end)| end.is_none());
        if server.marker == Some(which) && !server.silent && !runs {
            server.units.retain(|(_, old, _)| *old != name);
            server.units.push((which, name, None));
            server.began |= name == UnitName::Init;
        }
        true
    }

    fn pass_host(&mut self, which: Which) -> Result<(), TestCaseError> {
        if !self.known[UIDS.len() + which].hosts[which].exists {
            return Ok(());
        }
        let observed = self.host(which);
        let plan = of_hosts::plan(&observed, at(0));
        let known = self.known[UIDS.len() + which].hosts[which].clone();
        for action in &plan.actions {
            match action {
                of_hosts::Action::Reset(marker) => self.reset(which, marker, &known)?,
                of_hosts::Action::Free(_) if self.now.hosts[which].claim == known.claim => {
                    let (machine, _) = known.claim.expect("a claim");
                    let lives = self.servers[which].runs(machine);
                    prop_assert!(!lives, "a host was freed whose node runs");
                    self.now.hosts[which].claim = None;
                    self.now.turn = self.now.turn.filter(|turn| *turn != machine);
                }
                _ => (),
            }
        }
        let available = plan
            .findings
            .iter()
            .find(|found| found.condition == "Available");
        let available = available.expect("a finding");
        let live = &mut self.now.hosts[which];
        live.available = live.exists && available.status == Status::True;
        live.freeing = available.reason == "Freeing";
        let marker = self.servers[which].marker;
        live.orphan_of = marker.filter(|_| live.exists && available.reason == "Orphaned");
        prop_assert!(available.status == Status::True || !available.message.is_empty());
        Ok(())
    }

    /// The live reads of the Host's `execute`, and then the unit, which runs only where the marker is that Machine's.
    fn reset(
        &mut self,
        which: Which,
        marker: &Marker,
        known: &HostObject,
    ) -> Result<(), TestCaseError> {
        let machine = UIDS
            .iter()
            .position(|uid| *uid == marker.uid)
            .expect("a Machine");
        let object = &self.now.machines[machine];
        let live = &self.now.hosts[which];
        let server = &mut self.servers[which];
        if live.claim != known.claim || server.marker != Some(machine) || server.silent {
            return Ok(());
        }
        if !object.gone && !object.deleted {
            return Ok(());
        }
        let is_only = self.now.made_by == Some(machine) && server.initialized;
        prop_assert!(!is_only, "the only control plane was reset");
        let runs = server.units.iter().any(|(_, _, end)| end.is_none());
        if !runs {
            *server = Server {
                units: vec![(machine, UnitName::Reset, Some(true))],
                ..Server::default()
            };
        }
        Ok(())
    }

    fn ends(&mut self, server: Which, well: bool) {
        let server = &mut self.servers[server];
        for (_, name, end) in server.units.iter_mut().filter(|(_, _, end)| end.is_none()) {
            *end = Some(well);
            server.initialized |= well && *name == UnitName::Init;
            server.joined |= well && *name == UnitName::Join;
        }
    }

    /// Whoever could say that init was begun can be asked.
    fn can_be_asked(&self) -> bool {
        let began = self
            .servers
            .iter()
            .enumerate()
            .filter(|(_, server)| server.began);
        began
            .into_iter()
            .all(|(which, server)| self.now.hosts[which].exists && !server.silent)
    }

    /// Without this Host it is still recorded that init was begun on its server, if it was.
    fn is_known_without(&self, host: Which) -> bool {
        let server = &self.servers[host];
        let names = |machine: Which| {
            let object = &self.now.machines[machine];
            let by = [self.now.turn, self.now.made_by];
            by.contains(&Some(machine)) || (object.settings && !object.gone)
        };
        !server.began || server.marker.is_some_and(names)
    }

    fn happen(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Machine { which, fresh } => {
                if fresh || self.now.machines[which].gone {
                    self.known[which] = self.now.clone();
                }
                if !self.known[which].machines[which].gone {
                    self.pass_machine(which)?;
                }
            }
            Event::Host { which, fresh } => {
                if fresh {
                    self.known[UIDS.len() + which] = self.now.clone();
                }
                self.pass_host(which)?;
            }
            Event::Ends { server, well } => self.ends(server, well),
            Event::Cable { server }
                if self.servers[server].silent || !self.servers[server].began =>
            {
                self.servers[server].silent ^= true;
            }
            Event::Delete { which } => self.now.machines[which].deleted = true,
            Event::ForceDelete { host } if self.is_known_without(host) => {
                self.now.hosts[host] = HostObject::default();
            }
            Event::Register { host } => self.now.hosts[host].exists = true,
            Event::Unclaim { host } => self.now.hosts[host].claim = None,
            Event::Releasing { host } => {
                if let Some((_, releasing)) = &mut self.now.hosts[host].claim {
                    *releasing ^= true;
                }
            }
            Event::Copy { from, to } if self.now.hosts[to].claim.is_none() => {
                self.now.hosts[to].claim = self.now.hosts[from].claim;
            }
            Event::Away { from } => {
                self.away = self.now.hosts[from].claim.map(|claim| (from, claim));
            }
            Event::AwayReleasing => {
                if let Some((_, (_, releasing))) = &mut self.away {
                    *releasing ^= true;
                }
            }
            Event::AwayHost => self.pass_away()?,
            Event::Edit { which, what } => {
                let machine = &mut self.now.machines[which];
                match what {
                    0 => machine.chosen = None,
                    1 if self.servers.iter().all(|server| !server.began) => {
                        machine.settings = false;
                    }
                    2 => machine.node_ref = false,
                    _ => machine.stripped ^= true,
                }
            }
            Event::DropTurn if self.can_be_asked() => self.now.turn = None,
            Event::Backup => self.backup = Some(self.now.clone()),
            Event::Restore if self.can_be_asked() => self.restore(),
            _ => (),
        }
        Ok(())
    }

    /// Everything in the management cluster is as it was; the manager starts anew.
    fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            self.now = backup;
            self.known = std::array::from_fn(|_| self.now.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_edit_no_loss_and_no_backup_makes_two_inits_or_touches_what_is_anothers(
        events in prop::collection::vec(event(), 1..160),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event)?;
            let began = world.servers.iter().filter(|server| server.began).count();
            prop_assert!(began <= 1, "init was begun on {began} servers after {event:?}");
            for machine in 0..UIDS.len() {
                let runs = world.servers.iter().filter(|server| server.runs(machine)).count();
                prop_assert!(runs <= 1, "Machine {machine} runs on {runs} servers after {event:?}");
            }
        }
    }
}

/// What waits says why: whoever reads the Machine's conditions knows that it is stuck.
fn says_why(plan: &Plan) -> Result<(), TestCaseError> {
    let ready = plan
        .findings
        .iter()
        .find(|found| found.condition == "Ready");
    let says = ready.is_some_and(|ready| ready.status == Status::True || !ready.message.is_empty());
    prop_assert!(plan.hands_off || says, "{plan:#?}");
    Ok(())
}

#[test]
fn a_cluster_is_made_and_its_worker_goes_and_gives_its_host_back() {
    let mut world = World::new();
    let round = |world: &mut World| {
        for which in 0..HOSTS.len() {
            if which < UIDS.len() {
                world
                    .happen(Event::Machine { which, fresh: true })
                    .expect("a pass");
            }
            world
                .happen(Event::Host { which, fresh: true })
                .expect("a pass");
            let ends = Event::Ends {
                server: which,
                well: true,
            };
            world.happen(ends).expect("an end");
        }
    };
    for _ in 0..20 {
        round(&mut world);
    }
    assert!(
        world.now.made_by.is_some() && world.has_node(2),
        "a cluster with a worker"
    );
    let host = (0..HOSTS.len())
        .find(|host| world.servers[*host].runs(2))
        .expect("its host");
    world.now.machines[2].deleted = true;
    for _ in 0..20 {
        round(&mut world);
    }
    assert!(world.now.machines[2].gone);
    assert_eq!(world.now.hosts[host].claim, None);
    assert!(world.now.hosts[host].available && world.servers[host].marker.is_none());
}
