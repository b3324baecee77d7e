//! The contract of providers, of virtual machines on a real hypervisor.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use serde_json::json;
use tatara::gateway::{ConnectionKey, Credentials, Registry, Wake};
use tatara::providers::{Hosts, Leader, Libvirt, Provider};
use tatara_core::api::Machine;
use tatara_core::machine::Observed;

use super::world::{HYPERVISOR, World};
use crate::support::contract;
use crate::support::wait::until_true;

struct OneHypervisor<'a> {
    world: &'a World,
    client: Client,
    libvirt: Libvirt,
}

impl contract::World for OneHypervisor<'_> {
    fn provider(&self) -> &dyn Provider {
        &self.libvirt
    }

    async fn machine(&self, name: &str) -> Observed {
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), "default");
        contract::observed(machines.get(name).await.expect("a Machine"))
    }

    async fn places(&self) -> usize {
        let domains = self.world.virsh(&["list", "--all", "--name"]);
        let of_a = domains.lines().filter(|domain| domain.starts_with("a-"));
        of_a.count()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs libvirtd"]
async fn virtual_machines_fulfil_the_contract_of_providers() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut world = World::new("tlv4", "10.74.0").await;
    // what is done to the Machines from now on is done here
    world.kill_manager();
    world.machine("a", &json!({}));
    world.machine("b", &json!({}));

    let client = world.manager_client().await;
    let engine = contract::engine(client.clone());
    contract::listed(&engine, |stores| &stores.machines).await;
    contract::listed(&engine, |stores| &stores.hypervisors).await;
    contract::listed(&engine, |stores| &stores.credentials).await;
    let hosts = Arc::new(Hosts::new(engine.stores.clone(), Leader::default()));
    let gateways = Arc::new(connected(&world));
    let libvirt = Libvirt::new(engine, hosts, gateways, contract::wakers());
    let world = OneHypervisor {
        world: &world,
        client,
        libvirt,
    };
    Box::pin(contract::holds(&world)).await;
    until_true("an empty hypervisor, but for the image", || {
        let left = world.world.domains_and_volumes();
        left.iter().all(|name| name.starts_with("tatara-image-"))
    })
    .await;
}

/// The gateways that there are, of which there is one; it wakes nobody.
fn connected(world: &World) -> Registry {
    let registry = Registry::new(Wake {
        machine: Arc::new(|_, _| ()),
        waiting: Arc::new(|_| ()),
        hypervisor: Arc::new(|_| ()),
        all: Arc::new(|_| ()),
    });
    let token = std::fs::read_to_string(world.token_file()).expect("a token");
    let data = [
        ("ca.crt", world.authority()),
        ("token", token.trim().into()),
    ];
    let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())));
    let secret = Secret {
        data: Some(data.into()),
        ..Secret::default()
    };
    let url = world.says(&format!("hypervisor/{HYPERVISOR}"), ".spec.url");
    let credentials = || Credentials::of("default", "gateway", Some(&secret));
    let key = ConnectionKey::new("default", HYPERVISOR);
    let connection = registry.connect(&key, &url, Some(&secret), credentials);
    connection.expect("a connection");
    registry
}
