//! The Redfish client against a service that we did not write: sushy-tools over libvirt, where power, boot override
//! and virtual media really act.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tatara_core::host::PowerState;
use tatara_redfish::{Access, Bmc, BootDevice, Error, Login, Pace, Trust, Wish};

const NAME: &str = "rfpeer";
const SUBNET: &str = "10.67.0";

/// A hypervisor with the service and two servers behind it, and nothing of them at the end.
struct Peer {
    state: tempfile::TempDir,
    says: BTreeMap<String, String>,
    systems: Vec<String>,
}

impl Peer {
    fn up() -> Self {
        let state = tempfile::tempdir().expect("a temporary folder");
        let mut peer = Self {
            state,
            says: BTreeMap::new(),
            systems: Vec::new(),
        };
        peer.hack("libvirt", &["up", NAME]);
        for machine in ["one", "two"] {
            let said = peer.hack("redfish", &["system", NAME, machine, "bios"]);
            peer.systems.push(said["SYSTEM"].clone());
        }
        peer.says = peer.hack("redfish", &["up", NAME]);
        peer
    }

    /// What a script says, as NAME=value lines.
    fn hack(&self, script: &str, arguments: &[&str]) -> BTreeMap<String, String> {
        let text = self.text(script, arguments);
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines
            .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
            .collect()
    }

    fn text(&self, script: &str, arguments: &[&str]) -> String {
        let hack = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("hack");
        let mut command = Command::new(hack.join(script));
        command
            .env("SUBNET", SUBNET)
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", self.state.path());
        let output = command.args(arguments).output().expect("a script of hack/");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script} {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The URL of a small image. What is in it does not matter: it is inserted, and not booted.
    fn image(&self) -> String {
        let path = self.state.path().join("empty.iso");
        std::fs::write(&path, vec![0; 1 << 20]).expect("a file");
        let served = self.text("libvirt", &["serve", NAME, path.to_str().expect("a path")]);
        served.trim().to_owned()
    }

    fn access(&self, password: &str, trust: Trust, system: Option<&str>) -> Access {
        let login = Login {
            username: self.says["USERNAME"].clone(),
            password: password.to_owned().into(),
        };
        let system = system.map(str::to_owned);
        Access::new(&self.says["REDFISH"], login, trust, system).expect("an access")
    }

    fn trust(&self) -> Trust {
        Trust::fingerprint(&self.says["FINGERPRINT"]).expect("a fingerprint")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.hack("libvirt", &["down", NAME]);
    }
}

fn pace() -> Pace {
    Pace {
        change: Duration::from_mins(3),
        ..Pace::default()
    }
}

async fn refused(access: Access) -> Error {
    match Bmc::open(&access, pace()).await {
        Ok(_) => panic!("it was let in"),
        Err(error) => error,
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_redfish_service_that_is_not_ours_does_what_it_is_asked_for() {
    let peer = Peer::up();
    let password = peer.says["PASSWORD"].clone();
    let several = refused(peer.access(&password, peer.trust(), None)).await;
    let said = several.to_string();
    assert!(
        peer.systems.iter().all(|system| said.contains(system)),
        "{said}"
    );
    let system = Some(peer.systems[0].as_str());
    let wrong = refused(peer.access("wrong", peer.trust(), system)).await;
    assert!(matches!(wrong, Error::LoginRefused { .. }), "{wrong:?}");
    let other = Trust::fingerprint(&format!("sha256:{}", "0".repeat(64))).expect("a fingerprint");
    let changed = refused(peer.access(&password, other, system)).await;
    assert!(
        matches!(changed, Error::CertificateChanged { .. }),
        "{changed:?}"
    );

    let pem = std::fs::read(&peer.says["CA"]).expect("an authority");
    let trust = Trust::authority(&pem).expect("a certificate");
    let mut bmc = Bmc::open(&peer.access(&password, trust, system), pace())
        .await
        .expect("a login");
    power(&mut bmc).await;
    media(&mut bmc, &peer.image()).await;
    bmc.bring(Wish::ForceOff).await.expect("off");
    bmc.close().await;
}

async fn power(bmc: &mut Bmc) {
    for (wish, state) in [
        (Wish::On, PowerState::On),
        (Wish::Restart, PowerState::On),
        (Wish::ForceOff, PowerState::Off),
        (Wish::ForceOff, PowerState::Off),
        (Wish::On, PowerState::On),
    ] {
        bmc.bring(wish).await.expect("what was wished");
        assert_eq!(bmc.power().await.expect("a state"), state, "{wish}");
    }
}

/// What was to hold once stays, and is taken back. Without a CD in it, the drive is no device to boot from there.
async fn boot(bmc: &mut Bmc) {
    let kept = bmc.boot_once(BootDevice::Cd).await.expect("an override");
    assert_eq!(
        (kept.enabled.as_str(), kept.target.as_str()),
        ("Continuous", "Cd")
    );
    bmc.boot_from_disk().await.expect("the disk");
    let now = bmc.boot_override().await.expect("an answer");
    assert!(now.is_none_or(|now| now.target == "Hdd"));
}

async fn media(bmc: &mut Bmc, image: &str) {
    assert_eq!(bmc.cd().await.expect("a drive"), None);
    bmc.insert_cd(image).await.expect("a CD");
    assert!(bmc.cd().await.expect("a drive").is_some());
    bmc.insert_cd(image).await.expect("the same over itself");
    boot(bmc).await;
    bmc.eject_cd().await.expect("an empty drive");
    bmc.eject_cd().await.expect("an empty drive stays empty");
    assert_eq!(bmc.cd().await.expect("a drive"), None);
    let error = bmc.insert_cd("http://127.0.0.1:1/none.iso").await;
    let error = error.expect_err("no such image").to_string();
    assert!(error.contains("HTTP"), "{error}");
}
