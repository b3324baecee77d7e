//! What the tests share: a gateway of their own, and clients of it.

// each test program uses some of it
#![allow(dead_code)]

pub mod client;
pub mod gateway;
pub mod hypervisor;
pub mod pki;
pub mod site;

use std::time::{Duration, Instant};

/// Waits until something is so; a minute is generous for what takes milliseconds.
pub async fn until<T>(what: &str, check: impl AsyncFnMut() -> Option<T>) -> T {
    within(Duration::from_mins(1), what, check).await
}

/// Waits until something is so.
#[allow(clippy::disallowed_methods)]
pub async fn within<T>(
    limit: Duration,
    what: &str,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = check().await {
            return value;
        }
        assert!(Instant::now() < end, "{what}: not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
