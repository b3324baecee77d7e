//! The manager's own way to a host: its SSH layer, its log, and what of the key reaches the host.

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex};
use tatara_core::api::conditions::Reason;

use tatara::remote::{Credential, Hop, Pool, RunError, Target};
use tatara_core::api::host::Privilege;
use tatara_core::node::{JobKind, SecretFile, Step, Unit, start_and_follow};
use tracing_subscriber::EnvFilter;

use crate::host::fleet::{EPOCH, Fleet, lossy, marker, now};
use crate::support::canaries::{Canaries, CommandLines};

const PASSPHRASE: &str = "canary-passphrase-4c1f";
const COMMENT: &str = "canary-comment-9d02";
const KEY_MATERIAL: &str = "canary-in-a-unit-77ab";

/// Everything that the process logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An encrypted key, let in on the host without its comment; and what is searched for.
fn key(fleet: &Fleet) -> (Arc<Credential>, Canaries) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let made = Command::new("ssh-keygen")
        .args([
            "-q", "-t", "ed25519", "-a", "1", "-N", PASSPHRASE, "-C", COMMENT, "-f",
        ])
        .arg(&file)
        .status();
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
    let public: Vec<&str> = public.split(' ').take(2).collect();
    fleet.shell("a", &format!("for home in /root /home/debian /home/nosudo; do echo '{}' >>$home/.ssh/authorized_keys; done", public.join(" ")));
    let pem = std::fs::read_to_string(&file).unwrap();
    let credential = Credential::parse(pem.as_bytes(), Some(PASSPHRASE.as_bytes())).unwrap();
    let mut canaries = Canaries::new();
    canaries.key("SSH key", &pem);
    canaries.word("passphrase", PASSPHRASE);
    canaries.word("comment", COMMENT);
    canaries.word("a secret of a unit", KEY_MATERIAL);
    (Arc::new(credential), canaries)
}

fn target(fleet: &Fleet, credential: &Arc<Credential>, user: &str, privilege: Privilege) -> Target {
    let keys = fleet.fleet(&["hostkey", "a"]);
    Target {
        namespace: "default".into(),
        hop: Hop {
            address: fleet.address(11),
            port: 22,
            user: user.into(),
            host_keys: keys.lines().map(ToOwned::to_owned).collect(),
            credential: Arc::clone(credential),
        },
        privilege,
        jump: Vec::new(),
        trust_on_first_use: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_login_leaves_no_trace_of_its_secrets_and_says_when_sudo_refuses() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let fleet = Fleet::new("ndlogin", "10.60.0");
    fleet.start("a", 11, &[("VARIANT", "bare")]);
    fleet.fleet(&["uplink"]);
    let (credential, canaries) = key(&fleet);
    // ssh-keygen had the passphrase among its arguments: only what comes after is of ours
    let watch = CommandLines::watch();
    let ours = marker("m-1");
    fleet.take("a", &ours);
    let unit = Unit {
        kind: JobKind::Prepare,
        steps: vec![Step {
            name: "use",
            title: "Use",
            script: "sha256sum <\"$TATARA_SECRETS/deep/key\"; id -un; exit 3".into(),
        }],
        secrets: vec![SecretFile {
            name: "deep/key".into(),
            content: KEY_MATERIAL.to_owned().into(),
        }],
    };
    let script = start_and_follow(&ours, &unit, EPOCH, now()).unwrap();
    let pool = Pool::new();
    for (user, privilege) in [("root", Privilege::Root), ("debian", Privilege::Sudo)] {
        let session = pool
            .session(&target(&fleet, &credential, user, privilege))
            .await
            .unwrap();
        let output = session.run(script.as_str()).await.unwrap();
        assert_eq!(output.code, Some(0), "{}", lossy(&output.stderr));
        assert!(
            lossy(&output.stdout).contains("-\\nroot\""),
            "{}",
            lossy(&output.stdout)
        );
        assert!(canaries.found_in(&output.stdout).is_empty());
    }
    let session = pool
        .session(&target(&fleet, &credential, "nosudo", Privilege::Sudo))
        .await
        .unwrap();
    let error = session.run(script.as_str()).await.unwrap_err();
    assert!(
        matches!(&error, RunError::SudoRefused { user, .. } if user == "nosudo"),
        "{error:?}"
    );
    assert_eq!(error.reason(), Reason::SudoRefused);
    assert!(error.to_string().contains("NOPASSWD"), "{error}");
    assert!(
        canaries
            .found_in(format!("{error:?}{session:?}{credential:?}").as_bytes())
            .is_empty()
    );

    for line in watch.end() {
        assert!(canaries.found_in(&line).is_empty(), "{}", lossy(&line));
    }
    crate::host::secrets::are_gone(&fleet, "a", &canaries);
    let log = log.0.lock().unwrap();
    assert!(lossy(&log).contains("russh"), "nothing was logged");
    assert!(canaries.found_in(&log).is_empty());
}
