//! What we write, judged by the real kubeadm and by OpenSSL.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests fail as tests do

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tatara::api::ClusterProviderSpec;
use tatara::kubeadm::{
    self, CERTIFICATES_DIR, CRI_SOCKET, ClusterInput, Discovery, Endpoint, LocalApi, NodeInput,
};
use tatara::pki::authorities::control_plane_files;
use tatara::pki::{Authorities, Authority, AuthoritySecret, BootstrapToken, ServiceAccountKey};

fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Output {
    let program = program.as_ref();
    Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

fn stdout_of(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn real_kubeadm() -> PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/hack/binaries");
    stdout_of(script, &["path", "kubeadm"]).trim().into()
}

fn cluster() -> ClusterInput {
    ClusterInput {
        name: "forge".into(),
        version: "v1.36.3".parse().unwrap(),
        endpoint: Endpoint {
            host: "10.77.0.100".into(),
            port: 6443,
        },
        pod_cidrs: vec!["10.244.0.0/16".into()],
        service_cidrs: vec!["10.96.0.0/16".into()],
        service_domain: "cluster.local".into(),
        cert_sans: vec!["api.forge.example".into()],
    }
}

fn two_families() -> ClusterInput {
    ClusterInput {
        endpoint: Endpoint {
            host: "fd00::100".into(),
            port: 6443,
        },
        pod_cidrs: vec!["fd00:1::/56".into(), "10.244.0.0/16".into()],
        service_cidrs: vec!["fd00:2::/112".into(), "10.96.0.0/16".into()],
        ..cluster()
    }
}

fn node() -> NodeInput {
    NodeInput {
        name: "host-a".into(),
        provider_id: "tatara://ssh/1b4e28ba".into(),
        taints: vec![],
        labels: BTreeMap::from([("rack".to_owned(), "r1".to_owned())]),
        cri_socket: CRI_SOCKET.into(),
    }
}

fn api(advertise_address: &str) -> LocalApi {
    LocalApi {
        advertise_address: advertise_address.into(),
        bind_port: 6443,
    }
}

/// The settings that hosts on cgroup v1 without a registry need.
fn quickstart() -> ClusterProviderSpec {
    let registration = json!({
        "imagePullPolicy": "Never", "ignorePreflightErrors": ["SystemVerification"]
    });
    ClusterProviderSpec::decode(Some(&json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "ClusterProviderSpec",
        "kubeadm": {
            "initConfiguration": {"nodeRegistration": registration},
            "joinConfiguration": {"nodeRegistration": registration},
        },
        "kubeletConfiguration": {
            "cgroupDriver": "cgroupfs", "failCgroupV1": false, "cgroupRoot": "/",
            "evictionHard": {"nodefs.available": "0%", "memory.available": "100Mi"},
        },
        "kubeProxyConfiguration": {"mode": "iptables", "conntrack": {"maxPerCore": 0, "min": 0}},
    })))
    .unwrap()
}

fn authorities(now: Timestamp) -> Authorities {
    Authorities::load_or_generate("forge", &BTreeMap::new(), now)
        .unwrap()
        .0
}

/// An RSA authority with the key in the form that kubeadm writes, for all three.
fn authorities_of_a_user(now: Timestamp) -> Authorities {
    let file = |name: &str| {
        let path = format!("{}/tests/pki/{name}", env!("CARGO_MANIFEST_DIR"));
        k8s_openapi::ByteString(std::fs::read(path).unwrap())
    };
    let rsa = BTreeMap::from([
        ("tls.crt".to_owned(), file("rsa.crt")),
        ("tls.key".to_owned(), file("rsa-pkcs1.key")),
    ]);
    let mut found: BTreeMap<_, _> = AuthoritySecret::ALL
        .into_iter()
        .map(|which| (which, rsa.clone()))
        .collect();
    found.insert(
        AuthoritySecret::ServiceAccount,
        ServiceAccountKey::generate().unwrap().secret_data(),
    );
    Authorities::load_or_generate("forge", &found, now)
        .unwrap()
        .0
}

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Accepted, and without a single warning.
fn accepts(kubeadm: &Path, dir: &Path, text: &str) {
    let file = write(dir, "config.yaml", text);
    let output = run(kubeadm, &["config", "validate", "--config", &file]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}\n{text}");
}

#[test]
#[ignore = "needs a management plane"]
fn kubeadm_accepts_our_configuration_without_a_warning() {
    let (kubeadm, dir) = (real_kubeadm(), tempfile::tempdir().unwrap());
    let now = tatara::clock::now();
    for user in [ClusterProviderSpec::default(), quickstart()] {
        for (cluster, address) in [(cluster(), "10.77.0.11"), (two_families(), "fd00::11")] {
            let text = kubeadm::init(&cluster, &node(), &api(address), &user).unwrap();
            accepts(&kubeadm, dir.path(), &text);
        }
        let discovery = Discovery {
            endpoint: two_families().endpoint,
            token: BootstrapToken::generate().unwrap().text(),
            ca_cert_hashes: authorities(now).cluster.public_key_hashes(),
        };
        let text = kubeadm::join(&node(), &discovery, &user).unwrap();
        accepts(&kubeadm, dir.path(), text.expose_secret());
    }
}

