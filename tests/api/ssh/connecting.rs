//! Host keys, logins, and hosts that do not answer as they should.

use std::sync::Arc;
use tatara_core::api::conditions::Reason;

use tatara::remote::{ConnectError, Pool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::ssh::sshd::{Key, Setup, Sshd};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_pinned_host_key_of_every_type_is_verified() {
    for kind in ["ed25519", "ecdsa:256", "ecdsa:384", "ecdsa:521", "rsa:3072"] {
        let sshd = Sshd::with(&Setup {
            host_keys: &[kind],
            ..Setup::default()
        });
        let session = Pool::new().session(&sshd.target()).await;
        let session = session.unwrap_or_else(|error| panic!("{kind}: {error:?}"));
        assert!(session.run("true").await.unwrap().success(), "{kind}");
        assert!(session.first_contact_keys().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_with_several_keys_shows_the_pinned_one() {
    let host_keys = &["ed25519", "ecdsa:256", "rsa:2048"];
    let sshd = Sshd::with(&Setup {
        host_keys,
        ..Setup::default()
    });
    for key in &sshd.host_keys {
        let mut target = sshd.target();
        target.hop.host_keys = vec![key.public.clone()];
        assert!(Pool::new().session(&target).await.is_ok(), "{}", key.public);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_changed_host_key_is_refused_with_both_fingerprints() {
    let sshd = Sshd::new();
    let old = Key::new(sshd.dir(), "old", "ed25519", "");
    let mut target = sshd.target();
    target.hop.host_keys = vec![old.public.clone()];
    target.trust_on_first_use = true;
    let error = Pool::new().session(&target).await.unwrap_err();
    assert_eq!(error.reason(), Reason::HostKeyChanged);
    let ConnectError::HostKeyChanged {
        expected, shown, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(expected, &[old.fingerprint()]);
    assert_eq!(shown, &sshd.host_keys[0].fingerprint());
    let text = error.to_string();
    assert!(
        text.contains(&old.fingerprint()) && text.contains(shown.as_str()),
        "{text}"
    );
    assert!(text.contains("hostKeys in place of the old one"), "{text}");
    assert_eq!(sshd.logged("Accepted publickey"), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_without_a_key_of_the_pinned_type_is_refused_and_says_what_it_has() {
    let sshd = Sshd::new();
    let old = Key::new(sshd.dir(), "old", "rsa:2048", "");
    let mut target = sshd.target();
    target.hop.host_keys = vec![old.public.clone()];
    let error = Pool::new().session(&target).await.unwrap_err();
    assert_eq!(error.reason(), Reason::HostKeyChanged);
    let ConnectError::HostKeyNotOffered {
        expected, offered, ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(expected, [old.fingerprint()]);
    assert!(offered.contains(&"ssh-ed25519".to_string()), "{offered:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_missing_host_key_is_refused_before_the_host_is_contacted() {
    let sshd = Sshd::new();
    let mut target = sshd.target();
    target.hop.host_keys.clear();
    let error = Pool::new().session(&target).await.unwrap_err();
    assert_eq!(error.reason(), Reason::HostKeyMissing);
    assert_eq!(sshd.logged("Connection from"), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn trust_on_first_use_gives_the_key_to_pin() {
    let sshd = Sshd::new();
    let mut target = sshd.target();
    target.hop.host_keys.clear();
    target.trust_on_first_use = true;
    let pool = Pool::new();
    let session = pool.session(&target).await.unwrap();
    let [shown] = session.first_contact_keys() else {
        panic!("{:?}", session.first_contact_keys());
    };
    assert!(sshd.host_keys[0].public.starts_with(shown), "{shown}");
    target.hop.host_keys = vec![shown.clone()];
    assert!(
        pool.session(&target)
            .await
            .unwrap()
            .first_contact_keys()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn rsa_logins_sign_with_sha2_and_never_with_sha1() {
    for (accepted, ok) in [
        ("rsa-sha2-512", true),
        ("rsa-sha2-256", true),
        ("ssh-rsa", false),
    ] {
        let config = format!("PubkeyAcceptedAlgorithms {accepted}");
        let user_key = "rsa:2048";
        let sshd = Sshd::with(&Setup {
            user_key,
            config: &config,
            ..Setup::default()
        });
        match Pool::new().session(&sshd.target()).await {
            Ok(_) => assert!(ok, "{accepted}"),
            Err(error) => {
                assert!(!ok, "{accepted}: {error:?}");
                assert_eq!(error.reason(), Reason::AuthenticationFailed);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_key_that_is_not_authorised_fails_by_name() {
    // With one try sshd hangs up instead of answering: that is a refusal too.
    for config in ["", "MaxAuthTries 1"] {
        let sshd = Sshd::with(&Setup {
            config,
            ..Setup::default()
        });
        let stranger = Key::new(sshd.dir(), "stranger", "ed25519", "");
        let mut target = sshd.target();
        target.hop.credential = stranger.credential(None);
        let error = Pool::new().session(&target).await.unwrap_err();
        assert_eq!(
            error.reason(),
            Reason::AuthenticationFailed,
            "{config}: {error:?}"
        );
        let text = error.to_string();
        assert!(text.contains(&stranger.fingerprint()), "{text}");
        assert!(text.contains("~root/.ssh/authorized_keys"), "{text}");
        assert!(!error.is_transient());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn an_unknown_user_fails_by_name() {
    let sshd = Sshd::new();
    let mut target = sshd.target();
    target.hop.user = "nobody-here".into();
    match Pool::new().session(&target).await.unwrap_err() {
        ConnectError::AuthenticationFailed { user, .. } => assert_eq!(user, "nobody-here"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_server_that_wants_a_second_factor_says_so() {
    let config = "AuthenticationMethods publickey,password\nPasswordAuthentication yes";
    let sshd = Sshd::with(&Setup {
        config,
        ..Setup::default()
    });
    let error = Pool::new().session(&sshd.target()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::AuthenticationFailed);
    assert!(
        error
            .to_string()
            .ends_with("(the server wants password as well)"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_that_does_not_listen_is_unreachable() {
    let mut sshd = Sshd::new();
    sshd.stop();
    let error = Pool::new().session(&sshd.target()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::SshUnreachable);
    assert!(error.is_transient());
    let mut target = sshd.target();
    target.hop.address = "no-such-host.invalid".into();
    assert_eq!(
        Pool::new().session(&target).await.unwrap_err().reason(),
        Reason::SshUnreachable
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_host_that_stays_silent_times_out_and_its_connection_is_closed() {
    let sshd = Sshd::new();
    let silent_after = async |greeting: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut target = sshd.target();
        target.hop.port = listener.local_addr().unwrap().port();
        let peer = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(greeting.as_bytes()).await.unwrap();
            // Ends when the other side closes; an abandoned connection would never.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        };
        let pool = Pool::new();
        let (result, ()) = tokio::join!(pool.session(&target), peer);
        match result.unwrap_err() {
            ConnectError::Timeout { seconds, .. } => assert_eq!(seconds, 60),
            other => panic!("{other:?}"),
        }
    };
    tokio::join!(silent_after(""), silent_after("SSH-2.0-OpenSSH_9.2\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_peer_that_is_no_sshd_or_hangs_up_fails_with_a_cause() {
    let sshd = Sshd::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let answers = [
        ("", "SshUnreachable"),
        ("SSH-2.0-x\r\n", "SshUnreachable"),
        (
            "SSH-2.0-x\r\n\0\0\0\x0c\x0aaaaaaaaaaaaaaaaaaa",
            "SshProtocolError",
        ),
    ];
    for (answer, reason) in answers {
        let mut target = sshd.target();
        target.hop.port = listener.local_addr().unwrap().port();
        let peer = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        };
        let pool = Pool::new();
        let (result, ()) = tokio::join!(pool.session(&target), peer);
        let error = result.unwrap_err();
        assert_eq!(error.reason().as_str(), reason, "{answer:?}: {error:?}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn neither_errors_nor_debug_show_the_key() {
    let sshd = Sshd::new();
    let target = sshd.target();
    let session = Pool::new().session(&target).await.unwrap();
    let shown = format!("{target:?} {session:?} {:?}", Arc::clone(&session));
    let pem = std::fs::read_to_string(&sshd.user.private).unwrap();
    let secret_lines = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .skip(2);
    for line in secret_lines {
        assert!(!shown.contains(line));
    }
    assert!(shown.contains(&sshd.user.fingerprint()), "{shown}");
}
