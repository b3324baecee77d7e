//! Waiting for real programs: none says when it has done what a test waits for.

use std::time::{Duration, Instant};

/// Least and most between two questions.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Before the next question: five times as long as this one took. A kubectl or a command over SSH takes the processor from what is
/// waited for.
pub async fn pause(asked: Instant) {
    let [least, most] = PAUSE;
    tokio::time::sleep((asked.elapsed() * 5).clamp(least, most)).await;
}

/// Asks until there is an answer; a test fails after `seconds`.
pub async fn within<T>(what: &str, seconds: u64, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            let asked = Instant::now();
            if let Some(answer) = ask().await {
                return answer;
            }
            pause(asked).await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(seconds), asking).await;
    answer.unwrap_or_else(|_| panic!("{what}: not within {seconds} s"))
}

/// Asks until there is an answer; a test fails after three minutes (a busy machine is slow).
pub async fn eventually<T>(what: &str, ask: impl AsyncFnMut() -> Option<T>) -> T {
    within(what, 180, ask).await
}

/// Asks until the answer is yes; a test fails after three minutes.
pub async fn until_true(what: &str, mut ask: impl FnMut() -> bool) {
    eventually(what, async || ask().then_some(())).await;
}