#[test]
#[ignore = "needs a management plane"]
fn kubeadm_names_a_misspelt_field_of_a_users_part() {
    let (kubeadm, dir) = (real_kubeadm(), tempfile::tempdir().unwrap());
    for (part, field) in [
        (json!({"kubeletConfiguration": {"maxPodz": 5}}), "maxPodz"),
        (
            json!({"kubeadm": {"clusterConfiguration": {"apiServer": {"certSAN": []}}}}),
            "apiServer.certSAN",
        ),
    ] {
        let mut value: Value = part;
        value["apiVersion"] = json!("tatara.dev/v1alpha1");
        value["kind"] = json!("ClusterProviderSpec");
        let user = ClusterProviderSpec::decode(Some(&value)).unwrap();
        let text = kubeadm::init(&cluster(), &node(), &api("10.77.0.11"), &user).unwrap();
        let file = write(dir.path(), "config.yaml", &text);
        let output = run(&kubeadm, &["config", "validate", "--config", &file]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            told.contains(&format!("unknown field \"{field}\"")),
            "{told}"
        );
    }
}

#[test]
#[ignore = "needs a management plane"]
fn kubeadm_makes_the_rest_of_the_certificates_from_our_authorities() {
    let (kubeadm, now) = (real_kubeadm(), tatara::clock::now());
    for authorities in [authorities(now), authorities_of_a_user(now)] {
        let dir = tempfile::tempdir().unwrap();
        let pki = dir.path().join("pki");
        let here = |path: &str| path.replace(CERTIFICATES_DIR, pki.to_str().unwrap());
        let files = control_plane_files(&authorities);
        for file in &files {
            write(dir.path(), &here(&file.path), file.content.expose_secret());
        }
        let user = ClusterProviderSpec::default();
        let text = kubeadm::init(&cluster(), &node(), &api("10.77.0.11"), &user).unwrap();
        let config = write(dir.path(), "init.yaml", &here(&text));
        stdout_of(
            &kubeadm,
            &["init", "phase", "certs", "all", "--config", &config],
        );
        for file in &files {
            let after = std::fs::read_to_string(here(&file.path)).unwrap();
            assert_eq!(after, file.content.expose_secret(), "{}", file.path);
        }
        let at = |name: &str| pki.join(name).to_str().unwrap().to_owned();
        for (authority, leaf) in [
            ("ca.crt", "apiserver.crt"),
            ("ca.crt", "apiserver-kubelet-client.crt"),
            ("front-proxy-ca.crt", "front-proxy-client.crt"),
            ("etcd/ca.crt", "etcd/server.crt"),
            ("etcd/ca.crt", "apiserver-etcd-client.crt"),
        ] {
            stdout_of("openssl", &["verify", "-CAfile", &at(authority), &at(leaf)]);
        }
        let names = stdout_of(
            "openssl",
            &["x509", "-in", &at("apiserver.crt"), "-noout", "-text"],
        );
        for name in [
            "10.77.0.100",
            "10.77.0.11",
            "api.forge.example",
            "10.96.0.1",
        ] {
            assert!(names.contains(name), "{name} in {names}");
        }
        let public = stdout_of("openssl", &["pkey", "-in", &at("sa.key"), "-pubout"]);
        assert_eq!(public, authorities.service_account.public_pem());
    }
}

#[test]
#[ignore = "needs a management plane"]
fn openssl_verifies_our_client_certificates_for_clients_only() {
    let dir = tempfile::tempdir().unwrap();
    let now = tatara::clock::now();
    for authorities in [authorities(now), authorities_of_a_user(now)] {
        for authority in [&authorities.cluster, &authorities.etcd] {
            verify(dir.path(), authority, now);
        }
    }
}

fn verify(dir: &Path, authority: &Authority, now: Timestamp) {
    let life = SignedDuration::from_hours(365 * 24);
    let certificate = authority
        .client_certificate("tatara-admin", Some("kubeadm:cluster-admins"), life, now)
        .unwrap();
    let root = write(dir, "ca.crt", authority.certificate_pem());
    let leaf = write(dir, "client.crt", &certificate.certificate_pem);
    let key = write(dir, "client.key", certificate.key_pem.expose_secret());
    let purpose = |purpose| {
        [
            "verify",
            "-x509_strict",
            "-purpose",
            purpose,
            "-CAfile",
            &root,
            &leaf,
        ]
    };
    stdout_of("openssl", &purpose("sslclient"));
    assert!(!run("openssl", &purpose("sslserver")).status.success());
    let subject = stdout_of("openssl", &["x509", "-in", &leaf, "-noout", "-subject"]);
    assert_eq!(
        subject.trim().replace(' ', ""),
        "subject=O=kubeadm:cluster-admins,CN=tatara-admin"
    );
    assert_eq!(
        stdout_of("openssl", &["pkey", "-in", &key, "-pubout"]),
        stdout_of("openssl", &["x509", "-in", &leaf, "-noout", "-pubkey"])
    );
}
