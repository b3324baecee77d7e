//! The components of each control-plane machine, asked at their own ports over its SSH connection.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join_all};
use http::Request;
use kube::ResourceExt;
use secrecy::ExposeSecret;

use super::ControlPlanes;
use super::seat::CLIENT_LIFE;
use crate::api::{Cluster, ClusterProviderSpec, Machine};
use crate::core::control_plane::Members;
use crate::core::control_plane::component::{Answer, Component, ComponentState, Components};
use crate::engine::Chain;
use crate::pki::kubeconfig;
use crate::providers::Server;
use crate::remote::{ConnectError, RunError, kube_client};
use crate::workload::error::reason;
use crate::workload::{client_config, given};

/// Time limit of a question. A machine that is off takes all of it.
const LIMIT: Duration = Duration::from_secs(4);
/// A name that kubeadm writes into the certificate of each API server; the address behind a tunnel is not in it.
const SERVER_NAME: &str = "kubernetes";
/// Common name of our client certificate: of no group, for what every authenticated client may read.
const CLIENT: &str = "tatara-probe";
/// The ports that kubeadm's manifests leave as they are, on 127.0.0.1.
const CONTROLLER_MANAGER_PORT: u16 = 10257;
const SCHEDULER_PORT: u16 = 10259;

impl ControlPlanes {
    /// Asks the components of all machines of a control plane, and remembers what their answers add up to. The Machines of
    /// which something else is to be read are woken. `members`: its etcd, as just read.
    pub async fn look_at_components(
        &self,
        cluster: &Cluster,
        members: &Result<Arc<Members>, String>,
    ) {
        let config = self.api_config(cluster).await;
        let machines = self.machines(cluster);
        let asking = machines.iter().filter_map(|machine| {
            let (server, address) = self.providers.server_of(machine)?;
            Some(self.ask(machine, server, address, &config, members))
        });
        let answers = join_all(asking).await;
        let cluster = cluster.uid().unwrap_or_default();
        let before = self.workloads.known.get(&cluster).components;
        let (mut now, mut news) = (BTreeMap::new(), Vec::new());
        for (machine, version, answers) in answers {
            let uid = machine.uid().unwrap_or_default();
            let known = before.get(&uid).cloned().unwrap_or_default();
            let next = |(component, answer): (Component, Answer)| {
                let state = ComponentState::next(known.states.get(&component), answer);
                (component, state)
            };
            let next = Components {
                version: version.or_else(|| known.version.clone()),
                states: answers.into_iter().map(next).collect(),
            };
            if !next.reads_like(&known) {
                news.push(machine);
            }
            now.insert(uid, Arc::new(next));
        }
        self.workloads
            .known
            .update(&cluster, |known| known.components = now);
        for machine in news {
            self.base.wakers.machines.wake_object(machine);
        }
    }

