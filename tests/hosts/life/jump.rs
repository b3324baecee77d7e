//! Hosts that only a jump host reaches, and with them the API of the cluster on them.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine as _;
use serde_json::json;
use tatara::providers::ssh::target;
use tatara::remote::{Credential, Pool, Route, Targets, kube_client};
use tatara_core::api::{Cluster, Host};

use crate::life::hosts;
use crate::support::conditions::{is_true, said};
use crate::support::etcd::members;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

const HOSTS: [&str; 3] = ["host-a", "host-b", "host-c"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_cluster_behind_a_jump_host_is_made_scaled_and_deleted() {
    let world = World::prepared("life6", "10.95.0").await;
    let gate = format!("{}.21", world.subnet());
    world.fleet(&["start", "gate", &gate]);
    world.fleet(&["wait", "gate"]);
    let rule = format!("INPUT -s {}.254/32 -p tcp -j DROP", world.subnet());
    for host in HOSTS {
        world.shell(host, &format!("iptables -I {rule}"));
    }
    through(&world, &gate);
    a_taken_address_is_named(&world).await;
    world.until_ready(3, 400).await;
    within("a cluster that answers through the gate", 60, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await;
        let status = cluster.expect("the Cluster").status?;
        is_true(&status.conditions, "ControlPlaneHealthy").then_some(())
    })
    .await;

    etcd_answers_through_the_gate(&world).await;
    // a drain asks the API as well
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=1",
    ]);
    within("a host that comes back", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    another_control_plane_takes_over(&world).await;
    world.kubectl(&["delete", "cluster/quickstart"]);
    within("all hosts back", 180, async || {
        (world.available().await.len() == HOSTS.len()).then_some(())
    })
    .await;
    for host in HOSTS {
        let rules = world.shell(host, "iptables -S INPUT");
        assert!(
            rules.contains(&rule),
            "a rule that is not ours is gone: {rules}"
        );
    }
}

/// Somebody else has the virtual IP: said, and kubeadm does not run before it is free.
async fn a_taken_address_is_named(world: &World) {
    let address = format!("{}.100", world.subnet());
    world.shell("gate", &format!("ip addr add {address}/24 dev eth0"));
    world.quickstart("apply");
    let taken = format!("{address} is in use by the machine with MAC");
    world.until_one_says(&taken, 200).await;
    let made = world.shell("host-a", "test ! -e /etc/kubernetes/admin.conf && echo no");
    assert_eq!(
        made.trim(),
        "no",
        "kubeadm init ran behind a foreign address"
    );
    world.shell("gate", &format!("ip addr del {address}/24 dev eth0"));
}

/// The way to the cluster's API hangs on no single Machine: the one that ran `kubeadm init` leaves, through the other's etcd.
async fn another_control_plane_takes_over(world: &World) {
    let version = pinned("KUBERNETES");
    let made = world.apply(&json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {
            "name": "other", "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
        },
        "spec": {
            "versions": { "kubelet": version, "controlPlane": version },
            "providerSpec": { "value": {
                "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
                "hostSelector": { "matchLabels": { "role": "worker" } },
            } },
        },
    }));
    assert!(made.status.success());
    world.until_ready(3, 300).await;
    world.kubectl(&["delete", "machine/quickstart-control-plane"]);
    let first = HOSTS[0].to_owned();
    within("the host of the first control plane", 120, async || {
        world.available().await.contains(&first).then_some(())
    })
    .await;
    let host = world.host_of("other").await;
    let listed = members(world, &host);
    assert_eq!(listed, [(host, true)]);
    within("a healthy control plane", 60, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await;
        let conditions = cluster.expect("the Cluster").status?.conditions;
        let members = said(&conditions, "EtcdHealthy");
        let is_healthy = is_true(&conditions, "ControlPlaneHealthy");
        (is_healthy && members == format!("True/MembersHealthy: {}", listed[0].0)).then_some(())
    })
    .await;
}

/// What a Host says of the way to it leads to its etcd as well, which is asked with a client certificate.
async fn etcd_answers_through_the_gate(world: &World) {
    let host = world.api::<Host>().get("host-a").await.expect("a Host");
    let credential = Credential::parse(hosts::right_key(world).as_bytes(), None).expect("a key");
    let credential = Arc::new(credential);
    let target = target::target(&host, |_| Ok::<_, Infallible>(credential.clone()));
    let route = Route::Through {
        pool: Pool::new(),
        targets: Arc::new(Targets::new(vec![target.expect("a target")])),
    };
    let read = |file: &str| world.shell("host-a", &format!("cat /etc/kubernetes/pki/etcd/{file}"));
    let address = format!("https://{}:2379", host.spec.ssh.address);
    let mut config = kube::Config::new(address.parse().expect("an address"));
    config.root_cert = Some(vec![der_of(&read("ca.crt"))]);
    let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    config.auth_info.client_certificate_data = Some(base64(read("healthcheck-client.crt")));
    config.auth_info.client_key_data = Some(base64(read("healthcheck-client.key")).into());
    let etcd = kube_client(config, route, "default").expect("a client");
    let health = http::Request::get("/health").body(Vec::new());
    let answer = etcd.request_text(health.expect("a request")).await;
    assert!(
        answer
            .as_ref()
            .is_ok_and(|text| text.contains("\"health\":\"true\"")),
        "{answer:?}"
    );
}

/// The certificate in a PEM text.
fn der_of(pem: &str) -> Vec<u8> {
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    let text: String = lines.collect();
    let der = base64::engine::general_purpose::STANDARD.decode(text);
    der.expect("base64")
}

/// The manifests of the hosts, with the gate before each.
fn through(world: &World, gate: &str) {
    let path = world.run().join("manifests/10-hosts.yaml");
    let text = std::fs::read_to_string(&path).expect("the hosts");
    let keys: Vec<String> = world
        .fleet(&["hostkey", "gate"])
        .lines()
        .map(|line| line.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let jump = json!([{ "address": gate, "hostKeys": keys }]);
    let before = "credentialsRef: {name: hosts-ssh}";
    assert_eq!(text.matches(before).count(), HOSTS.len(), "{text}");
    let after = format!("{before}, jump: {jump}");
    std::fs::write(&path, text.replace(before, &after)).expect("a file");
}
