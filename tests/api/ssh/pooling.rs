//! One connection per host: shared, replaced, closed.

use std::sync::Arc;
use tatara_core::api::conditions::Reason;

use futures::future::join_all;
use tatara::remote::{Pool, RunError};

use crate::ssh::sshd::{Key, Sshd, kill};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn callers_at_once_share_one_attempt_and_later_ones_its_connection() {
    let sshd = Sshd::new();
    let (pool, target) = (Pool::new(), sshd.target());
    let sessions = join_all((0..20).map(|_| pool.session(&target))).await;
    let first = sessions[0].as_ref().unwrap();
    assert!(
        sessions
            .iter()
            .all(|session| Arc::ptr_eq(session.as_ref().unwrap(), first))
    );
    assert!(Arc::ptr_eq(
        &pool.clone().session(&target).await.unwrap(),
        first
    ));
    assert_eq!(sshd.logged("Connection from"), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn callers_at_once_share_one_error_and_the_next_call_tries_again() {
    let sshd = Sshd::new();
    let stranger = Key::new(sshd.dir(), "stranger", "ed25519", "");
    let (pool, mut target) = (Pool::new(), sshd.target());
    target.hop.credential = stranger.credential(None);
    for result in join_all((0..20).map(|_| pool.session(&target))).await {
        assert_eq!(result.unwrap_err().reason(), Reason::AuthenticationFailed);
    }
    assert_eq!(sshd.logged("Connection from"), 1);
    sshd.authorize(&stranger);
    assert!(pool.session(&target).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn an_attempt_goes_on_when_the_caller_who_began_it_goes_away() {
    let sshd = Sshd::new();
    let (pool, target) = (Pool::new(), sshd.target());
    let mut first = Box::pin(pool.session(&target));
    let mut second = Box::pin(pool.session(&target));
    assert!(futures::poll!(&mut first).is_pending());
    assert!(futures::poll!(&mut second).is_pending());
    drop(first);
    assert!(second.await.unwrap().run("true").await.unwrap().success());
    assert_eq!(sshd.logged("Connection from"), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn an_attempt_that_everybody_left_is_begun_anew() {
    let sshd = Sshd::new();
    let (pool, target) = (Pool::new(), sshd.target());
    let mut first = Box::pin(pool.session(&target));
    assert!(futures::poll!(&mut first).is_pending());
    drop(first);
    assert!(pool.session(&target).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_connection_killed_under_a_script_is_disconnected_and_replaced_at_the_next_call() {
    let sshd = Sshd::new();
    let (pool, target) = (Pool::new(), sshd.target());
    let session = pool.session(&target).await.unwrap();
    let (sender, mut pids) = tokio::sync::mpsc::unbounded_channel();
    let running = session.follow("echo $$; exec sleep 1000", move |line| {
        sender.send(line.parse().unwrap()).unwrap();
    });
    let killer = async {
        let pid = pids.recv().await.unwrap();
        assert_eq!(sshd.kill_connections(), 1);
        pid
    };
    let (result, pid) = tokio::join!(running, killer);
    // What ran there still does: that is why it is told apart.
    kill(pid);
    assert!(
        matches!(result, Err(RunError::Disconnected { .. })),
        "{result:?}"
    );
    assert!(session.is_closed());
    assert!(matches!(
        session.run("true").await,
        Err(RunError::Disconnected { .. })
    ));
    let again = pool.session(&target).await.unwrap();
    assert!(again.run("true").await.unwrap().success());
    assert_eq!(sshd.logged("Accepted publickey"), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_rotated_credential_connects_anew_and_the_old_connection_ends_with_its_last_user() {
    let sshd = Sshd::new();
    let (pool, old) = (Pool::new(), sshd.target());
    let rotated = Key::new(sshd.dir(), "rotated", "ed25519", "");
    sshd.authorize(&rotated);
    let session = pool.session(&old).await.unwrap();
    let mut new = old.clone();
    new.hop.credential = rotated.credential(None);
    let replaced = pool.session(&new).await.unwrap();
    assert!(!Arc::ptr_eq(&session, &replaced));
    assert!(
        session.run("true").await.unwrap().success(),
        "the old one is still in use"
    );
    drop(session);
    sshd.wait_logged("Connection closed", 1);
    assert!(Arc::ptr_eq(&pool.session(&new).await.unwrap(), &replaced));
    assert_eq!(sshd.logged("Accepted publickey"), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_changed_pin_takes_effect_at_once() {
    let sshd = Sshd::new();
    let (pool, mut target) = (Pool::new(), sshd.target());
    let _open = pool.session(&target).await.unwrap();
    target.hop.host_keys = vec![Key::new(sshd.dir(), "other", "ed25519", "").public];
    assert_eq!(
        pool.session(&target).await.unwrap_err().reason(),
        Reason::HostKeyChanged
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn an_idle_connection_is_kept_until_it_is_forgotten() {
    let sshd = Sshd::new();
    let (pool, target) = (Pool::new(), sshd.target());
    drop(pool.session(&target).await.unwrap());
    assert!(
        pool.session(&target)
            .await
            .unwrap()
            .run("true")
            .await
            .unwrap()
            .success()
    );
    sshd.wait_logged("Accepted publickey", 1);
    assert_eq!(sshd.logged("Accepted publickey"), 1);
    pool.forget(&target.place());
    sshd.wait_logged("Connection closed", 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_namespace_gets_no_session_of_another_even_with_the_same_key_and_closes_none() {
    let sshd = Sshd::new();
    let (pool, ours) = (Pool::new(), sshd.target());
    let session = pool.session(&ours).await.unwrap();
    let mut theirs = ours.clone();
    theirs.namespace = "theirs".into();
    let other = pool.session(&theirs).await.unwrap();
    assert!(!Arc::ptr_eq(&session, &other));
    // sshd writes its log beside its answers
    sshd.wait_logged("Accepted publickey", 2);
    assert_eq!(
        sshd.logged("Accepted publickey"),
        2,
        "each logged in by itself"
    );
    drop((session, other));
    pool.forget(&theirs.place());
    sshd.wait_logged("Connection closed", 1);
    assert!(
        pool.session(&ours)
            .await
            .unwrap()
            .run("true")
            .await
            .unwrap()
            .success()
    );
    assert_eq!(sshd.logged("Accepted publickey"), 2, "ours is still open");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_wrong_key_of_another_namespace_disturbs_no_connection() {
    let sshd = Sshd::new();
    let (pool, ours) = (Pool::new(), sshd.target());
    let session = pool.session(&ours).await.unwrap();
    let mut theirs = ours.clone();
    theirs.namespace = "theirs".into();
    theirs.hop.credential = Key::new(sshd.dir(), "stranger", "ed25519", "").credential(None);
    let refused = pool.session(&theirs).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::AuthenticationFailed);
    pool.forget(&theirs.place());
    assert!(Arc::ptr_eq(&pool.session(&ours).await.unwrap(), &session));
    assert!(session.run("true").await.unwrap().success());
    assert_eq!(sshd.logged("Accepted publickey"), 1);
}
