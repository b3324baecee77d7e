//! Installations that go wrong before an operating system is there: hosts with simulated BMCs, at addresses at which
//! no host answers, and images without an installer in them.

use serde_json::{Value, json};

use crate::manager::world::World;
use crate::support::bmc::{PASSWORD, SimulatedBmc, State, USER};
use crate::support::image::{Origin, image};
use crate::support::wait::until_true;

const DISK: &str = "S3Z9NB0K";

pub fn field(condition: &str, part: &str) -> String {
    format!(".status.conditions[?(@.type==\"{condition}\")].{part}")
}

/// A Host that is to be installed, without a host key, and asked for.
pub fn ask(
    world: &World,
    name: &str,
    port: u16,
    bmc: &SimulatedBmc,
    (iso, seconds): (&Value, u32),
) {
    let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
    "metadata": {"name": name, "annotations": {"tatara.dev/reinstall": DISK}},
    "spec": {
        "ssh": {"address": "127.0.0.1", "port": port, "credentialsRef": {"name": "ssh"}},
        "bmc": {"address": bmc.address(), "credentialsRef": {"name": "bmc"}, "tls": {"fingerprint": bmc.certificate.1}},
        "rootDeviceHints": {"serialNumber": DISK},
        "installation": {"iso": iso, "timeoutSeconds": seconds},
    }});
    world.create(&format!("{name}.yaml"), &host.to_string());
}

/// The Secret by which the manager logs in to the simulated BMCs.
pub fn bmc_secret(world: &World) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": "bmc"}, "stringData": {"username": USER, "password": PASSWORD}});
    world.create("bmc.yaml", &secret.to_string());
}

async fn bmc(state: State) -> SimulatedBmc {
    SimulatedBmc::start(state).await
}

/// What is open behind a URL: its status, as curl says it.
fn status(url: &str) -> String {
    let mut curl = std::process::Command::new("curl");
    let options = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-r", "0-99"];
    let output = curl.args(options).arg(url).output().expect("curl");
    String::from_utf8(output.stdout).expect("text")
}

/// Waits until the installation of a Host has failed so, and checks what holds of each that failed.
async fn fails(world: &World, name: &str, bmc: &SimulatedBmc, reason: &str) -> String {
    let host = format!("host/{name}");
    let says = field("Installed", "reason");
    world.until_says(&host, reason, &says).await;
    // the record is written after the condition
    let record = ".metadata.annotations.tatara\\.dev/installation";
    until_true("the end", || {
        world.says(&host, record).contains("\"failed\"")
    })
    .await;
    world
        .until_says(&host, "Quarantined", ".status.state")
        .await;
    assert_eq!(world.says(&host, &field("Available", "reason")), reason);
    assert_eq!(
        world.says(&host, ".metadata.annotations.tatara\\.dev/reinstall"),
        ""
    );
    assert_eq!(
        world.says(&host, ".spec.ssh.hostKeys"),
        "",
        "nothing is pinned"
    );
    assert_eq!(bmc.state().image, None, "{name}: the drive is empty");
    assert_ne!(bmc.state().boot.1, "Cd", "{name}: it boots from its disk");
    assert_eq!(bmc.state().open_sessions(), 0);
    for image in &bmc.state().images.clone() {
        assert_eq!(status(image), "404", "{name}: its image is closed");
    }
    world.says(&host, &field("Installed", "message"))
}

