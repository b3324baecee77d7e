//! Failures that people meet, one after another on real hosts: what is said of each, where, and how soon. Run by
//! `hack/test failures`, outside CI.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here fails the test"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a test has no other clock, and waits for real programs"
)]

mod case;
mod fit;
mod kubeadm;
mod proofs;
mod reach;
mod running;
mod score;
mod stage;
#[path = "../support/mod.rs"]
mod support;

use score::Score;
use stage::Stage;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn every_failure_is_told_with_cause_and_remedy_on_the_cluster_too() {
    let stage = Stage::new("fails", "10.126.0").await;
    let mut score = Score::default();
    reach::all(&stage, &mut score).await;
    fit::all(&stage, &mut score).await;
    kubeadm::all(&stage, &mut score).await;
    running::all(&stage, &mut score).await;
    proofs::all(&stage, &mut score).await;
    score.print();
    stage.leave();
    score.assert();
}
