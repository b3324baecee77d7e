//! The components of a control plane on one machine, and what their answers add up to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::core::kubeadm::KubernetesVersion;

/// Answers in a row after which a component counts as not serving, as for the control plane as a whole.
const IN_A_ROW: u32 = 3;

/// A component of a control plane, of which each of its machines runs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Component {
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// The member of etcd.
    Etcd,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Etcd,
    ];

    /// The condition of a Machine that reports it.
    pub fn condition(self) -> ConditionType {
        match self {
            Self::ApiServer => ConditionType::APIServerHealthy,
            Self::ControllerManager => ConditionType::ControllerManagerHealthy,
            Self::Scheduler => ConditionType::SchedulerHealthy,
            Self::Etcd => ConditionType::EtcdMemberHealthy,
        }
    }

    /// Name of its container, and of its manifest in `/etc/kubernetes/manifests`.
    pub fn process(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Etcd => "etcd",
        }
    }
}

/// The answer to one question how a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It serves.
    Serves,
    /// It answers that it does not, or its port is closed.
    Fails(String),
    /// It could not be asked.
    Unasked(String),
}

impl Answer {
    fn parts(self) -> (Status, String) {
        match self {
            Self::Serves => (Status::True, String::new()),
            Self::Fails(why) => (Status::False, why),
            Self::Unasked(why) => (Status::Unknown, why),
        }
    }
}

/// What the answers so far add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentState {
    /// Whether it serves.
    pub status: Status,
    /// Why not.
    pub why: String,
    /// Answers in a row that differ from that.
    differ: u32,
}

impl ComponentState {
    /// The first answer counts if it serves, and so does each later one. That it does not must be said several times in a
    /// row: one answer that comes late is no news.
    #[must_use]
    pub fn next(before: Option<&Self>, answer: Answer) -> Self {
        let (status, why) = answer.parts();
        let differ = before.map_or(0, |before| before.differ).saturating_add(1);
        let is_told = |before: &Self| before.status == status;
        match before {
            _ if status == Status::True || differ >= IN_A_ROW => Self {
                status,
                why,
                differ: 0,
            },
            Some(before) if is_told(before) => Self {
                status,
                why,
                differ: 0,
            },
            Some(before) => Self {
                differ,
                ..before.clone()
            },
            None => Self {
                status: Status::Unknown,
                why: "it has not answered yet".into(),
                differ,
            },
        }
    }
}

/// The components of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Components {
    /// `gitVersion` of its own API server, such as `v1.36.3`, as it last answered.
    pub version: Option<String>,
    /// What is known of each.
    pub states: BTreeMap<Component, ComponentState>,
}

impl Components {
    /// A finding of each component on a machine of this name.
    pub fn findings(&self, host: &str) -> impl Iterator<Item = Finding> {
        self.states
            .iter()
            .map(move |(component, state)| finding(*component, state, host))
    }

    /// Whether people would read something else.
    pub fn reads_like(&self, other: &Self) -> bool {
        let read = |components: &Self| {
            let states = components.states.iter();
            let states = states.map(|(name, state)| (*name, state.status, state.why.clone()));
            (components.version.clone(), states.collect::<Vec<_>>())
        };
        read(self) == read(other)
    }
}

/// The lowest of several versions. One that cannot be read does not count.
pub fn lowest<'a>(versions: impl Iterator<Item = &'a String>) -> Option<String> {
    let parsed = versions.filter_map(|version| Some((version.parse().ok()?, version)));
    let lowest = parsed.min_by_key(|(parsed, _): &(KubernetesVersion, _)| parsed.clone());
    lowest.map(|(_, version)| version.clone())
}

fn finding(component: Component, state: &ComponentState, host: &str) -> Finding {
    let (condition, process) = (component.condition(), component.process());
    let why = state.why.trim_end_matches('.');
    match state.status {
        Status::True => Finding::yes(condition, Reason::Answers, ""),
        Status::False => {
            let message = format!(
                "{process} on {host} does not serve: {why}. Its log, on that machine: tail -n 50 /var/log/pods/kube-system_{process}-*/{process}/*.log; without one: journalctl -u kubelet"
            );
            Finding::no(condition, Reason::ComponentUnhealthy, message)
        }
        Status::Unknown => {
            let message = format!("{process} on {host} cannot be asked: {why}");
            Finding::unknown(condition, Reason::ComponentUnknown, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_serves_and_three_in_a_row_do_not() {
        // '+' serves, '-' fails, '?' cannot be asked
        let table = [
            ("+", Status::True),
            ("-", Status::Unknown),
            ("--", Status::Unknown),
            ("---", Status::False),
            ("+--", Status::True),
            ("+---", Status::False),
            ("+--+--", Status::True),
            ("+---+", Status::True),
            ("+---??", Status::False),
            ("+---???", Status::Unknown),
            ("+???", Status::Unknown),
            ("+-?-", Status::False),
        ];
        for (answers, expected) in table {
            let mut state = None;
            for answer in answers.chars() {
                let answer = match answer {
                    '+' => Answer::Serves,
                    '-' => Answer::Fails("503".into()),
                    _ => Answer::Unasked("no route".into()),
                };
                state = Some(ComponentState::next(state.as_ref(), answer));
            }
            assert_eq!(state.map(|state| state.status), Some(expected), "{answers}");
        }
    }

    #[test]
    fn the_lowest_version_counts_by_number() {
        let lowest = |versions: &[&str]| {
            let versions: Vec<_> = versions.iter().map(|v| (*v).to_owned()).collect();
            super::lowest(versions.iter())
        };
        assert_eq!(
            lowest(&["v1.36.3", "v1.35.10", "v1.35.4"]).as_deref(),
            Some("v1.35.4")
        );
        assert_eq!(lowest(&["?", "v1.36.3"]).as_deref(), Some("v1.36.3"));
        assert_eq!(lowest(&[]), None);
    }

    #[test]
    fn a_message_has_cause_and_command_and_changes_only_with_what_is_read() {
        let state = |answers: usize| {
            let answer = || Answer::Fails("HTTP 500: [-]leaderElection failed".into());
            (0..answers).fold(None, |before: Option<ComponentState>, _| {
                Some(ComponentState::next(before.as_ref(), answer()))
            })
        };
        let with = |answers| Components {
            version: None,
            states: [(Component::Scheduler, state(answers).expect("a state"))].into(),
        };
        let findings: Vec<_> = with(3).findings("host-a").collect();
        let message = &findings[0].message;
        assert!(message.starts_with("kube-scheduler on host-a does not serve: HTTP 500"));
        assert!(
            message.contains("/var/log/pods/kube-system_kube-scheduler-*/kube-scheduler/*.log")
        );
        assert!(with(3).reads_like(&with(4)) && with(1).reads_like(&with(2)));
        assert!(!with(2).reads_like(&with(3)));
    }
}
