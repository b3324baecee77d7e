//! Tests of the provider contract without servers: simulated machines, and the claim on a Host that
//! does not answer.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::contract::api::Api;
use self::contract::hosts::OneHost;
use self::contract::{World, engine, holds, observed, pass};
use super::{Provider, Simulated};
use tatara_core::machine::{Observed, Placement};

#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../../tests/support/contract/mod.rs"]
mod contract;

struct InMemory {
    /// API of the cluster that the machines join.
    api: Api,
    simulated: Simulated,
}

impl World for InMemory {
    fn provider(&self) -> &dyn Provider {
        &self.simulated
    }

    async fn machine(&self, name: &str) -> Observed {
        let uid = format!("uid-{name}");
        let machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": name, "namespace": "n", "uid": uid},
            "spec": {"providerID": format!("tatara://simulated/{uid}"), "versions": {"kubelet": "v1.36.3"},
                "providerSpec": {"value": {"apiVersion": "tatara.dev/v1alpha1",
                    "kind": "SimulatedMachineProviderSpec", "bootMilliseconds": 0, "readyMilliseconds": 0,
                    "deleteMilliseconds": 0}}}});
        observed(serde_json::from_value(machine).expect("a Machine"))
    }

    async fn places(&self) -> usize {
        let id = json!("tatara://simulated/uid-a");
        self.api
            .count("nodes", |node| node["spec"]["providerID"] == id)
    }
}

#[tokio::test]
async fn simulated_machines_fulfil_the_contract() {
    let api = Api::default();
    let client = api.client();
    let simulated = Simulated::new(
        engine(Api::default().client()),
        Arc::new(move |_, _| Some(client.clone())),
        Arc::new(|_, _| ()),
        TaskTracker::new(),
        CancellationToken::new(),
    );
    Box::pin(holds(&InMemory { api, simulated })).await;
}

#[tokio::test]
async fn hosts_fulfil_the_contract_while_their_server_is_silent() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let (key, public) = super::ssh::keys::pair("test").expect("a key");
    let ssh =
        json!({"address": "127.0.0.1", "port": free.expect("a port").port(), "hostKeys": [public]});
    let world = OneHost::new(ssh, &key).await;
    Box::pin(holds(&world)).await;
    let held = pass(&world, "a").await;
    assert!(matches!(held.placement, Placement::None(Ok(_))), "free");
}