/// What nobody may learn: the bits of URLs, and private keys.
fn nothing_is_told(world: &World, bmcs: &[&SimulatedBmc]) {
    let mut told = world.log();
    told.push_str(&world.kubectl(&["get", "hosts,events", "-o", "json"]));
    assert!(!told.contains("PRIVATE KEY"));
    for bmc in bmcs {
        for image in &bmc.state().images {
            let token = image.split('/').rev().nth(1).expect("a token");
            assert_eq!(token.len(), 64);
            assert!(!told.contains(&token[..16]), "a token was told");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn an_installation_that_fails_says_why_closes_its_image_and_leaves_the_host_off_its_cd() {
    let world = World::new("installs").await;
    bmc_secret(&world);
    let (good, bare) = (
        Origin::start(image(true)).await,
        Origin::start(image(false)).await,
    );

    let wrong = bmc(State::default()).await;
    let mut iso = good.iso.clone();
    iso["sha256"] = "0a".repeat(32).into();
    ask(&world, "wrong", 21, &wrong, (&iso, 600));
    let message = fails(&world, "wrong", &wrong, "InstallerWrong").await;
    assert!(
        message.contains("installation.iso.sha256 is 0a0a"),
        "{message}"
    );

    let without = bmc(State::default()).await;
    ask(&world, "without", 22, &without, (&bare.iso, 600));
    let message = fails(&world, "without", &without, "InstallerUnsuitable").await;
    assert!(message.contains("no embed area"), "{message}");
    assert_eq!(without.state().images.len(), 0, "nothing was booted");

    let nowhere = bmc(State::default()).await;
    iso["url"] = "http://127.0.0.1:9/i.iso".into();
    iso["sha256"] = "0b".repeat(32).into();
    ask(&world, "nowhere", 23, &nowhere, (&iso, 10));
    let message = fails(&world, "nowhere", &nowhere, "InstallerUnavailable").await;
    assert!(message.contains("http://127.0.0.1:9/i.iso"), "{message}");

    // the BMC cannot reach what we serve, and repeats the URL
    let media = bmc(State {
        refuses_media: true,
        ..State::default()
    })
    .await;
    ask(&world, "media", 24, &media, (&good.iso, 10));
    let message = fails(&world, "media", &media, "InstallationMediaRefused").await;
    assert!(
        message.contains("--media-url") && message.contains("/media/.../installer.iso"),
        "{message}"
    );

    let power = bmc(State {
        refuses_power: Some((400, "the chassis is open")),
        power: "On".into(),
        ..State::default()
    })
    .await;
    ask(&world, "power", 25, &power, (&good.iso, 10));
    let message = fails(&world, "power", &power, "InstallationPowerRefused").await;
    assert!(message.contains("the chassis is open"), "{message}");

    // what it boots never says a word: its BMC keeps `Once` for ever
    let silent = bmc(State {
        keeps_once: true,
        ..State::default()
    })
    .await;
    ask(&world, "silent", 26, &silent, (&good.iso, 15));
    until_true("an image", || !silent.state().images.is_empty()).await;
    let url = silent.state().images[0].clone();
    assert_eq!(status(&url), "206", "it may be read while it is installed");
    let message = fails(&world, "silent", &silent, "InstallerSilent").await;
    assert!(
        message.contains("no package mirror") && message.contains(DISK),
        "{message}"
    );
    assert_eq!(silent.looks(), ("Off".into(), None, 1));
    assert_eq!(
        good.asked(),
        2,
        "one for the wrong sum, and one for all others"
    );
    nothing_is_told(&world, &[&media, &power, &silent]);

    a_manager_that_starts_anew_goes_on(world, &good).await;
}

/// The installer has ended while no manager ran, and what it has installed never answers.
async fn a_manager_that_starts_anew_goes_on(mut world: World, good: &Origin) {
    let bmc = bmc(State::default()).await;
    ask(&world, "anew", 27, &bmc, (&good.iso, 60));
    world
        .until_says("host/anew", "InstallerRuns", &field("Installed", "reason"))
        .await;
    let url = bmc.state().images[0].clone();
    let key = world.says("secret/anew-hostkey", ".data.ssh-host-ed25519-key");
    world.kill_manager();
    assert_eq!(status(&url), "000");
    world.start_manager();
    world.until_leading().await;
    until_true("the same image behind the same URL", || {
        status(&url) == "206"
    })
    .await;
    bmc.state().power = "Off".into();
    world
        .until_says(
            "host/anew",
            "StartingInstalled",
            &field("Installed", "reason"),
        )
        .await;
    assert_eq!(bmc.looks(), ("On".into(), None, 1));
    assert_ne!(bmc.state().boot.1, "Cd");
    assert_eq!(status(&url), "404");
    let message = fails(&world, "anew", &bmc, "InstalledSystemSilent").await;
    assert!(message.contains("no disk or several match"), "{message}");
    assert_eq!(
        bmc.state().power,
        "On",
        "whoever looks at its console sees why"
    );
    assert_eq!(bmc.state().images.len(), 1, "the installer was booted once");
    // asked again, it begins again, with other keys
    world.kubectl(&[
        "annotate",
        "host/anew",
        &format!("tatara.dev/reinstall={DISK}"),
    ]);
    until_true("another image", || bmc.state().images.len() == 2).await;
    assert_ne!(bmc.state().images[1], url);
    assert_ne!(
        world.says("secret/anew-hostkey", ".data.ssh-host-ed25519-key"),
        key
    );
    // a Host that is deleted meanwhile gives up, and goes
    world.kubectl(&["delete", "host/anew", "--wait=false"]);
    world.until_gone("host/anew").await;
    let (power, image, _) = bmc.looks();
    assert_eq!((power.as_str(), image), ("Off", None));
    nothing_is_told(&world, &[&bmc]);
}
