//! `status.stage` and `status.change` of a Machine: where it is in its life, what is done to it beside that, and for how long.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::words;

words! {
    /// Where a Machine is in its life; `docs/troubleshooting.md` has what is done in each.
    StageName {
        Choosing, Claiming, Creating, Taking, Preparing, AwaitingGrant, Initialising, Joining, Registering, Finishing, Running,
        Stays, Leaving, Releasing, Ending, Ended,
    }
}

words! {
    /// Whom or what a stage waits for while nothing is done for it: its clock stands still.
    Awaited {
        Turn, Person, Pause, Budget, Pods, Volumes, Host, Capacity, Cluster,
    }
}

words! {
    /// What is done to a running machine beside its stage.
    ChangeKind { Update }
}

words! {
    /// The steps of a change, in order; of settings alone, some are left out.
    ChangeStep {
        Images, AwaitGrant, Upgrade, Drain, Kubelet, Proving,
    }
}

/// Where a Machine is in its life, and its clock. An output: the next step is derived from hosts and objects, so that a status
/// that is lost, as by a restore, costs a clock and no decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedStage {
    /// Choosing, Claiming, Creating, Taking, Preparing, `AwaitingGrant`, Initialising, Joining, Registering, Finishing, Running;
    /// in deletion Stays, Leaving, Releasing, Ending.
    pub name: String,
    /// For how long it is in it.
    #[serde(flatten)]
    pub clock: Clock,
}

impl ReportedStage {
    /// One that is entered now, and waits for this.
    pub fn entered(name: StageName, awaited: Option<Awaited>, now: Timestamp) -> Self {
        Self {
            name: name.to_string(),
            clock: Clock::begun(awaited, now),
        }
    }
}

/// What is done to a running machine beside its stage, and its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedChange {
    /// Update: to other versions, or to other settings of its Cluster.
    pub kind: String,
    /// Images, `AwaitGrant`, Upgrade, Drain, Kubelet or Proving; absent while only its host could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Whether a step was begun on its host: it is brought to its end then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
    /// For how long it is at this step.
    #[serde(flatten)]
    pub clock: Clock,
}

/// What a Machine asks the turn of its control plane for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRequest {
    /// The action of the turn: join, remove (of its etcd member, when it leaves), or upgrade.
    pub action: String,
    /// Whether that was begun, which is brought to its end first: a job broke off on its host that may have stopped its etcd member,
    /// or an attempt to join left one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub half_done: bool,
    /// Since when it asks.
    pub since: Time,
}

/// When something was entered, and for how long it waits there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// When it was entered.
    pub since: Time,
    /// Who or what is waited for meanwhile, if anything: Turn, Person, Pause, Budget (of disruptions), Pods (that end),
    /// Volumes, Host, Capacity or Cluster. The condition Ready, `UpToDate`, Draining, Paused, Deleting or Updating names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Since when that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Time>,
    /// Seconds of the waits before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_seconds: i64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(seconds: &i64) -> bool {
    *seconds == 0
}

impl Clock {
    /// One that begins now, and waits for this.
    pub fn begun(awaited: Option<Awaited>, now: Timestamp) -> Self {
        Self {
            since: Time(now),
            waits_for: awaited.map(|awaited| awaited.to_string()),
            waits_since: awaited.map(|_| Time(now)),
            waited_seconds: 0,
        }
    }

    /// The same, which waits for this now.
    #[must_use]
    pub fn awaiting(&self, awaited: Option<Awaited>, now: Timestamp) -> Self {
        let mut next = self.clone();
        if next.waits_for.as_deref() == awaited.map(Awaited::as_str) {
            return next;
        }
        next.waited_seconds = next.waited_seconds.saturating_add(next.waits(now));
        next.waits_since = awaited.map(|_| Time(now));
        next.waits_for = awaited.map(|awaited| awaited.to_string());
        next
    }

    /// For how long it was worked on, waits left out.
    pub fn worked(&self, now: Timestamp) -> Duration {
        let all = now.duration_since(self.since.0).as_secs();
        let worked = all
            .saturating_sub(self.waited_seconds)
            .saturating_sub(self.waits(now));
        Duration::from_secs(worked.try_into().unwrap_or_default())
    }

    /// Seconds of the wait that is not over.
    fn waits(&self, now: Timestamp) -> i64 {
        let since = self.waits_since.as_ref();
        since.map_or(0, |since| now.duration_since(since.0).as_secs().max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn secs(stage: &Clock, now: i64) -> u64 {
        stage.worked(at(now)).as_secs()
    }

    #[test]
    fn a_clock_stands_still_while_its_stage_waits() {
        let begun = Clock::begun(None, at(100));
        assert_eq!(secs(&begun, 130), 30);
        let waits = begun.awaiting(Some(Awaited::Host), at(130));
        assert_eq!((secs(&waits, 130), secs(&waits, 500)), (30, 30));
        let other = waits.awaiting(Some(Awaited::Person), at(200));
        assert_eq!((other.waited_seconds, secs(&other, 230)), (70, 30));
        let goes_on = other.awaiting(None, at(230));
        assert_eq!(goes_on.waited_seconds, 100);
        assert_eq!((secs(&goes_on, 230), secs(&goes_on, 290)), (30, 90));
    }

    #[test]
    fn what_has_not_changed_is_written_as_it_was() {
        for awaited in [None, Some(Awaited::Turn)] {
            let stage = Clock::begun(awaited, at(100));
            assert_eq!(stage.awaiting(awaited, at(900)), stage);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_counts_nothing() {
        let waits = Clock::begun(Some(Awaited::Turn), at(100));
        assert_eq!(secs(&waits, 10), 0);
        assert_eq!(secs(&waits.awaiting(None, at(10)), 10), 0);
    }
}
