//! One server that is reached over SSH, its Host and two Machines, in an API server in memory.

use std::sync::Arc;

use serde_json::{Value, json};
use tatara::engine::Engine;
use tatara::providers::{Bmcs, Hosts, Leader, Provider, Ssh};
use tatara_core::machine::Observed;

use super::api::Api;
use super::{World, engine, listed, observed, wakers};

const HOST: &str = "/apis/tatara.dev/v1alpha1/namespaces/n/hosts/h";
const MACHINES: &str = "/apis/cluster.k8s.io/v1alpha1/namespaces/n/machines";
const SECRET: &str = "/api/v1/namespaces/n/secrets/key";

pub struct OneHost {
    api: Api,
    engine: Arc<Engine>,
    ssh: Ssh,
}

impl OneHost {
    /// `ssh` is the spec of the Host's, without the Secret with this private key.
    pub async fn new(mut ssh: Value, key: &str) -> Self {
        let api = Api::default();
        ssh["credentialsRef"] = json!({"name": "key"});
        let is = |of: &str| {
            json!({"type": of, "status": "True", "reason": of, "message": "",
                "lastTransitionTime": "2027-01-15T08:00:00Z"})
        };
        api.put(
            HOST,
            json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
                "metadata": {"name": "h", "generation": 1}, "spec": {"ssh": ssh},
                "status": {"observedGeneration": 1, "state": "Available",
                    "conditions": [is("Reachable"), is("Clean"), is("Available")],
                    "facts": {"hostname": "h", "os": "debian 12", "architecture": "amd64", "kernel": "6.1",
                        "cpus": 8, "memoryBytes": 16i64 << 30, "diskBytes": 64i64 << 30, "machineID": "m"}}}),
        );
        for name in ["a", "b"] {
            api.put(
                &format!("{MACHINES}/{name}"),
                json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine", "metadata": {"name": name},
                    "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": {
                        "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec"}}}}),
            );
        }
        api.put(
            SECRET,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"},
                "type": "kubernetes.io/ssh-auth",
                "data": {"ssh-privatekey": k8s_openapi::ByteString(key.as_bytes().to_vec())}}),
        );
        let engine = engine(api.client());
        let stores = engine.stores.clone();
        listed(&engine, |stores| &stores.hosts).await;
        listed(&engine, |stores| &stores.machines).await;
        listed(&engine, |stores| &stores.credentials).await;
        let bmcs = Arc::new(Bmcs::new(api.client(), stores.clone()));
        let ssh = Ssh::new(
            engine.clone(),
            Arc::new(Hosts::new(stores, Leader::default())),
            bmcs,
            wakers(),
        );
        Self { api, engine, ssh }
    }
}

impl World for OneHost {
    fn provider(&self) -> &dyn Provider {
        &self.ssh
    }

    async fn machine(&self, name: &str) -> Observed {
        let machine = self.api.get(&format!("{MACHINES}/{name}"));
        observed(serde_json::from_value(machine).expect("a Machine"))
    }

    async fn places(&self) -> usize {
        let a = self.machine("a").await.marker.uid;
        self.api.count("hosts", |host| {
            host["spec"]["consumerRef"]["uid"] == json!(a)
        })
    }

    /// Its own controller frees it, once it is reset.
    async fn after_release(&self) {
        let host: tatara_core::api::Host =
            serde_json::from_value(self.api.get(HOST)).expect("the Host");
        let claim = host.spec.consumer_ref.as_ref();
        if claim.is_some_and(|claim| claim.releasing) {
            let change = json!({"spec": {"consumerRef": null}});
            let freed = tatara::engine::patch::write(&self.engine, &host, change).await;
            freed.expect("a free Host");
        }
    }
}
