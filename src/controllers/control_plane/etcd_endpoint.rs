//! A control-plane machine, and a client of the etcd on it.

use std::sync::Arc;

use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;
use secrecy::ExposeSecret;

use super::ControlPlanes;
use crate::controllers::ownership::ProviderObject;
use crate::engine::Chain;
use crate::etcd::Etcd;
use crate::pki::kubeconfig;
use crate::remote::kube_client;
use crate::store::Key;
use crate::workload::{client_config, given};
use tatara_core::api::{Cluster, Machine};
use tatara_core::machine::is_begun;

/// Where etcd serves its clients on each of its machines; its certificate has this address.
const CLIENT_URL: &str = "https://127.0.0.1:2379";
/// The port of that.
const CLIENT_PORT: u16 = 2379;
/// Common name of our client certificates of etcd.
const CLIENT: &str = "tatara-etcd-client";
/// Validity of a client certificate: one is made for each time that a control plane is asked.
pub(super) const CLIENT_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// A control-plane machine on which kubeadm was started.
pub(super) struct EtcdEndpoint {
    /// Name of the Machine.
    pub(super) machine: String,
    /// Its address, which is that of its etcd's peer URL.
    pub(super) address: String,
    /// Its etcd; or why it cannot be asked.
    pub(super) etcd: Result<Etcd, String>,
}

impl ControlPlanes {
    /// The machines of a control plane, each with a client of its etcd.
    ///
    /// # Errors
    /// Why no etcd of this Cluster can be asked, as a message.
    pub(super) async fn seats(&self, cluster: &Cluster) -> Result<Vec<EtcdEndpoint>, String> {
        let config = self.etcd_config(cluster).await?;
        let namespace = cluster.namespace().unwrap_or_default();
        let mut seats = Vec::new();
        for machine in self.machines(cluster) {
            let Some((server, address)) = self.providers.server_of(&machine) else {
                continue;
            };
            let route = self.hosts.tunnel(server.as_ref(), CLIENT_PORT).await;
            let etcd = route.map_err(|error| error.message).and_then(|route| {
                let client = kube_client(config.clone(), route, &namespace);
                client.map(Etcd::new).map_err(|error| error.to_string())
            });
            seats.push(EtcdEndpoint {
                machine: machine.name_any(),
                address,
                etcd,
            });
        }
        Ok(seats)
    }

    /// The control-plane Machines of a Cluster, sorted by name.
    pub fn all(&self, cluster: &Cluster) -> Vec<Arc<Machine>> {
        let stores = self.base.stores();
        let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
        let mut machines = stores.machines.by(&Key::ControlPlane(namespace, name));
        machines.retain(|machine| machine.is_ours(stores));
        machines
    }

    /// Those on whose machines there may be an etcd.
    pub fn machines(&self, cluster: &Cluster) -> Vec<Arc<Machine>> {
        let mut machines = self.all(cluster);
        machines.retain(|machine| is_begun(machine));
        machines
    }

    async fn etcd_config(&self, cluster: &Cluster) -> Result<kube::Config, String> {
        let known = self.workloads.known.get(&cluster.uid().unwrap_or_default());
        let Some(authorities) = known.authorities else {
            return Err(format!(
                "the certificate authorities of Cluster {} are not read yet",
                cluster.name_any()
            ));
        };
        let made = authorities
            .etcd
            .client_certificate(CLIENT, None, CLIENT_LIFE, crate::clock::now())
            .and_then(|certificate| {
                let authority = authorities.etcd.certificate_pem();
                kubeconfig::admin("etcd", CLIENT_URL, authority, &certificate)
            });
        let text = made.map_err(|error| Chain(&error).to_string())?;
        given::config(text.expose_secret()).await.map(client_config)
    }
}
