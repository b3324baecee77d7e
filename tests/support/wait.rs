//! Waiting for real programs: none says when it has done what a test waits for.

use std::time::Duration;

const BETWEEN: Duration = Duration::from_millis(100);

/// Asks until there is an answer; a test fails after `seconds`.
pub async fn within<T>(what: &str, seconds: u64, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(BETWEEN).await;
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
