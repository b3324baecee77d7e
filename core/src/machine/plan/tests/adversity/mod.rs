//! Machines, Hosts (one of another namespace), their servers and a Cluster in memory, changed by
//! the plans of both controllers, and by all that people and backups do to objects between any two
//! passes: Hosts deleted by force, registered again, made from the YAML of others; claims, records
//! and specs edited; the management state restored to an earlier point. Whatever happens in
//! whatever order: no second init, no host of two Machines and no Machine on two, no live node
//! reset or deleted, and who is stuck says so.
//!
//! Files on servers are changed by nothing but scripts. Servers answer, or do not; SSH tells what
//! is there now, while what a pass knows of objects may be old. The CA Secret keeps the turn, and
//! what its own tests show of it is taken for granted: it is neither edited nor restored to before
//! a turn while the host of that turn cannot be asked, nor is that Host deleted after it: then
//! nothing in reach knows of the init, as docs/security.md says.

mod events;
mod passes;
mod servers;
mod views;

use proptest::prelude::*;

use super::*;
use crate::api::Host;
use crate::api::names::ANNOTATION_HOST;
use crate::host::plan as of_hosts;
use crate::host::{self, Consumer};
use events::{Event, event};
use servers::{Server, consumer_ref, marker_of, same_preparation};

/// Two control-plane Machines, and a worker.
const UIDS: [&str; 3] = [ME, OTHER, "33333333-0000-4000-8000-000000000003"];
/// As many Hosts, each a server; the last is a spare.
const HOSTS: [&str; 4] = ["host-a", "host-b", "host-c", "host-d"];

type Which = usize;

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

struct World {
    now: Objects,
    /// The objects as each Machine, and each Host, knows them.
    known: [Objects; 7],
    backup: Option<Objects>,
    servers: [Server; 4],
    /// The Host of another namespace: its server, and its claim.
    away: Option<(Which, Claim)>,
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
    let says =
        ready.is_some_and(|ready| ready.status == Status::True || !ready.message().is_empty());
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
