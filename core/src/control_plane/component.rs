//! The components of a control plane on one machine, and what their answers add up to.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::health::TROUBLED_FOR;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::kubeadm::KubernetesVersion;

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
    /// It answers, with a certificate that is not accepted, or it does not accept ours.
    Untrusted(String),
    /// It could not be asked.
    Unasked(String),
}

impl Answer {
    fn parts(self) -> (Status, String) {
        match self {
            Self::Serves => (Status::True, String::new()),
            Self::Fails(why) | Self::Untrusted(why) => (Status::False, why),
            Self::Unasked(why) => (Status::Unknown, why),
        }
    }
}

/// What the answers so far add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentState {
    /// Whether it serves; `None` until that is decided.
    pub status: Option<Status>,
    /// Why not.
    pub why: String,
    /// Since when answers differ from that.
    differs: Option<Timestamp>,
    /// Whether an answer was not trusted since it served last: it runs, or did.
    untrusted: bool,
}

impl ComponentState {
    /// That it serves is decided by one answer; that it does not, or cannot be asked, by those of a
    /// while: one that comes late is no news. A reason that differs in numbers alone, as times, is
    /// the same.
    #[must_use]
    pub fn next(before: Option<&Self>, answer: Answer, now: Timestamp) -> Self {
        let is_untrusted = matches!(answer, Answer::Untrusted(_));
        let (status, why) = answer.parts();
        // until it serves, one answer more is no proof that it has stopped
        let stays = before.is_some_and(|before| before.untrusted && status == Status::False);
        let untrusted = is_untrusted || stays;
        let since = before.and_then(|before| before.differs).unwrap_or(now);
        let is_told = before.is_some_and(|before| before.status == Some(status));
        if is_told || status == Status::True || now.duration_since(since).abs() >= TROUBLED_FOR {
            let same = before.filter(|before| is_told && shape(&before.why) == shape(&why));
            return Self {
                status: Some(status),
                why: same.map_or(why, |before| before.why.clone()),
                differs: None,
                untrusted,
            };
        }
        Self {
            status: before.and_then(|before| before.status),
            why: before.map_or_else(String::new, |before| before.why.clone()),
            differs: Some(since),
            untrusted,
        }
    }
}

/// A text without its numbers.
fn shape(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
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
    /// A finding of each component on a machine of this name of which something is decided.
    pub fn findings(&self, host: &str) -> impl Iterator<Item = Finding> {
        self.states
            .iter()
            .filter_map(move |(component, state)| finding(*component, state, host))
    }

    /// Whether the API server has not served for a while. kubeadm's has no other etcd than the
    /// member beside it: while it serves, that does. Of etcd itself nothing is known where no list
    /// of its members can be read.
    pub fn has_lost_api(&self) -> bool {
        let state = self.states.get(&Component::ApiServer);
        state.is_some_and(|state| {
            state.status == Some(Status::False) && state.differs.is_none() && !state.untrusted
        })
    }

    /// Which of them does not serve by its last answer, and why. A controller manager or scheduler
    /// that cannot be asked although the API server beside it serves does not count: where it
    /// listens keeps us from that.
    pub fn troubled(&self, host: &str) -> Option<String> {
        let serves =
            |state: &ComponentState| state.status == Some(Status::True) && state.differs.is_none();
        let api = self.states.get(&Component::ApiServer);
        let api_serves = api.is_some_and(serves);
        let is_closed = |component: Component, state: &ComponentState| {
            api_serves
                && component != Component::Etcd
                && state.status == Some(Status::Unknown)
                && state.differs.is_none()
        };
        let mut states = self.states.iter();
        let (component, state) =
            states.find(|(component, state)| !serves(state) && !is_closed(**component, state))?;
        let told = finding(*component, state, host).filter(|told| told.status != Status::True);
        Some(told.map_or_else(
            || format!("{} on {host} does not yet", component.process()),
            |told| told.message(),
        ))
    }

    /// Whether people would read something else, or an update that waits for them would go on or
    /// wait.
    pub fn reads_like(&self, other: &Self) -> bool {
        let read = |components: &Self| {
            let states = components.states.iter();
            let states = states.map(|(name, state)| {
                let differs = state.differs.is_some();
                (*name, state.status, state.why.clone(), differs)
            });
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

fn finding(component: Component, state: &ComponentState, host: &str) -> Option<Finding> {
    let (condition, process) = (component.condition(), component.process());
    let why = state.why.trim_end_matches('.');
    Some(match state.status? {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn one_answer_serves_and_those_of_twenty_seconds_do_not() {
        // '+' serves, '-' fails, '?' cannot be asked; ten seconds apart
        let table = [
            ("+", Some(Status::True)),
            ("-", None),
            ("--", None),
            ("--+", Some(Status::True)),
            ("---", Some(Status::False)),
            ("+--", Some(Status::True)),
            ("+---", Some(Status::False)),
            ("+--+--", Some(Status::True)),
            ("+---+", Some(Status::True)),
            ("+---??", Some(Status::False)),
            ("+---???", Some(Status::Unknown)),
            ("+???", Some(Status::Unknown)),
            ("+-?-", Some(Status::False)),
        ];
        for (answers, expected) in table {
            let mut state = None;
            for (answer, now) in answers.chars().zip(0..) {
                let answer = match answer {
                    '+' => Answer::Serves,
                    '-' => Answer::Fails("503".into()),
                    _ => Answer::Unasked("no route".into()),
                };
                state = Some(ComponentState::next(state.as_ref(), answer, at(10 * now)));
            }
            let status = state.and_then(|state: ComponentState| state.status);
            assert_eq!(status, expected, "{answers}");
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
        let state = |answers: i64| {
            let answer = || Answer::Fails("HTTP 500: [-]leaderElection failed".into());
            (0..answers).fold(None, |before: Option<ComponentState>, n| {
                Some(ComponentState::next(before.as_ref(), answer(), at(10 * n)))
            })
        };
        let with = |answers| Components {
            version: None,
            states: [(Component::Scheduler, state(answers).expect("a state"))].into(),
        };
        let findings: Vec<_> = with(3).findings("host-a").collect();
        let message = &findings[0].message();
        assert!(message.starts_with("kube-scheduler on host-a does not serve: HTTP 500"));
        assert!(
            message.contains("/var/log/pods/kube-system_kube-scheduler-*/kube-scheduler/*.log")
        );
        assert!(with(3).reads_like(&with(4)) && with(1).reads_like(&with(2)));
        assert!(!with(2).reads_like(&with(3)));
        let after = |seconds: i64, before: Option<&ComponentState>| {
            let why = format!("expired {seconds} seconds ago");
            ComponentState::next(before, Answer::Fails(why), at(seconds))
        };
        let told = [0, 10, 20].into_iter();
        let told = told.fold(None, |before: Option<ComponentState>, seconds| {
            Some(after(seconds, before.as_ref()))
        });
        assert_eq!(after(30, told.as_ref()), told.expect("a state"));
    }
}
