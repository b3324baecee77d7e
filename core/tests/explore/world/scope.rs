//! The Cluster as its Machines see it, with its etcd and its components.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tatara_core::api::{self, ClusterProviderSpec};
use tatara_core::control_plane::component::{Answer, Component, ComponentState, Components};
use tatara_core::control_plane::turn::Doubt;
use tatara_core::control_plane::{MemberHealth, MemberId, Members, members};
use tatara_core::kubeadm::Endpoint;
use tatara_core::machine::{ControlPlaneMachine, Lookup, ObservedCluster, Peers, is_begun};
use tatara_core::node::JobKind;
use tatara_core::settings::{OfCluster, Rollout};

use super::build::{
    CLUSTER_UID, UIDS, address, at, both, cluster, host_name, machine, machine_name, version,
};
use super::peers;
use super::state::{MOST, Objects};
use super::view::{Read, Serving, View};

/// The provider's part of the Cluster, with these settings.
pub fn cluster_value(wants: u8) -> &'static Value {
    static VALUES: LazyLock<[Value; 3]> = LazyLock::new(|| {
        [0, 1, 2].map(|number| {
            let mut value = json!({
                "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec",
                "controlPlaneEndpoint": { "host": "192.0.2.100" },
            });
            if number > 0 {
                value["kubeletConfiguration"] = json!({ "maxPods": 100 + number });
                let arguments = json!([{ "name": "v", "value": number.to_string() }]);
                value["kubeadm"] =
                    json!({ "clusterConfiguration": { "apiServer": { "extraArgs": arguments } } });
            }
            value
        })
    });
    &VALUES[usize::from(wants)]
}

pub fn cluster_spec(wants: u8) -> &'static ClusterProviderSpec {
    static SPECS: LazyLock<[ClusterProviderSpec; 3]> = LazyLock::new(|| {
        [0, 1, 2].map(|number| {
            ClusterProviderSpec::decode(Some(cluster_value(number))).expect("settings")
        })
    });
    &SPECS[usize::from(wants)]
}

/// The Cluster as a Machine sees it.
pub fn of_cluster(view: &View, own: &api::Machine) -> ObservedCluster {
    let scope = &view.cluster;
    let objects = Objects {
        secret: scope.secret,
        cluster: scope.cluster,
        wants: scope.wants,
        settings: scope.settings,
        writing: scope.writing,
        ..Objects::default()
    };
    let both = both(&objects);
    let spec = cluster_spec(scope.wants);
    let object = cluster(&objects, cluster_value(scope.wants));
    let settings = OfCluster::of(&object, spec);
    let turn = both.holder().cloned();
    let uid = UIDS[view.which];
    let is_plane = view.own.is_control_plane
        || both.has_turn_of(uid)
        || [&both.secret, &both.cluster]
            .iter()
            .any(|marks| marks.initialized.as_deref() == Some(uid));
    let others = || view.others.iter().enumerate();
    let goes = (settings.rollout == Rollout::Goes).then_some(spec);
    ObservedCluster {
        name: "a".into(),
        uid: CLUSTER_UID.into(),
        network: object.spec.cluster_network.clone(),
        spec: Ok(spec.clone()),
        deleting: false,
        published: false,
        initialized_by: both.cluster.initialized.clone(),
        initialized_by_secret: both.secret.initialized.clone(),
        other_turn: match &both.cluster.turn {
            tatara_core::control_plane::turn::Holder::Of(other)
                if turn
                    .as_ref()
                    .is_some_and(|first| first.machine != other.machine) =>
            {
                Some(other.clone())
            }
            _ => None,
        },
        in_doubt: scope
            .doubt
            .map(|reason| Box::new(both.doubt().unwrap_or(Doubt::Reported(reason)))),
        certificates_ready: true,
        external: false,
        endpoint: Some(Endpoint {
            host: "192.0.2.100".into(),
            port: 6443,
        }),
        etcd: if is_plane {
            etcd(view)
        } else {
            Lookup::NotYet(String::new())
        },
        components: view
            .api
            .map(|(version, serving)| components(version, serving)),
        other_control_planes: others()
            .filter_map(|(which, other)| Some((which, other.as_ref()?)))
            .filter(|(_, other)| is_plane && other.is_control_plane)
            .filter(|(which, other)| is_begun(&machine(*which, other)))
            .map(|(which, other)| ControlPlaneMachine {
                name: machine_name(which).into(),
                address: other.chosen.map(|host| address(host.into()).into()),
                applied: None,
                leaves: other.deleted,
                look: view.looks[which],
                runs: job_of(view, which, other.status.node.is_some()),
            })
            .collect(),
        version: view.lowest.map(|lowest| version(lowest).to_owned()),
        recorded: None,
        peers: if scope.cluster.initialized.is_some() {
            peers::of(view, own, turn.as_ref(), is_plane, goes)
        } else {
            Peers::default()
        },
        turn_waits: None,
        workers_left: 1,
        turn,
        settings,
    }
}

/// The job that changes a member on the host of another, as far as the manager knows.
fn job_of(view: &View, which: usize, has_node: bool) -> Option<JobKind> {
    let followed = view.follows[which].filter(|kind| changes_member(*kind, has_node));
    followed.or(view.looks[which].job())
}

/// Whether a job changes a member: the commands after a join do not.
pub fn changes_member(kind: JobKind, has_node: bool) -> bool {
    JobKind::OF_MEMBER.contains(&kind) && !(kind == JobKind::Join && has_node)
}

fn etcd(view: &View) -> Lookup<Arc<Members>> {
    match view.members_read {
        Read::NotYet => Lookup::NotYet("etcd has not been asked yet".into()),
        Read::Fails => Lookup::Unknown("no quorum".into()),
        Read::Known => Lookup::Known(Arc::new(core_members(&view.members, view.healthy))),
    }
}

/// A list of members, as etcd answers.
pub fn core_members(of: &[Option<super::state::Member>; MOST], healthy: u8) -> Members {
    let list = of.iter().flatten().map(|member| members::Member {
        id: MemberId(u64::from(member.id) + 1),
        name: if member.learns {
            String::new()
        } else {
            host_name(member.host.into()).into()
        },
        peer_urls: vec![format!("https://{}:2380", address(member.host.into()))],
        is_learner: member.learns,
    });
    let health = of.iter().flatten().filter(|member| !member.learns);
    let health = health.map(|member| {
        let health = if healthy & 1 << member.host != 0 {
            MemberHealth::Healthy
        } else {
            MemberHealth::Unhealthy("it does not answer".into())
        };
        (MemberId(u64::from(member.id) + 1), health)
    });
    let leader = of
        .iter()
        .flatten()
        .find(|member| healthy & 1 << member.host != 0);
    Members {
        list: list.collect(),
        health: health.collect(),
        leader: leader.map(|member| MemberId(u64::from(member.id) + 1)),
        ..Members::default()
    }
}

/// The components beside a Machine, as they were asked.
pub fn components(of: super::state::Version, serving: Serving) -> Arc<Components> {
    let answer = || match serving {
        Serving::Serves => Answer::Serves,
        Serving::Fails | Serving::Lost => Answer::Fails("connection refused".into()),
    };
    let first = ComponentState::next(None, Answer::Serves, at(0));
    let then = ComponentState::next(Some(&first), answer(), at(10));
    let state = if serving == Serving::Lost {
        ComponentState::next(Some(&then), answer(), at(60))
    } else {
        then
    };
    Arc::new(Components {
        version: Some(version(of).into()),
        states: Component::ALL.map(|name| (name, state.clone())).into(),
    })
}
