//! How the world is, and what a pass over a Machine knows of it.

use super::jobs::{address, host_name, node_of};
use super::*;
use crate::api::conditions::{ConditionType, find, is_true};
use crate::control_plane::component::{Answer, Component, ComponentState, Components};
use crate::control_plane::turn::{Holder, Marks};
use crate::kubeadm::KubernetesVersion;
use crate::machine::peer_versions::{is_updating, oldest_kubelet};
use crate::machine::{ControlPlaneMachine, PeerVersions, Peers, must_ask};

impl World {
    /// Three control planes of the old version, and a host for a fourth.
    pub(super) fn new() -> Self {
        let marks = Marks {
            turn: Holder::Nobody,
            initialized: Some(UIDS[0].into()),
        };
        let is_old = |which: usize| which < 3;
        let mut world = Self {
            now: 0,
            both: Both {
                secret: marks.clone(),
                cluster: marks,
                no_secret: false,
            },
            members: Vec::new(),
            added: 3,
            sites: std::array::from_fn(|which| Site {
                joined: is_old(which),
                runs: OLD.into(),
                kubelet: OLD.into(),
                ..Site::default()
            }),
            objects: std::array::from_fn(|which| Object {
                exists: is_old(which),
                deleted: false,
                releasing: false,
                begun: is_old(which),
                wants: OLD.into(),
                generation: 1,
                status: crate::api::MachineStatus::default(),
            }),
            nodes: std::array::from_fn(|which| is_old(which).then(|| node_of(which, OLD))),
            memory: Default::default(),
            known: Known {
                both: Both::default(),
                etcd: Lookup::NotYet("not asked yet".into()),
                components: Default::default(),
            },
            effects_left: None,
            backup: None,
        };
        for (id, which) in (1..).zip(0..3) {
            world.members.push(Member {
                id: MemberId(id),
                name: host_name(which),
                peer_urls: vec![format!("https://{}:2380", address(which))],
                is_learner: false,
            });
        }
        world.ask();
        for which in 0..3 {
            world.pass(which).expect("a pass");
        }
        world
    }

    /// Whether a job has stopped a member. One that never started is not down: it does not vote.
    pub(super) fn is_down(&self, member: &Member) -> bool {
        let mut sites = self.sites.iter().enumerate();
        sites.any(|(host, site)| site.stopped && member.is_at(&address(host)))
    }

    pub(super) fn has_quorum(&self) -> bool {
        let voters = || self.members.iter().filter(|member| !member.is_learner);
        voters().filter(|member| !self.is_down(member)).count() > voters().count() / 2
    }

    /// What etcd answers now, which is remembered.
    pub(super) fn look(&mut self) -> Result<Arc<Members>, String> {
        let answer = self.answer();
        self.known.etcd = match answer.clone() {
            Ok(members) => Lookup::Known(members),
            Err(why) => Lookup::Unknown(why),
        };
        answer
    }

    /// What the manager asks now and then.
    pub(super) fn ask(&mut self) {
        self.look().ok();
        self.known.both = self.both.clone();
        self.known.components = std::array::from_fn(|which| self.components(which));
    }

    fn answer(&self) -> Result<Arc<Members>, String> {
        if !self.has_quorum() {
            return Err("no quorum".into());
        }
        // each is asked through its own host, which is that of a Machine
        let health = |member: &Member| {
            let mut hosts = 0..UIDS.len();
            let host = hosts.find(|host| member.is_at(&address(*host)))?;
            let is_known = self.objects[host].exists;
            let health = if self.is_down(member) || self.sites[host].is_silent {
                MemberHealth::Unhealthy("it does not answer".into())
            } else {
                MemberHealth::Healthy
            };
            is_known.then_some((member.id, health))
        };
        Ok(Arc::new(Members {
            health: self.members.iter().filter_map(health).collect(),
            list: self.members.clone(),
            ..Members::default()
        }))
    }