    async fn ask<'a>(
        &self,
        machine: &'a Arc<Machine>,
        server: Arc<dyn Server>,
        address: String,
        config: &Result<(kube::Config, u16), String>,
        members: &Result<Arc<Members>, String>,
    ) -> (&'a Arc<Machine>, Option<String>, Vec<(Component, Answer)>) {
        let (server, name) = (server.as_ref(), machine.name_any());
        let api = self.api_server(server, config);
        let others = join(
            self.healthz(server, CONTROLLER_MANAGER_PORT),
            self.healthz(server, SCHEDULER_PORT),
        );
        let ((api, version), (controller_manager, scheduler)) = join(api, others).await;
        let answers = vec![
            (Component::ApiServer, api),
            (Component::ControllerManager, controller_manager),
            (Component::Scheduler, scheduler),
            (Component::Etcd, member(members, &address, &name)),
        ];
        (machine, version, answers)
    }

    async fn api_server(
        &self,
        server: &dyn Server,
        config: &Result<(kube::Config, u16), String>,
    ) -> (Answer, Option<String>) {
        let client = match config {
            Ok((config, port)) => self.client(server, config.clone(), *port).await,
            Err(why) => Err(why.clone()),
        };
        let client = match client {
            Ok(client) => client,
            Err(why) => return (Answer::Unasked(why), None),
        };
        let answer = get(&client, "/readyz").await;
        let version = match answer {
            Answer::Serves => tokio::time::timeout(LIMIT, client.apiserver_version()).await,
            _ => return (answer, None),
        };
        let version = version.ok().and_then(Result::ok);
        (answer, version.map(|version| version.git_version))
    }

    async fn healthz(&self, server: &dyn Server, port: u16) -> Answer {
        let config = url(port).map(|url| {
            let mut config = client_config(kube::Config::new(url));
            // each makes a certificate of its own when it starts, which nobody can verify; the SSH connection is verified,
            // ends at the loopback address of that machine, and no credential is sent
            config.accept_invalid_certs = true;
            config
        });
        let client = match config {
            Ok(config) => self.client(server, config, port).await,
            Err(why) => Err(why),
        };
        match client {
            Ok(client) => get(&client, "/healthz").await,
            Err(why) => Answer::Unasked(why),
        }
    }

    async fn client(
        &self,
        server: &dyn Server,
        config: kube::Config,
        port: u16,
    ) -> Result<kube::Client, String> {
        let route = self.hosts.tunnel(server, port).await;
        let route = route.map_err(|error| error.message)?;
        kube_client(config, route).map_err(|error| error.to_string())
    }

    /// The configuration of a client of an API server behind a tunnel, and the port of all of them.
    async fn api_config(&self, cluster: &Cluster) -> Result<(kube::Config, u16), String> {
        let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
        let endpoint = spec.ok().and_then(|spec| spec.control_plane_endpoint);
        let port = endpoint.map_or(6443, |endpoint| endpoint.port);
        let known = self.workloads.known.get(&cluster.uid().unwrap_or_default());
        let authorities = known.authorities.ok_or_else(|| {
            format!(
                "the certificate authorities of Cluster {} are not read yet",
                cluster.name_any()
            )
        })?;
        let made = authorities
            .cluster
            .client_certificate(CLIENT, None, CLIENT_LIFE, crate::clock::now())
            .and_then(|certificate| {
                let authority = authorities.cluster.certificate_pem();
                let url = format!("https://127.0.0.1:{port}");
                kubeconfig::admin("probe", &url, authority, &certificate)
            });
        let text = made.map_err(|error| Chain(&error).to_string())?;
        let mut config = client_config(given::config(text.expose_secret()).await?);
        config.tls_server_name = Some(SERVER_NAME.into());
        Ok((config, port))
    }
}

/// Asks a component how it is.
async fn get(client: &kube::Client, path: &str) -> Answer {
    let request = match Request::get(path).body(Vec::new()) {
        Ok(request) => request,
        Err(error) => return Answer::Unasked(error.to_string()),
    };
    match tokio::time::timeout(LIMIT, client.request_text(request)).await {
        Ok(Ok(_)) => Answer::Serves,
        Ok(Err(kube::Error::Api(status))) => {
            let said = status.message.split_whitespace().collect::<Vec<_>>();
            Answer::Fails(format!(
                "{path} answers {}: {}",
                status.code,
                said.join(" ")
            ))
        }
        Ok(Err(error)) if is_route(&error) => Answer::Unasked(reason(&error)),
        Ok(Err(error)) => Answer::Fails(reason(&error)),
        Err(_) => Answer::Fails(format!("{path}: no answer within {} s", LIMIT.as_secs())),
    }
}

/// Whether the SSH connection failed, or its server allows no tunnels, so that the component was not asked. A closed port is
/// an answer.
fn is_route(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<RunError>() {
            return !error.is_closed_port();
        }
        if error.is::<ConnectError>() {
            return true;
        }
        next = error.source();
    }
    false
}

fn url(port: u16) -> Result<http::Uri, String> {
    let url = format!("https://127.0.0.1:{port}").parse::<http::Uri>();
    url.map_err(|error| error.to_string())
}

/// How the member of a machine is, according to a list that has a quorum.
fn member(members: &Result<Arc<Members>, String>, address: &str, name: &str) -> Answer {
    let members = match members {
        Ok(members) => members,
        Err(why) => return Answer::Unasked(why.clone()),
    };
    match members.at(address) {
        Some(member) => match members.trouble(member) {
            None => Answer::Serves,
            Some(why) => Answer::Fails(why.to_owned()),
        },
        None => Answer::Fails(format!(
            "no member is at {address}, the address of Machine {name}"
        )),
    }
}
