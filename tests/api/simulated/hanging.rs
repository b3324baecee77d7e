//! One of each that hangs: a host, a slow key and an endless one, a hypervisor, a BMC, a cluster. Nobody else waits for them.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tatara_core::api::{Host, Hypervisor};

use crate::simulated::site::{Site, until};
use crate::support::wait::eventually;

/// Takes connections and says nothing, for as long as it lives.
struct Mute {
    port: u16,
    _end: std::sync::mpsc::Sender<()>,
}

impl Mute {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        listener.set_nonblocking(true).expect("a listener");
        std::thread::spawn(move || {
            let mut held = Vec::new();
            let pause = Duration::from_millis(50);
            while ended.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                held.extend(listener.accept());
            }
        });
        Self { port, _end: end }
    }
}

fn host(name: &str, secret: &str, port: u16, bmc: Option<u16>) -> Value {
    let mut host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ssh": {"address": "127.0.0.1", "port": port, "user": name, "privilege": "sudo", "credentialsRef": {"name": secret},
            "trustOnFirstUse": true}}});
    if let Some(port) = bmc {
        host["spec"]["bmc"] = json!({"address": format!("https://127.0.0.1:{port}"),
            "credentialsRef": {"name": "bmc"}, "tls": {"fingerprint": format!("sha256:{}", "0".repeat(64))}});
    }
    host
}

/// A Secret with a key that takes `rounds` rounds of bcrypt to open.
fn key(site: &Site, name: &str, rounds: u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key");
    let (many, is_endless) = (rounds.to_string(), rounds > 1000);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "geheim", "-a"])
        .args([if is_endless { "1" } else { &many }, "-f"])
        .arg(&file)
        .status();
    assert!(made.expect("ssh-keygen").success());
    if is_endless {
        set_rounds(&file, rounds);
    }
    let from = format!("--from-file=ssh-privatekey={}", file.display());
    let kind = "--type=kubernetes.io/ssh-auth";
    let passphrase = "--from-literal=passphrase=geheim";
    let secret = ["create", "secret", "generic", name, kind, passphrase, &from];
    site.kubectl(&secret, "");
}

/// Writes another number of rounds into the header of a key: nobody can compute the real one.
fn set_rounds(file: &Path, rounds: u32) {
    let text = fs::read_to_string(file).expect("a key");
    let body: String = text.lines().filter(|l| !l.starts_with("-----")).collect();
    let mut bytes = STANDARD.decode(body).expect("base64");
    let name = bytes.windows(6).position(|word| word == b"bcrypt");
    // behind the name: the length of its options, that of the salt, the salt, and the rounds
    let at = name.expect("its derivation") + 6 + 4 + 4 + 16;
    bytes[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
    let body = STANDARD.encode(bytes);
    let lines = body.as_bytes().chunks(70).map(String::from_utf8_lossy);
    let lines = lines.collect::<Vec<_>>().join("\n");
    let (begin, end) = ("-----BEGIN OPENSSH", "-----END OPENSSH");
    let key = format!("{begin} PRIVATE KEY-----\n{lines}\n{end} PRIVATE KEY-----\n");
    fs::write(file, key).expect("a key");
}

/// A Secret that opens a gateway.
pub fn gateway_secret(site: &Site) {
    let authority = rcgen::generate_simple_self_signed(vec!["gateway".to_owned()]);
    let authority = authority.expect("a certificate").cert.pem();
    let authority = format!("--from-literal=ca.crt={authority}");
    let kind = "--type=tatara.dev/gateway";
    let token = "--from-literal=token=t";
    site.kubectl(
        &[
            "create", "secret", "generic", "gateway", kind, token, &authority,
        ],
        "",
    );
}

/// From a wish for ten Machines to ten that are Ready; then they go.
async fn ten(site: &Site) -> Duration {
    let start = Instant::now();
    site.scale("pool", 10);
    site.until_ready("pool", 10).await;
    let took = start.elapsed();
    site.scale("pool", 0);
    site.until_ready("pool", 0).await;
    took
}

async fn median_of_three(site: &Site) -> Duration {
    let mut times = [ten(site).await, ten(site).await, ten(site).await];
    times.sort();
    times[1]
}

fn one_of_each(site: &Site, mute: u16) {
    key(site, "slow", 400);
    key(site, "endless", 1 << 30);
    key(site, "key", 1);
    let bmc = [
        "create",
        "secret",
        "generic",
        "bmc",
        "--type=kubernetes.io/basic-auth",
    ];
    let login = ["--from-literal=username=u", "--from-literal=password=p"];
    site.kubectl(&[&bmc[..], &login].concat(), "");
    gateway_secret(site);
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{mute}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
    );
    let kubeconfig = format!("--from-literal=value={kubeconfig}");
    site.kubectl(
        &[
            "create",
            "secret",
            "generic",
            "mute-kubeconfig",
            &kubeconfig,
        ],
        "",
    );
    for object in [
        host("slow", "slow", mute, None),
        host("endless", "endless", mute, None),
        host("mute", "key", mute, None),
        // nobody listens at port 1: its BMC is asked
        host("bmc", "key", 1, Some(mute)),
        json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor",
            "metadata": {"name": "mute", "namespace": "default"},
            "spec": {"url": format!("https://127.0.0.1:{mute}"), "credentialsRef": {"name": "gateway"}}}),
        json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "mute", "namespace": "default"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}}),
        json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "mute", "namespace": "default",
                "labels": {"cluster.k8s.io/cluster-name": "mute"}},
            "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": {
                "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"}}}}),
    ] {
        site.apply(&object.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn one_of_each_that_hangs_costs_ten_machines_that_are_well_nothing() {
    let site = Site::new().await;
    site.deployment("pool", 1, json!({}));
    site.until_ready("pool", 1).await;
    let alone = median_of_three(&site).await;

    let mute = Mute::new();
    one_of_each(&site, mute.port);
    let beside = median_of_three(&site).await;
    let limit = (alone + alone / 5).max(alone + Duration::from_secs(5));
    assert!(
        beside <= limit,
        "{beside:?} beside what hangs, {alone:?} without"
    );
    eprintln!("ten Machines: {beside:?} beside what hangs, {alone:?} without");

    // and each of them says so
    for (host, reason) in [
        ("bmc", "BMCUnreachable"),
        ("mute", "SshUnreachable"),
        ("endless", "CredentialTooCostly"),
    ] {
        until(host, reason, async || {
            Some(site.api::<Host>().get(host).await.ok()?.status?.conditions)
        })
        .await;
    }
    until("Hypervisor mute", "HypervisorUnreachable", async || {
        let hypervisor = site.api::<Hypervisor>().get("mute").await.ok()?;
        Some(hypervisor.status?.conditions)
    })
    .await;
    eventually("words of the cluster", async || {
        let cluster = site
            .api::<tatara_core::api::Cluster>()
            .get("mute")
            .await
            .ok()?;
        let conditions = cluster.status?.conditions;
        let healthy = conditions
            .iter()
            .find(|c| c.type_ == "ControlPlaneHealthy")?;
        (healthy.status == "False" && healthy.message.contains("since")).then_some(())
    })
    .await;
}
