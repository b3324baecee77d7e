//! Hosts behind hosts.

use std::sync::Arc;
use tatara_core::api::conditions::Reason;

use futures::future::join_all;
use tatara::remote::{ConnectError, Pool, Target};

use crate::ssh::sshd::{Key, Setup, Sshd};

/// `last` behind `hops`, nearest first.
fn behind(hops: &[&Sshd], last: &Sshd) -> Target {
    let mut target = last.target();
    target.jump = hops.iter().map(|sshd| sshd.hop()).collect();
    target
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_behind_two_others_is_reached_through_both_and_all_close_with_it() {
    let (first, second, last) = (Sshd::new(), Sshd::new(), Sshd::new());
    let session = Pool::new()
        .session(&behind(&[&first, &second], &last))
        .await
        .unwrap();
    let output = session.run("echo \"${SSH_CONNECTION##* }\"").await.unwrap();
    assert_eq!(output.stdout, format!("{}\n", last.port).into_bytes());
    for sshd in [&first, &second, &last] {
        assert_eq!(sshd.logged("Accepted publickey"), 1);
    }
    drop(session);
    for sshd in [&last, &second, &first] {
        sshd.wait_logged("Connection closed", 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn hosts_behind_the_same_host_share_the_connection_to_it() {
    let bastion = Sshd::new();
    let hosts: Vec<_> = (0..4).map(|_| Sshd::new()).collect();
    let pool = Pool::new();
    let sessions = join_all(hosts.iter().map(|host| {
        let (pool, target) = (pool.clone(), behind(&[&bastion], host));
        async move { pool.session(&target).await.unwrap() }
    }))
    .await;
    assert_eq!(bastion.logged("Accepted publickey"), 1);
    drop(sessions);
    for host in &hosts[1..] {
        pool.forget(&behind(&[&bastion], host).place());
    }
    hosts[1].wait_logged("Connection closed", 1);
    assert_eq!(
        bastion.logged("Connection closed"),
        0,
        "one host is still behind it"
    );
    pool.forget(&behind(&[&bastion], &hosts[0]).place());
    bastion.wait_logged("Connection closed", 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_jump_host_is_shared_in_a_namespace_and_by_no_other() {
    let (bastion, host) = (Sshd::new(), Sshd::new());
    let pool = Pool::new();
    let ours = behind(&[&bastion], &host);
    let _ours = pool.session(&ours).await.unwrap();
    let mut theirs = ours.clone();
    theirs.namespace = "theirs".into();
    let _theirs = pool.session(&theirs).await.unwrap();
    assert_eq!(bastion.logged("Accepted publickey"), 2);
    // in theirs, without the key of the bastion
    theirs.jump[0].credential = Key::new(host.dir(), "stranger", "ed25519", "").credential(None);
    let refused = pool.session(&theirs).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::JumpHostFailed);
    assert_eq!(bastion.logged("Accepted publickey"), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_jump_host_must_show_a_pinned_key_even_with_trust_on_first_use() {
    let (bastion, host) = (Sshd::new(), Sshd::new());
    let other = Key::new(bastion.dir(), "other", "ed25519", "");
    let mut target = behind(&[&bastion], &host);
    target.trust_on_first_use = true;
    for (pins, reason) in [
        (vec![other.public], "HostKeyChanged"),
        (vec![], "HostKeyMissing"),
    ] {
        target.jump[0].host_keys = pins;
        let error = Pool::new().session(&target).await.unwrap_err();
        assert_eq!(error.reason(), Reason::JumpHostFailed);
        let ConnectError::JumpFailed { hop, source } = error else {
            panic!("{error:?}");
        };
        assert_eq!(hop, format!("root@127.0.0.1:{}", bastion.port));
        assert_eq!(source.reason().as_str(), reason);
    }
    assert_eq!(bastion.logged("Accepted publickey"), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_that_the_jump_host_cannot_reach_is_unreachable_with_the_cause() {
    let mut host = Sshd::new();
    host.stop();
    for config in ["", "AllowTcpForwarding no"] {
        let bastion = Sshd::with(&Setup {
            config,
            ..Setup::default()
        });
        let error = Pool::new()
            .session(&behind(&[&bastion], &host))
            .await
            .unwrap_err();
        assert_eq!(error.reason(), Reason::SshUnreachable);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("AllowTcpForwarding"), "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn heavy_traffic_both_ways_through_a_jump_host_does_not_lock_up() {
    let (bastion, host) = (Sshd::new(), Sshd::new());
    let session = Pool::new()
        .session(&behind(&[&bastion], &host))
        .await
        .unwrap();
    let filler = "z".repeat(2_000_000);
    let script = format!("head -c 3000000 /dev/zero\n: <<'EOF'\n{filler}\nEOF");
    let runs = (0..6).map(|_| {
        let (session, script) = (Arc::clone(&session), script.clone());
        async move { session.run(&script).await }
    });
    for output in join_all(runs).await {
        assert_eq!(output.unwrap().stdout.len(), 3_000_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_lost_jump_host_loses_the_host_and_both_are_connected_again() {
    let (bastion, host) = (Sshd::new(), Sshd::new());
    let (pool, target) = (Pool::new(), behind(&[&bastion], &host));
    let session = pool.session(&target).await.unwrap();
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let running = session.follow("echo $$; exec sleep 1000", move |line| {
        sender.send(line.parse().unwrap()).unwrap();
    });
    let killer = async {
        let pid = lines.recv().await.unwrap();
        assert_eq!(bastion.kill_connections(), 1);
        pid
    };
    let (result, pid) = tokio::join!(running, killer);
    crate::ssh::sshd::kill(pid);
    assert_eq!(result.unwrap_err().reason(), Reason::SshDisconnected);
    let again = pool.session(&target).await.unwrap();
    assert!(again.run("true").await.unwrap().success());
    assert_eq!(bastion.logged("Accepted publickey"), 2);
}