    /// What the components beside a Machine answer now.
    pub(super) fn components(&self, which: usize) -> Option<Arc<Components>> {
        let site = &self.sites[which];
        let own = address(which);
        let member = self.members.iter().find(|member| member.is_at(&own));
        let serves = self.has_quorum() && member.is_some_and(|member| !self.is_down(member));
        let answer = || {
            if serves {
                Answer::Serves
            } else {
                Answer::Fails("connection refused".into())
            }
        };
        // it is decided by answers of a while
        let first = ComponentState::next(None, answer(), at(0));
        let state = ComponentState::next(Some(&first), answer(), at(60));
        site.joined.then(|| {
            Arc::new(Components {
                version: Some(site.runs.clone()),
                states: Component::ALL.map(|name| (name, state.clone())).into(),
            })
        })
    }

    /// The Cluster as this Machine sees it.
    fn cluster(&self, which: usize) -> ObservedCluster {
        let version = |text: &str| text.parse::<KubernetesVersion>().ok();
        let begun = |other: &usize| self.objects[*other].exists && self.objects[*other].begun;
        let others = || (0..UIDS.len()).filter(|other| *other != which);
        let runs = |other: usize| {
            let versions = self.objects[other].status.versions.as_ref()?;
            version(versions.control_plane.as_deref()?)
        };
        let nodes = |mine: bool| {
            let nodes = self.nodes.iter().enumerate();
            nodes.filter_map(move |(of, node)| node.as_ref().filter(|_| mine || of != which))
        };
        let oldest = oldest_kubelet(nodes(true)).map(|(_, version)| version);
        let updating = |other: &usize| {
            let (object, runs) = (&self.objects[*other], runs(*other));
            let runs = runs.map(|runs| runs.to_string()).unwrap_or_default();
            let node = self.nodes[*other].as_ref();
            let is_begun = is_true(&object.status.conditions, ConditionType::Updating)
                && node.is_none_or(|node| node.kubelet_version != object.wants);
            !object.deleted
                && (is_updating(&runs, &object.wants, oldest.as_ref())
                    || (is_begun && runs == object.wants))
        };
        let known = &self.known;
        let turn = known.both.holder().cloned();
        let upgrades = turn
            .iter()
            .find(|turn| turn.action == TurnAction::Upgrade && turn.machine != UIDS[which]);
        let updating = others().filter(begun).find(updating);
        let endpoint = json!({ "controlPlaneEndpoint": { "host": "192.0.2.100" } });
        let serving = (0..UIDS.len()).filter(|other| self.sites[*other].joined);
        ObservedCluster {
            spec: Ok(serde_json::from_value(endpoint).expect("settings")),
            initialized_by: known.both.cluster.initialized.clone(),
            initialized_by_secret: known.both.secret.initialized.clone(),
            etcd: known.etcd.clone(),
            components: known.components[which].clone(),
            other_control_planes: others()
                .filter(begun)
                .map(|other| ControlPlaneMachine {
                    name: format!("cp-{other}"),
                    address: Some(address(other)),
                    applied: None,
                    leaves: self.objects[other].deleted,
                    look: self.memory[other].look,
                    runs: self.known_job(other),
                })
                .collect(),
            version: serving.map(|other| self.sites[other].runs.clone()).min(),
            peers: Peers {
                versions: PeerVersions {
                    updating: upgrades
                        .map(|turn| turn.name.clone())
                        .or(updating.map(|other| format!("cp-{other}"))),
                    newest_control_plane: others().filter(begun).filter_map(runs).max(),
                    oldest_kubelet: oldest_kubelet(nodes(false)),
                    ..PeerVersions::default()
                },
                take_pods: nodes(false).any(|node| !node.unschedulable),
                ..Peers::default()
            },
            turn,
            ..cluster()
        }
    }

