//! Asks the components on one control-plane machine, at their own ports, over its SSH connection.

use std::error::Error as StdError;
use std::time::Duration;

use futures::future::join;
use http::Request;
use kube::ResourceExt;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::ControlPlanes;
use super::seat::CLIENT_LIFE;
use crate::api::{Cluster, ClusterProviderSpec};
use crate::core::control_plane::component::{Answer, Component};
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
/// The ports on 127.0.0.1 in kubeadm's manifests.
const CONTROLLER_MANAGER_PORT: u16 = 10257;
const SCHEDULER_PORT: u16 = 10259;

/// How the components of a Cluster are asked.
pub(super) struct Probes<'a> {
    planes: &'a ControlPlanes,
    /// For the API servers, and their port; or why they cannot be asked.
    api: Result<(kube::Config, u16), String>,
    /// Ports of controller manager and scheduler; `None` for one that does not listen on the loopback address.
    others: [(Component, Option<u16>); 2],
}

/// What came of one question.
enum Asked {
    Answer(Answer),
    /// Nothing, in time.
    Nothing,
}

impl<'a> Probes<'a> {
    pub(super) async fn of(planes: &'a ControlPlanes, cluster: &Cluster) -> Self {
        let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
        let spec = spec.unwrap_or_default();
        let endpoint = spec.control_plane_endpoint.as_ref();
        let port = endpoint.map_or(6443, |endpoint| endpoint.port);
        let settings = &spec.kubeadm.cluster_configuration;
        let others = [
            (
                Component::ControllerManager,
                port_of(settings, "controllerManager", CONTROLLER_MANAGER_PORT),
            ),
            (
                Component::Scheduler,
                port_of(settings, "scheduler", SCHEDULER_PORT),
            ),
        ];
        Self {
            planes,
            api: api_config(planes, cluster, port)
                .await
                .map(|config| (config, port)),
            others,
        }
    }

    /// The version of its API server, and an answer of each.
    pub(super) async fn ask(
        &self,
        server: &dyn Server,
    ) -> (Option<String>, Vec<(Component, Answer)>) {
        let silent = |why: &str| {
            let all = [Component::ApiServer].into_iter();
            let all = all.chain(self.others.iter().map(|(component, _)| *component));
            all.map(|component| (component, Answer::Unasked(why.to_owned())))
                .collect()
        };
        // one connection for all
        match timeout(LIMIT, self.planes.hosts.session(server)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return (None, silent(&error.message)),
            Err(_) => return (None, silent("its host does not answer")),
        }
        let [first, second] = self.others;
        let others = join(
            self.healthz(server, first.1),
            self.healthz(server, second.1),
        );
        let ((api, version), (a, b)) = join(self.api_server(server), others).await;
        let asked = [
            (Component::ApiServer, Some(api)),
            (first.0, a),
            (second.0, b),
        ];
        let is_nothing =
            |(_, asked): &(Component, Option<Asked>)| !matches!(asked, Some(Asked::Answer(_)));
        // a connection that was opened before says nothing of a machine that is off since
        if asked.iter().all(is_nothing) {
            return (None, silent("its host does not answer"));
        }
        let answer = |asked| match asked {
            Asked::Answer(answer) => answer,
            Asked::Nothing => Answer::Fails(format!("no answer within {} s", LIMIT.as_secs())),
        };
        let all = asked.into_iter();
        let all = all.filter_map(|(component, asked)| Some((component, answer(asked?))));
        (version, all.collect())
    }

    async fn api_server(&self, server: &dyn Server) -> (Asked, Option<String>) {
        let client = match &self.api {
            Ok((config, port)) => self.client(server, config.clone(), *port).await,
            Err(why) => Err(why.clone()),
        };
        let client = match client {
            Ok(client) => client,
            Err(why) => return (Asked::Answer(Answer::Unasked(why)), None),
        };
        let asked = get(&client, "/readyz").await;
        if !matches!(asked, Asked::Answer(Answer::Serves)) {
            return (asked, None);
        }
        let version = timeout(LIMIT, client.apiserver_version()).await;
        let version = version.ok().and_then(Result::ok);
        (asked, version.map(|version| version.git_version))
    }

