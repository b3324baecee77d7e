//! The components of the control-plane machines of a Cluster: what is remembered of their answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use kube::ResourceExt;

use super::ControlPlanes;
use super::probe::Probes;
use tatara_core::api::cluster::TurnAction;
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::Members;
use tatara_core::control_plane::component::{Answer, Component, ComponentState, Components};
use tatara_core::control_plane::turn::Holder;

/// What one machine answered.
pub struct Answers {
    machine: Arc<Machine>,
    /// Address of its etcd's peer URL.
    address: String,
    version: Option<String>,
    each: Vec<(Component, Answer)>,
}

impl ControlPlanes {
    /// Asks API server, controller manager and scheduler of all machines of a control plane, but of
    /// one on which kubeadm starts them.
    pub async fn ask_components(&self, cluster: &Cluster) -> Vec<Answers> {
        self.ask_those(cluster, |_| true).await
    }

    /// Asks those of one Machine.
    pub async fn ask_components_of(&self, cluster: &Cluster, uid: &str) -> Vec<Answers> {
        let is_asked = |machine: &Machine| machine.metadata.uid.as_deref() == Some(uid);
        self.ask_those(cluster, is_asked).await
    }

    async fn ask_those(
        &self,
        cluster: &Cluster,
        is_asked: impl Fn(&Machine) -> bool,
    ) -> Vec<Answers> {
        let probes = Probes::of(self, cluster).await;
        let starts = self.starts(cluster);
        let mut machines = self.machines(cluster);
        machines.retain(|machine| machine.uid() != starts && is_asked(machine));
        let asking = machines.into_iter().filter_map(|machine| {
            let (server, address) = self.providers.server_of(&machine)?;
            let probes = &probes;
            Some(async move {
                let (version, each) = probes.ask(server.as_ref()).await;
                Answers {
                    machine,
                    address,
                    version,
                    each,
                }
            })
        });
        join_all(asking).await
    }

    /// UID of the Machine that runs kubeadm init or joins.
    fn starts(&self, cluster: &Cluster) -> Option<String> {
        let known = self.workloads.known.get(&cluster.uid().unwrap_or_default());
        match known.turn.flatten().map(|marks| marks.turn) {
            Some(Holder::Of(turn))
                if matches!(turn.action, TurnAction::Init | TurnAction::Join) =>
            {
                Some(turn.machine)
            }
            _ => None,
        }
    }

    /// Remembers what the answers of all add up to. `members`: its etcd, read meanwhile. The
    /// Machines of which something else is to be read are woken.
    pub fn remember(
        &self,
        cluster: &Cluster,
        answers: Vec<Answers>,
        members: &Result<Arc<Members>, String>,
    ) {
        self.add_up(cluster, BTreeMap::new(), answers, members);
    }

    /// The same of the answers of some.
    pub fn remember_also(
        &self,
        cluster: &Cluster,
        answers: Vec<Answers>,
        members: &Result<Arc<Members>, String>,
    ) {
        let known = self.workloads.known.get(&cluster.uid().unwrap_or_default());
        self.add_up(cluster, known.components, answers, members);
    }

    fn add_up(
        &self,
        cluster: &Cluster,
        mut now: BTreeMap<String, Arc<Components>>,
        answers: Vec<Answers>,
        members: &Result<Arc<Members>, String>,
    ) {
        let cluster = cluster.uid().unwrap_or_default();
        let before = self.workloads.known.get(&cluster).components;
        let asked = crate::clock::now();
        let mut news = Vec::new();
        for answer in answers {
            let uid = answer.machine.uid().unwrap_or_default();
            let known = before.get(&uid).cloned().unwrap_or_default();
            let etcd = (Component::Etcd, member(members, &answer));
            let all = answer.each.into_iter().chain([etcd]);
            let next = |(component, answer): (Component, Answer)| {
                let state = ComponentState::next(known.states.get(&component), answer, asked);
                (component, state)
            };
            let next = Components {
                version: answer.version.or_else(|| said(&answer.machine, &known)),
                states: all.map(next).collect(),
            };
            if !next.reads_like(&known) {
                news.push(answer.machine);
            }
            now.insert(uid, Arc::new(next));
        }
        self.workloads
            .known
            .update(&cluster, |known| known.components = now);
        for machine in news {
            self.base.wakers.machines.wake_object(&machine);
        }
    }
}

/// The version of one that does not answer now: what it said last, also before a restart of ours.
/// Of one that is being deleted nothing is expected any more.
fn said(machine: &Machine, known: &Components) -> Option<String> {
    if machine.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let told = || {
        let status = machine.status.as_ref()?;
        status.versions.as_ref()?.control_plane.clone()
    };
    known.version.clone().or_else(told)
}

/// How the member of a machine is, according to a list that has a quorum.
fn member(members: &Result<Arc<Members>, String>, of: &Answers) -> Answer {
    let members = match members {
        Ok(members) => members,
        Err(why) => return Answer::Unasked(why.clone()),
    };
    let Some(member) = members.at(&of.address) else {
        return Answer::Fails(format!(
            "no member is at {}, the address of Machine {}",
            of.address,
            of.machine.name_any()
        ));
    };
    let mut alarms = members.alarms.iter();
    if let Some((_, alarm)) = alarms.find(|(id, _)| *id == member.id) {
        return Answer::Fails(format!("it raised the alarm {alarm}"));
    }
    match members.trouble(member) {
        Some(why) => Answer::Fails(why.to_owned()),
        None if member.is_learner => Answer::Fails("it is a learner, and does not vote".into()),
        None => Answer::Serves,
    }
}
