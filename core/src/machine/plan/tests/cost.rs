//! What a pass over a Machine costs the core: whether its host is asked, and the plan. `make
//! bench-plan` prints it; nothing is asserted of time.

use std::hint::black_box;
use std::time::Instant;

use super::members::etcd_at;
use super::*;
use crate::control_plane::component::{Answer, Component, ComponentState, Components};
use crate::machine::{ControlPlaneMachine, must_ask};
use crate::node::give_address;
use crate::settings::{self, OfCluster, Rollout};

const OWN: &str = "192.0.2.11";
const FIRST: &str = "192.0.2.21";
const SECOND: &str = "192.0.2.22";
const THREE: &[&str] = &[OWN, FIRST, SECOND];

/// Its name, what is known, and a reason that its plan states.
type Situation = (&'static str, Observed, Reason);

/// Settings as a user has some: of a static pod, of the kubelet, and a virtual IP.
fn spec() -> ClusterProviderSpec {
    let settings = json!({
        "controlPlaneEndpoint": { "host": "192.0.2.100", "heldBy": "virtualIP" },
        "kubeadm": {
            "clusterConfiguration": {
                "apiServer": { "extraArgs": [{ "name": "v", "value": "2" }] },
                "controllerManager": { "extraArgs": [{ "name": "bind-address", "value": "0.0.0.0" }] },
            },
        },
        "kubeletConfiguration": { "maxPods": 200, "imageGCHighThresholdPercent": 70 },
    });
    serde_json::from_value(settings).expect("settings")
}

/// A Machine of a cluster of three control planes, made with the settings that the Cluster has.
fn among(mut observed: Observed) -> Observed {
    let is_control_plane = observed.machine.is_control_plane();
    let mut value = observed.resolved.clone().expect("a value");
    value["node"] = json!({
        "software": { "source": "packages" },
        "registryMirrors": { "docker.io": ["https://mirror.example"] },
        "proxy": { "httpProxy": "http://proxy.example:3128" },
        "preKubeadmCommands": ["modprobe br_netfilter"],
    });
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    let record = settings::of(&spec(), JobKind::Join, is_control_plane, None).to_string();
    let annotations = json!({ (ANNOTATION_SETTINGS): record });
    let change = json!({ "metadata": { "annotations": annotations } });
    let observed = edited(observed, &change);
    let mut observed = with_cluster(observed, |cluster| {
        cluster.spec = Ok(spec());
        cluster.settings = OfCluster {
            recorded: settings::of_cluster(&spec()),
            number: 1,
            rollout: Rollout::Goes,
        };
        cluster.initialized_by = Some(OTHER.into());
        cluster.peers.take_pods = true;
    });
    if is_control_plane {
        observed.own_address = Some(OWN.into());
        observed = with_cluster(observed, |cluster| {
            cluster.initialized_by_secret = Some(OTHER.into());
            cluster.etcd = Lookup::Known(etcd_at(THREE));
            cluster.components = Some(components());
            cluster.other_control_planes = [("cp-1", FIRST), ("cp-2", SECOND)]
                .map(|(name, address)| ControlPlaneMachine {
                    name: name.into(),
                    address: Some(address.into()),
                    applied: Some("unit".into()),
                    leaves: false,
                    look: LastLook::Idle,
                    runs: None,
                })
                .into();
        });
    }
    observed
}

fn components() -> Arc<Components> {
    let serves = ComponentState::next(None, Answer::Serves, at(0));
    Arc::new(Components {
        version: Some("v1.36.3".into()),
        states: Component::ALL.map(|name| (name, serves.clone())).into(),
    })
}

/// Its part in the virtual IP is as it has to be.
fn in_its_part(mut observed: Observed) -> Observed {
    observed.applied_address = units::address(&observed).map(|unit| unit.identity);
    observed
}

/// Its node and, of a control plane, its components run an older version.
fn old(mut observed: Observed) -> Observed {
    let Lookup::Known(Some(node)) = &observed.node else {
        panic!("a Node")
    };
    observed.node = Lookup::Known(Some(Arc::new(NodeView {
        kubelet_version: "v1.35.4".into(),
        ..node.as_ref().clone()
    })));
    observed
}

/// Its host shows this job, with the steps of today.
fn shows(observed: Observed, identity: String, job: JobKind, state: UnitState) -> Observed {
    let job = UnitStatus {
        identity,
        ..unit(&observed, job, state)
    };
    let mut observed = ours(observed, vec![job]);
    if let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    {
        seen.versions.kubelet = Some("v1.35.4".into());
    }
    observed
}

fn with_turn(observed: Observed, action: TurnAction) -> Observed {
    with_cluster(observed, |cluster| {
        cluster.turn = Some(Turn {
            action,
            ..turn_of(ME)
        });
    })
}

fn situations() -> Vec<Situation> {
    let runs = || UnitState::Running(step("a"));
    let joins = [(JobKind::Join, runs())];
    let joining = |observed| {
        with_cluster(observed, |cluster| {
            cluster.etcd = Lookup::Known(etcd_at(&[FIRST, SECOND]));
        })
    };
    let worker = || among(worker());
    let plane = || in_its_part(among(running(control_plane())));
    let of_worker = units::upgrade(&old(among(running(super::worker())))).expect("a unit");
    let of_plane = units::upgrade(&with_turn(old(plane()), TurnAction::Upgrade)).expect("a unit");
    let leaves = with_turn(deleted(plane(), at(0)), TurnAction::Remove);
    let leaves = Observed {
        node: Lookup::Known(None),
        ..leaves
    };
    let given = give_address().render().expect("a unit").identity();
    vec![
        (
            "a worker at rest",
            among(running(super::worker())),
            Reason::VersionsEqual,
        ),
        (
            "a control plane at rest, one of three behind a virtual IP",
            plane(),
            Reason::VersionsEqual,
        ),
        (
            "a worker that is prepared",
            ours(worker(), vec![unit(&worker(), JobKind::Prepare, runs())]),
            Reason::Preparing,
        ),
        (
            "a worker that joins",
            prepared(worker(), &joins),
            Reason::KubeadmJoin,
        ),
        (
            "a control plane that joins",
            with_turn(
                prepared(joining(among(control_plane())), &[]),
                TurnAction::Join,
            ),
            Reason::KubeadmJoin,
        ),
        (
            "a worker between kubeadm upgrade and its kubelet",
            shows(
                old(among(running(super::worker()))),
                of_worker.identity,
                JobKind::Upgrade,
                UnitState::Succeeded,
            ),
            Reason::Draining,
        ),
        (
            "a control plane that runs kubeadm upgrade",
            shows(
                with_turn(old(plane()), TurnAction::Upgrade),
                of_plane.identity,
                JobKind::Upgrade,
                runs(),
            ),
            Reason::KubeadmUpgrade,
        ),
        (
            "a control plane that leaves, and gives the virtual IP away",
            shows(leaves, given, JobKind::Address, runs()),
            Reason::AddressChanging,
        ),
    ]
}

/// The least microseconds of a pass. Others use the machine: the fastest of many short runs is the
/// one that they disturbed least.
#[allow(clippy::disallowed_methods, reason = "it measures")]
fn micros(passes: u32, pass: impl Fn()) -> f64 {
    let run = |_| {
        let begun = Instant::now();
        (0..passes).for_each(|_| pass());
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(passes)
    };
    (0..100).map(run).fold(f64::INFINITY, f64::min)
}

fn forgetful(observed: &Observed) -> Observed {
    Observed {
        identities: Arc::default(),
        ..observed.clone()
    }
}

#[test]
fn a_plan_is_the_same_whatever_is_remembered() {
    for (name, observed, reason) in situations() {
        let first = plan(&forgetful(&observed), at(0));
        let states = first.findings.iter().any(|found| found.reason() == reason);
        assert!(states, "{name}: {first:#?}");
        for _ in 0..2 {
            assert_eq!(plan(&observed, at(0)), first, "{name}");
        }
    }
}

#[test]
#[ignore = "prints figures: make bench-plan"]
fn microseconds_of_a_pass() {
    println!("first pass, later passes: whether its host is asked, plan");
    for (name, observed, _) in situations() {
        let first = micros(1, || _ = black_box(plan(&forgetful(&observed), at(0))));
        let asks = micros(20, || _ = black_box(must_ask(&observed)));
        let plans = micros(20, || _ = black_box(plan(&observed, at(0))));
        println!("{first:8.0} {asks:8.1} {plans:8.1} µs  {name}");
    }
}