    async fn healthz(&self, server: &dyn Server, port: Option<u16>) -> Option<Asked> {
        let port = port?;
        let url = format!("https://127.0.0.1:{port}").parse::<http::Uri>();
        let client = match url {
            Ok(url) => {
                let mut config = client_config(kube::Config::new(url));
                // each makes a certificate of its own when it starts, which nobody can verify; the SSH connection is
                // verified, ends at the loopback address of that machine, and no credential is sent
                config.accept_invalid_certs = true;
                self.client(server, config, port).await
            }
            Err(error) => Err(error.to_string()),
        };
        Some(match client {
            Ok(client) => get(&client, "/healthz").await,
            Err(why) => Asked::Answer(Answer::Unasked(why)),
        })
    }

    async fn client(
        &self,
        server: &dyn Server,
        config: kube::Config,
        port: u16,
    ) -> Result<kube::Client, String> {
        let route = self.planes.hosts.tunnel(server, port).await;
        let route = route.map_err(|error| error.message)?;
        kube_client(config, route).map_err(|error| error.to_string())
    }
}

/// The port of a component, as its arguments in `clusterConfiguration` of kubeadm say; `None` if they say that it listens on
/// another address than the loopback one.
fn port_of(settings: &Map<String, Value>, component: &str, usual: u16) -> Option<u16> {
    let arguments = settings.get(component).and_then(|c| c.get("extraArgs"));
    let arguments = arguments.and_then(Value::as_array);
    let argument = |name: &str| {
        let named = arguments?
            .iter()
            .rev()
            .find(|argument| argument["name"] == name)?;
        named["value"].as_str()
    };
    match argument("bind-address") {
        None | Some("127.0.0.1" | "0.0.0.0" | "::") => {}
        Some(_) => return None,
    }
    argument("secure-port").map_or(Some(usual), |port| port.parse().ok())
}

/// The configuration of a client of an API server behind a tunnel.
async fn api_config(
    planes: &ControlPlanes,
    cluster: &Cluster,
    port: u16,
) -> Result<kube::Config, String> {
    let known = planes
        .workloads
        .known
        .get(&cluster.uid().unwrap_or_default());
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
    Ok(config)
}

/// Asks a component how it is.
async fn get(client: &kube::Client, path: &str) -> Asked {
    let request = match Request::get(path).body(Vec::new()) {
        Ok(request) => request,
        Err(error) => return Asked::Answer(Answer::Unasked(error.to_string())),
    };
    let Ok(answer) = timeout(LIMIT, client.request_text(request)).await else {
        return Asked::Nothing;
    };
    Asked::Answer(match answer {
        Ok(_) => Answer::Serves,
        Err(kube::Error::Api(status)) => {
            let words: Vec<_> = status.message.split_whitespace().collect();
            let said = format!("{path} answers {}: {}", status.code, words.join(" "));
            // who may not ask does not know
            match status.code {
                401 | 403 => Answer::Unasked(said),
                _ => Answer::Fails(said),
            }
        }
        Err(error) => match route_error(&error) {
            Some(Ok(())) => Answer::Fails("its port is closed".into()),
            Some(Err(why)) => Answer::Unasked(why),
            None => Answer::Fails(reason(&error)),
        },
    })
}

/// Why the SSH connection failed, or its server allows no tunnels; `Ok` for a closed port, which is an answer.
fn route_error(error: &(dyn StdError + 'static)) -> Option<Result<(), String>> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<RunError>() {
            return Some(if error.is_closed_port() {
                Ok(())
            } else {
                Err(error.to_string())
            });
        }
        if error.is::<ConnectError>() {
            return Some(Err(error.to_string()));
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_component_is_asked_where_its_arguments_say() {
        let of = |arguments: Value| {
            let settings = json!({"scheduler": {"extraArgs": arguments}});
            let settings = settings.as_object().cloned().expect("settings");
            port_of(&settings, "scheduler", SCHEDULER_PORT)
        };
        let argument = |name: &str, value: &str| json!({"name": name, "value": value});
        assert_eq!(of(json!([])), Some(SCHEDULER_PORT));
        assert_eq!(of(json!([argument("secure-port", "10299")])), Some(10299));
        assert_eq!(
            of(json!([argument("bind-address", "0.0.0.0")])),
            Some(SCHEDULER_PORT)
        );
        assert_eq!(of(json!([argument("bind-address", "192.0.2.1")])), None);
        assert_eq!(port_of(&Map::new(), "scheduler", 1), Some(1));
    }
}
