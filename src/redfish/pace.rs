//! How long a BMC is given.

use std::time::Duration;

/// How long a BMC is given. BMCs are slow, and a few answer an error before they answer.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Limit of one request.
    pub request: Duration,
    /// Attempts of a request that is safe to repeat, and of a power action.
    pub attempts: u32,
    /// Pause after the first failed attempt; doubled each time.
    pub pause: Duration,
    /// Between two looks at a power state, a drive or a task.
    pub poll: Duration,
    /// Longest wait for a power state, and for a drive.
    pub change: Duration,
    /// Longest wait for a task.
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
    /// How often one may look within a limit.
    pub(super) fn looks(self, limit: Duration) -> u32 {
        let looks = limit.as_millis() / self.poll.as_millis().max(1);
        u32::try_from(looks).unwrap_or(u32::MAX).max(1)
    }
}
