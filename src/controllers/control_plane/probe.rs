//! Asks the components on one control-plane machine, at their own ports, over its SSH connection.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use futures::future::join;
use http::Request;
use kube::ResourceExt;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::ControlPlanes;
use super::etcd_endpoint::CLIENT_LIFE;
use crate::engine::Chain;
use crate::pki::kubeconfig;
use crate::providers::Server;
use crate::remote::{ConnectError, RunError, kube_client};
use crate::workload::error::{deed, reason};
use crate::workload::{client_config, given};
use tatara_core::api::{Cluster, ClusterProviderSpec};
use tatara_core::control_plane::component::{Answer, Component};

/// Time limit of a question. A machine that is off takes all of it.
const LIMIT: Duration = Duration::from_secs(4);
/// A name that kubeadm writes into the certificate of each API server; the address behind a tunnel
/// is not in it.
const SERVER_NAME: &str = "kubernetes";
/// Common name of our client certificate: of no group, for what every authenticated client may
/// read.
const CLIENT: &str = "tatara-probe";
/// The ports on 127.0.0.1 in kubeadm's manifests.
const CONTROLLER_MANAGER_PORT: u16 = 10257;
const SCHEDULER_PORT: u16 = 10259;
/// What is said of a port on which nobody listens.
const CLOSED: &str = "its port is closed";

/// How the components of a Cluster are asked.
pub(super) struct Probes<'a> {
    planes: &'a ControlPlanes,
    namespace: String,
    /// For the API servers, and their port; or why they cannot be asked.
    api: Result<(kube::Config, u16), String>,
    /// Controller manager and scheduler.
    others: [(Component, Port); 2],
    /// Why the Cluster does not tell how they are asked.
    unknown: Option<String>,
}

/// Where a component listens, as the Cluster says now: its node may have been made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    /// Where kubeadm's manifests have it.
    Usual(u16),
    /// Where arguments move it.
    Moved(u16),
    /// Not on the loopback address.
    Elsewhere,
}

/// What came of one question.
enum Asked {
    Answer(Answer),
    /// Nothing, in time.
    Nothing,
    /// It was not asked, since it does not listen where it could be.
    Elsewhere,
}

impl<'a> Probes<'a> {
    pub(super) async fn of(planes: &'a ControlPlanes, cluster: &Cluster) -> Self {
        let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
        let (spec, unknown) = match spec {
            Ok(spec) => (spec, None),
            Err(why) => (ClusterProviderSpec::default(), Some(why)),
        };
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
            namespace: cluster.namespace().unwrap_or_default(),
            api: api_config(planes, cluster, port)
                .await
                .map(|config| (config, port)),
            others,
            unknown,
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
        if let Some(why) = &self.unknown {
            return (None, silent(why));
        }
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
        let asked = [(Component::ApiServer, api), (first.0, a), (second.0, b)];
        // a connection that was opened before says nothing of a machine that is off since
        if asked
            .iter()
            .all(|(_, asked)| matches!(asked, Asked::Nothing | Asked::Elsewhere))
        {
            return (None, silent("its host does not answer"));
        }
        let answer = |asked| match asked {
            Asked::Answer(answer) => answer,
            Asked::Elsewhere => {
                Answer::Unasked("its bind-address in clusterConfiguration is not 127.0.0.1".into())
            }
            Asked::Nothing => Answer::Fails(format!("no answer within {} s", LIMIT.as_secs())),
        };
        let all = asked.into_iter();
        let all = all.map(|(component, asked)| (component, answer(asked)));
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

    async fn healthz(&self, server: &dyn Server, at: Port) -> Asked {
        let unasked = |why: String| Asked::Answer(Answer::Unasked(why));
        let port = match at {
            Port::Usual(port) | Port::Moved(port) => port,
            Port::Elsewhere => return Asked::Elsewhere,
        };
        let url = match format!("https://127.0.0.1:{port}").parse::<http::Uri>() {
            Ok(url) => url,
            Err(error) => return unasked(error.to_string()),
        };
        let mut config = client_config(kube::Config::new(url));
        // each makes a certificate of its own when it starts, which nobody can verify; the SSH
        // connection is verified, ends at the loopback address of that machine, and no credential
        // is sent
        config.accept_invalid_certs = true;
        match self.client(server, config, port).await {
            Err(why) => unasked(why),
            Ok(client) => match (at, get(&client, "/healthz").await) {
                (Port::Moved(port), Asked::Answer(Answer::Fails(why))) if why == CLOSED => {
                    unasked(format!(
                        "port {port}, which clusterConfiguration gives it, is closed; this node may have another"
                    ))
                }
                (_, asked) => asked,
            },
        }
    }

    async fn client(
        &self,
        server: &dyn Server,
        config: kube::Config,
        port: u16,
    ) -> Result<kube::Client, String> {
        let route = self.planes.hosts.tunnel(server, port).await;
        let route = route.map_err(|error| error.message)?;
        kube_client(config, route, &self.namespace).map_err(|error| error.to_string())
    }
}

/// Where a component listens, by its arguments in `clusterConfiguration` of kubeadm.
fn port_of(settings: &Map<String, Value>, component: &str, usual: u16) -> Port {
    let arguments = settings.get(component).and_then(|c| c.get("extraArgs"));
    let arguments = arguments.and_then(Value::as_array);
    let argument = |name: &str| {
        let mut named = arguments?.iter().rev();
        named.find(|argument| argument["name"] == name)?["value"].as_str()
    };
    match argument("bind-address") {
        None | Some("127.0.0.1" | "0.0.0.0" | "::") => {}
        Some(_) => return Port::Elsewhere,
    }
    let moved = argument("secure-port").and_then(|port| port.parse().ok());
    moved
        .filter(|port| *port != usual)
        .map_or(Port::Usual(usual), Port::Moved)
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
            Some(Ok(())) => Answer::Fails(CLOSED.into()),
            Some(Err(why)) => Answer::Unasked(why),
            None if is_of_tls(&error) => Answer::Untrusted(reason(&error)),
            None => {
                let said = reason(&error);
                let deed = deed(&said).map(|deed| format!("it {deed}"));
                Answer::Fails(deed.unwrap_or(said))
            }
        },
    })
}

/// Why the SSH connection failed, or its server allows no tunnels; `Ok` for a closed port, which is
/// an answer.
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

/// Whether a certificate is not accepted: the process answers.
fn is_of_tls(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // the source of an I/O error is that of its inner error
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
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
        assert_eq!(of(json!([])), Port::Usual(SCHEDULER_PORT));
        assert_eq!(
            of(json!([argument("secure-port", "10299")])),
            Port::Moved(10299)
        );
        let everywhere = argument("bind-address", "0.0.0.0");
        assert_eq!(of(json!([everywhere])), Port::Usual(SCHEDULER_PORT));
        assert_eq!(
            of(json!([argument("bind-address", "192.0.2.1")])),
            Port::Elsewhere
        );
        assert_eq!(port_of(&Map::new(), "scheduler", 1), Port::Usual(1));
    }
}
