//! What jobs do to a server, to its Node and to etcd, step by step.

use super::*;
use crate::node::UPGRADE_STEP;

/// What a job begins with, before it changes anything of a control plane.
pub(super) const FIRST: &str = "first";
/// kubeadm has added a member, which learns.
const LEARNS: &str = "learns";
/// Its member votes.
const VOTES: &str = "votes";

impl World {
    /// The job that runs on a host.
    fn running(&mut self, host: usize) -> Option<&mut Run> {
        let mut jobs = self.sites[host].jobs.iter_mut();
        jobs.find(|run| matches!(run.state, UnitState::Running(_)))
    }

    /// The job on a host comes one step further.
    pub(super) fn goes(&mut self, host: usize) {
        let has_quorum = self.has_quorum();
        let Some(run) = self.running(host) else {
            return;
        };
        let UnitState::Running(at) = &run.state else {
            return;
        };
        let (kind, version, at) = (run.kind, run.version.clone(), at.step.clone());
        let next = match (kind, at.as_str()) {
            (JobKind::Upgrade, FIRST) => Some(UPGRADE_STEP),
            (JobKind::Kubelet, FIRST) => Some("kubelet"),
            // its API is away
            (JobKind::Join, _) if !has_quorum => return self.breaks(host, false, false),
            (JobKind::Join, FIRST) => Some(LEARNS),
            (JobKind::Join, LEARNS) => Some(VOTES),
            _ => None,
        };
        run.state = next.map_or(UnitState::Succeeded, |next| UnitState::Running(step(next)));
        let name = host_name(host);
        let site = &mut self.sites[host];
        let stops = next.is_some() && kind != JobKind::Join;
        if !site.stopped {
            site.cost_nothing = stops && !has_quorum;
        }
        site.stopped = stops;
        match (kind, next) {
            (JobKind::Join, Some(LEARNS)) => {
                self.added += 1;
                self.members.push(Member {
                    id: MemberId(self.added),
                    name: String::new(),
                    peer_urls: vec![format!("https://{}:2380", address(host))],
                    is_learner: true,
                });
            }
            (JobKind::Join, Some(_)) => {
                let own = address(host);
                let mut members = self.members.iter_mut();
                if let Some(member) = members.find(|member| member.is_at(&own)) {
                    (member.is_learner, member.name) = (false, name);
                }
            }
            (JobKind::Join, None) => {
                (site.runs, site.kubelet, site.joined) = (version.clone(), version.clone(), true);
                self.nodes[host] = Some(node_of(host, &version));
            }
            (JobKind::Upgrade, None) => site.runs = version,
            (JobKind::Kubelet, None) => {
                site.kubelet.clone_from(&version);
                if let Some(node) = &mut self.nodes[host] {
                    node.kubelet_version = version;
                }
            }
            (JobKind::Prepare, None) => site.kubelet = version,
            _ => (),
        }
        if next.is_none() {
            self.memory[host].follow = None;
            self.memory[host].attempts.remove(&kind);
        }
    }

    /// The job on a host fails, or is cut.
    pub(super) fn breaks(&mut self, host: usize, cut: bool, down: bool) {
        let now = at(self.now);
        let Some(run) = self.running(host) else {
            return;
        };
        let UnitState::Running(at) = run.state.clone() else {
            return;
        };
        let (kind, votes) = (run.kind, at.step == VOTES);
        run.state = match failure("no") {
            UnitState::Failed(failed) if !cut => UnitState::Failed(Failure { at, ..failed }),
            _ => UnitState::Interrupted(at),
        };
        let site = &mut self.sites[host];
        site.stopped = down && (site.stopped || votes);
        let memory = &mut self.memory[host];
        if memory.follow.take().is_some() {
            let before = memory.attempts.get(&kind).cloned().unwrap_or_default();
            memory.attempts.insert(kind, before.and(None, now));
        }
    }

    /// What the Host's controller does with a host that was released: what is on it is gone for
    /// good.
    pub(super) fn reset(&mut self, host: usize) -> Result<(), TestCaseError> {
        let is_free = !self.objects[host].releasing || self.running(host).is_some();
        if is_free || self.sites[host].is_reset {
            return Ok(());
        }
        let own = address(host);
        let is_listed = self.members.iter().any(|member| member.is_at(&own));
        prop_assert!(!is_listed, "the data of a member was wiped");
        self.sites[host] = Site {
            is_reset: true,
            ..Site::default()
        };
        Ok(())
    }
}

pub(super) fn address(host: usize) -> String {
    format!("192.0.2.{}", 21 + host)
}

pub(super) fn host_name(host: usize) -> String {
    format!("host-{host}")
}

pub(super) fn node_of(host: usize, version: &str) -> NodeView {
    let mut node = node();
    (node.name, node.uid) = (host_name(host), format!("node-{host}"));
    let machine = format!("default/cp-{host}");
    node.annotations
        .insert("cluster.k8s.io/machine".into(), machine);
    node.kubelet_version = version.into();
    node
}
