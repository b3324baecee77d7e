//! The contract of providers, as one scenario that runs for each: a place is acquired once however often it is asked for,
//! observed as what it is, switched, and given back once; and nothing that is done for one Machine reaches another's.

pub mod api;
pub mod hosts;

use std::sync::Arc;
use std::time::Duration;
use tatara_core::Why;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::core::NamespaceResourceScope;
use tatara::engine::{Engine, ReconcileError};
use tatara::providers::{Place, Provider};
use tatara::store::{IndexKeys, Kind, Scope, Stores, Wakers, watch};
use tatara_core::api::conditions::Reason;
use tatara_core::api::{Machine, MachineProviderSpec};
use tatara_core::machine::plan::{Acquire, Power, Release};
use tatara_core::machine::{Infrastructure, LastLook, Lookup, Observed, Placement};
use tatara_core::node::Marker;

/// The world outside in which a provider has room for two Machines, `a` and `b`.
pub trait World {
    fn provider(&self) -> &dyn Provider;

    /// A Machine as its API server has it now; its place is not known yet.
    fn machine(&self, name: &str) -> impl Future<Output = Observed>;

    /// How many places Machine `a` has in the world outside, whatever the provider says.
    fn places(&self) -> impl Future<Output = usize>;

    /// Does what others do once a place was given back, such as the Host's own controller.
    fn after_release(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// Runs the scenario.
pub async fn holds(world: &impl World) {
    let before = pass(world, "a").await;
    assert!(held(&before).is_none(), "absent: {:?}", before.placement);
    assert_eq!(world.places().await, 0, "observing makes nothing");

    acquire(world, "a").await;
    until("one place", async || world.places().await == 1).await;
    acquire(world, "a").await;
    // as one that does not see what the process before it has done
    let again = acquire_from(world, &before).await;
    assert!(again.is_ok() || is_conflict(&again), "{again:?}");
    assert_eq!(world.places().await, 1, "twice is once");
    let name = held(&pass(world, "a").await).expect("a place").name.clone();

    for _ in 0..2 {
        let now = pass(world, "a").await;
        let switched = world.provider().power(&now, Power::On).await;
        switched.expect("what is on is left on");
    }
    is_still(world, &name).await;

    another_takes_nothing(world, &name).await;

    let place = leaving(world, "a").await;
    release(world, &place).await.expect("a release");
    let again = release(world, &leaving(world, "a").await).await;
    assert!(again.is_ok(), "{again:?}");
    until("no place", async || {
        world.after_release().await;
        held(&leaving(world, "a").await).is_none()
    })
    .await;
    // what was decided upon is not so any more: done already, or refused
    let late = release(world, &place).await;
    assert!(late.is_ok() || is_conflict(&late), "{late:?}");
    until("still no place", async || {
        held(&leaving(world, "a").await).is_none()
    })
    .await;
}

/// Whatever is done for Machine `b` with the name and the place of Machine `a`, `a` keeps its place.
async fn another_takes_nothing(world: &impl World, name: &str) {
    let step = Acquire::Place {
        name: name.to_owned(),
        instead: None,
    };
    let other = pass(world, "b").await;
    let taken = world.provider().acquire(&other, &step).await.map(drop);
    assert!(taken.is_ok() || is_conflict(&taken), "{taken:?}");
    is_still(world, name).await;

    let its = pass(world, "a").await;
    let forged = Observed {
        placement: its.placement,
        virtual_machine: its.virtual_machine,
        ..leaving(world, "b").await
    };
    let released = release(world, &forged).await;
    assert!(released.is_ok() || is_conflict(&released), "{released:?}");
    is_still(world, name).await;
    assert_eq!(world.places().await, 1);
}

async fn is_still(world: &impl World, name: &str) {
    let now = pass(world, "a").await;
    let held = held(&now).expect("its place");
    assert_eq!((held.name.as_str(), held.releasing), (name, false));
}

async fn acquire(world: &impl World, machine: &str) {
    until("a place", async || {
        let now = pass(world, machine).await;
        acquire_from(world, &now).await.expect("a step");
        let now = pass(world, machine).await;
        let virtual_machine = now.virtual_machine.as_ref();
        let is_made = virtual_machine.is_none_or(|machine| {
            machine
                .told
                .as_ref()
                .is_ok_and(|told| told.machine.is_some())
        });
        held(&now).is_some() && is_made
    })
    .await;
}

/// All steps, in order; those that a provider does not have are done already.
async fn acquire_from(world: &impl World, now: &Observed) -> Result<(), ReconcileError> {
    let place = match &now.placement {
        Placement::None(Ok(name)) => Some(Acquire::Place {
            name: name.clone(),
            instead: None,
        }),
        _ => None,
    };
    let steps = place.into_iter().chain([Acquire::Image, Acquire::Machine]);
    for step in steps {
        world.provider().acquire(now, &step).await?;
    }
    Ok(())
}

async fn release(world: &impl World, now: &Observed) -> Result<(), ReconcileError> {
    let released = world.provider().release(now, Release::Now).await;
    released.map(drop)
}

fn is_conflict(result: &Result<(), ReconcileError>) -> bool {
    result.as_ref().is_err_and(ReconcileError::is_conflict)
}

fn held(machine: &Observed) -> Option<&Infrastructure> {
    match &machine.placement {
        Placement::Held(held) => Some(held),
        Placement::None(_) => None,
    }
}

/// A Machine with its place, as a pass knows it.
pub async fn pass(world: &impl World, machine: &str) -> Observed {
    let observed = world.machine(machine).await;
    with_place(world, observed).await
}

/// The same, while it is being deleted.
async fn leaving(world: &impl World, machine: &str) -> Observed {
    let mut observed = world.machine(machine).await;
    let now = Time(tatara::clock::now());
    Arc::make_mut(&mut observed.machine)
        .metadata
        .deletion_timestamp = Some(now);
    with_place(world, observed).await
}

async fn with_place(world: &impl World, observed: Observed) -> Observed {
    let Place {
        placement,
        virtual_machine,
        ..
    } = world.provider().observe(&observed).await;
    Observed {
        placement,
        virtual_machine,
        ..observed
    }
}

/// What a pass knows before it asks a provider.
pub fn observed(machine: Machine) -> Observed {
    let value = machine.spec.provider_spec.value.as_ref();
    let spec = MachineProviderSpec::decode(value.expect("a spec")).expect("a spec of ours");
    Observed {
        marker: Marker {
            management: "here".into(),
            namespace: machine.namespace().expect("a namespace"),
            cluster: "c".into(),
            machine: machine.name_any(),
            uid: machine.uid().expect("a UID"),
        },
        started_at: k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
        paused_by: None,
        cluster: None,
        whose: None,
        spec: Ok(spec),
        resolved: None,
        placement: Placement::None(Err(Why::new(Reason::Starting, String::new()))),
        virtual_machine: None,
        namesake: None,
        contested: Vec::new(),
        claiming: None,
        claims: Vec::new(),
        chosen: None,
        node: Lookup::Known(None),
        follow: None,
        own_address: None,
        applied_address: None,
        last_look: LastLook::Idle,
        has_token: false,
        attempts: [].into(),
        identities: Arc::default(),
        machine: Arc::new(machine),
    }
}

/// What controllers share, over this API server.
pub fn engine(client: kube::Client) -> Arc<Engine> {
    Arc::new(Engine::new(
        client,
        Arc::new(Stores::default()),
        || true,
        |_, _| (),
    ))
}

/// Holds what there is of a kind, and what is written from now on.
pub async fn listed<K>(engine: &Arc<Engine>, of: fn(&Stores) -> &Kind<K>)
where
    K: IndexKeys
        + kube::Resource<Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (client, stores) = (engine.client.clone(), engine.stores.clone());
    let hook = Box::new(|_: &K, _: Option<&K>, _| ());
    tokio::spawn(watch(client, Scope::default(), stores, of, hook));
    let listed = of(&engine.stores).reader();
    listed.wait_until_ready().await.expect("a list");
}

/// Wakers that nobody listens to.
pub fn wakers() -> Wakers {
    macro_rules! wakers {
        ($($field:ident),*) => { Wakers { $($field: tatara::store::Waker::channel().0),* } };
    }
    wakers!(
        clusters,
        profiles,
        planners,
        machines,
        machine_sets,
        machine_deployments,
        machine_classes,
        hosts,
        hypervisors,
        credentials,
        gateway_credentials,
        bmc_credentials
    )
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1800 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{what}: not within three minutes");
}
