//! Becoming root. sshd runs as root here and logs root in; `sudo` is a stand-in on its PATH that says
//! and does what the real one does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use tatara_core::api::conditions::Reason;

use tatara::remote::{Output, Pool, RunError};
use tatara_core::api::host::Privilege;

use crate::ssh::sshd::{Setup, Sshd};

/// Runs `id -u` with privilege `sudo` where `sudo` is a script with this body.
async fn run_with_sudo(body: &str) -> Result<Output, RunError> {
    let bin = tempfile::tempdir().unwrap();
    let sudo = bin.path().join("sudo");
    fs::write(&sudo, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&sudo, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "SetEnv PATH={}:/usr/sbin:/usr/bin:/sbin:/bin",
        bin.path().display()
    );
    let sshd = Sshd::with(&Setup {
        config: &config,
        ..Setup::default()
    });
    let mut target = sshd.target();
    target.privilege = Privilege::Sudo;
    let session = Pool::new().session(&target).await.unwrap();
    session.run("echo \"$by_sudo\"; id -u").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn sudo_stand_in_that_obeys_runs_the_script() {
    let body = "[ \"$1 $2\" = '-n --' ] || exit 9; shift 2; exec env by_sudo=yes \"$@\"";
    let output = run_with_sudo(body).await.unwrap();
    assert_eq!(output.stdout, b"yes\n0\n");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn sudo_stand_in_that_refuses_is_reported_with_the_remedy() {
    let body = "echo 'sudo: a password is required' >&2; exit 1";
    let error = run_with_sudo(body).await.unwrap_err();
    let RunError::SudoRefused { said, user, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (said.as_str(), user.as_str()),
        ("sudo: a password is required", "root")
    );
    assert_eq!(error.reason(), Reason::SudoRefused);
    assert!(error.to_string().contains("NOPASSWD: ALL"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_missing_sudo_is_a_refusal_too() {
    let config = "SetEnv PATH=/nowhere";
    let sshd = Sshd::with(&Setup {
        config,
        ..Setup::default()
    });
    let mut target = sshd.target();
    target.privilege = Privilege::Sudo;
    let error = Pool::new()
        .session(&target)
        .await
        .unwrap()
        .run("true")
        .await
        .unwrap_err();
    let RunError::SudoRefused { said, .. } = error else {
        panic!("{error:?}");
    };
    assert!(said.contains("not found"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn sudo_stand_in_that_gives_another_user_runs_nothing() {
    let body = "shift 2; exec setpriv --reuid=65534 --clear-groups \"$@\"";
    match run_with_sudo(body).await.unwrap_err() {
        RunError::NotRoot { uid, .. } => assert_eq!(uid, "65534"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_that_fails_as_sudo_would_is_not_taken_for_a_refusal() {
    let sshd = Sshd::new();
    let script = "echo 'sudo: a password is required' >&2; exit 1";
    let session = Pool::new().session(&sshd.target()).await.unwrap();
    assert_eq!(session.run(script).await.unwrap().code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_login_without_a_shell_is_reported() {
    let config = "ForceCommand echo 'This account is currently not available.'; exit 1";
    let sshd = Sshd::with(&Setup {
        config,
        ..Setup::default()
    });
    let session = Pool::new().session(&sshd.target()).await.unwrap();
    match session.run("true").await.unwrap_err() {
        RunError::ShellUnavailable { said, .. } => {
            assert_eq!(said, "This account is currently not available.");
        }
        other => panic!("{other:?}"),
    }
}
