//! Time limits and attempts of requests to a BMC.

use std::time::Duration;

/// Time limits and attempts. BMCs are slow, and some answer a few requests with errors first.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time limit of one request.
    pub request: Duration,
    /// Attempts of an idempotent request, and of a power action.
    pub attempts: u32,
    /// Pause after the first failed attempt; doubled each time.
    pub pause: Duration,
    /// Interval of reading a power state, a drive or a task.
    pub poll: Duration,
    /// Time limit until a power state or a drive changes.
    pub change: Duration,
    /// Time limit of a task.
    pub task: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            attempts: 4,
            pause: Duration::from_millis(500),
            poll: Duration::from_secs(1),
            change: Duration::from_mins(1),
            task: Duration::from_mins(5),
        }
    }
}

impl Pace {
    /// Number of reads within a time limit.
    pub(super) fn looks(self, limit: Duration) -> u32 {
        let looks = limit.as_millis() / self.poll.as_millis().max(1);
        u32::try_from(looks).unwrap_or(u32::MAX).max(1)
    }
}