    /// What a pass over a Machine knows.
    pub(super) fn observed(&self, which: usize) -> Observed {
        let (object, memory) = (&self.objects[which], &self.memory[which]);
        let (name, uid) = (format!("cp-{which}"), UIDS[which]);
        let mut observed = control_plane();
        let mut value = observed.resolved.clone().expect("a value");
        value["node"] = json!({ "software": { "source": "packages" } });
        observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
        observed.machine = Arc::new(machine(&name, uid, true));
        observed.marker = marker(&name, uid);
        let versions = json!({ "kubelet": object.wants, "controlPlane": object.wants });
        let mut change = json!({
            "metadata": { "generation": object.generation },
            "spec": { "versions": versions },
            "status": object.status,
        });
        if object.begun {
            change["metadata"]["annotations"] = json!({ (ANNOTATION_SETTINGS): "{}" });
        }
        observed = edited(observed, &change);
        if object.deleted {
            observed = deleted(observed, at(0));
        }
        observed.cluster = Some(self.cluster(which));
        observed.own_address = Some(address(which));
        observed.claims = vec![host_name(which)];
        observed.follow.clone_from(&memory.follow);
        observed.attempts.clone_from(&memory.attempts);
        observed.last_look = memory.look;
        observed.node = if self.has_quorum() {
            Lookup::Known(self.nodes[which].clone().map(Arc::new))
        } else {
            Lookup::Unknown("no quorum".into())
        };
        let asks = if object.releasing {
            self.sites[which].is_reset
        } else {
            must_ask(&observed)
        };
        observed.placement = Placement::Held(Infrastructure {
            name: host_name(which),
            address: Some(address(which)),
            releasing: object.releasing,
            contact: if asks && self.sites[which].is_silent {
                Contact::Unreachable {
                    reason: Reason::SshUnreachable,
                    message: "no answer".into(),
                }
            } else if asks {
                says(self.shows(which, &observed))
            } else {
                Contact::NotAsked
            },
            stuck: None,
            power: None,
            why: None,
            strange: None,
        });
        observed.learn_look();
        observed
    }

    /// The job that changes a member and runs on a host, as far as the manager knows.
    pub(super) fn known_job(&self, which: usize) -> Option<JobKind> {
        let memory = &self.memory[which];
        let followed = memory.follow.as_ref().map(|follow| follow.job.kind);
        let followed = followed.filter(|kind| JobKind::OF_MEMBER.contains(kind));
        followed.or(memory.look.job())
    }

    /// What its host shows.
    fn shows(&self, which: usize, observed: &Observed) -> Observation {
        let site = &self.sites[which];
        if site.is_reset {
            return reset_of(UIDS[which]);
        }
        let units = site.jobs.iter().map(|run| UnitStatus {
            retried: None,
            job: observed.marker.job(run.kind),
            identity: run.identity.clone(),
            state: run.state.clone(),
        });
        let mut seen = unmarked(units.collect());
        seen.owner = Ownership::Owner(Owner {
            marker: observed.marker.clone(),
            initialized: which == 0,
            joined: which != 0 && site.joined,
        });
        seen.kubelet_active = site.joined;
        seen.versions.kubelet = Some(site.kubelet.clone());
        seen
    }

    /// What is not as it is wanted.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(turn) = self.both.holder() {
            troubles.push(format!("{} has the turn", turn.name));
        }
        for (which, object) in self.objects.iter().enumerate() {
            let (site, own) = (&self.sites[which], address(which));
            let member = self.members.iter().find(|member| member.is_at(&own));
            let node = self.nodes[which].as_ref();
            let is_well = if object.exists && !object.deleted {
                let ready = find(&object.status.conditions, ConditionType::Ready);
                let votes = member.is_some_and(|member| !member.is_learner);
                let takes_pods = node.is_some_and(|node| {
                    !node.unschedulable && node.kubelet_version == object.wants
                });
                let serves = !site.stopped && site.runs == object.wants;
                let conditions = &object.status.conditions;
                votes
                    && serves
                    && takes_pods
                    && !is_true(conditions, ConditionType::Updating)
                    && is_true(conditions, ConditionType::UpToDate)
                    && ready.is_some_and(|ready| ready.status == Status::True.as_str())
            } else {
                !object.exists && member.is_none() && node.is_none()
            };
            if !is_well {
                troubles.push(format!("cp-{which} is not as wanted"));
            }
        }
        troubles
    }
}
