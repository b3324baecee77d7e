//! Starts the manager, and shuts it down in order.

use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::util::MapRequestLayer;

use super::args::ManagerArgs;
use super::build::{self, Start};
use super::controllers::{Controllers, WakeQueues, run_all};
use super::error::ManagerError;
use super::gone::Memories;
use super::leader::Leadership;
use super::{definitions, files, gone, hooks, http, media, sources, unreadable};
use crate::clock;
use crate::controllers::cluster_profile;
use crate::metrics::Metrics;
use crate::remote::{Reach, Route, kube_builder};
use crate::store::{Scope, watch};
use tatara_core::api::names::SECRET_TYPE_GATEWAY;

/// Time limit for background tasks to end.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the manager until it receives a stop signal or loses leadership.
///
/// # Errors
/// `ManagerError` of the first failed step: configuration, listener, definitions, leader election,
/// or media listener.
pub async fn run(args: ManagerArgs) -> Result<(), ManagerError> {
    files::raise_limit();
    let config = kube::Config::infer().await?;
    let metrics = Metrics::default();
    let reach = reach(&args, &config);
    let client = client(config, metrics.clone()).map_err(ManagerError::Client)?;
    let stop = stop_on_signal();
    let ready = http::Ready::default();
    let probes = tokio::spawn(http::serve(
        http::listen(args.http_address, "--http-address").await?,
        ready.clone(),
        metrics.clone(),
        stop.clone(),
    ));
    definitions::check(&client).await?;
    let management = management_uid(&client).await?;
    let identity = args.identity.clone().unwrap_or_else(somebody);
    tracing::info!(management, identity, "waiting to lead");
    let (mut leadership, candidacy) =
        Leadership::campaign(client.clone(), &args.lease_namespace, identity).await?;
    ready.set(true);
    tokio::select! {
        won = leadership.won() => won?,
        () = stop.cancelled() => return Ok(()),
        ended = probes => return ended.unwrap_or(Ok(())),
    }
    ready.set(false);
    tracing::info!("leading");
    // it may have waited for days; an API that does not answer now did so at the start
    match definitions::check(&client).await {
        Ok(()) | Err(ManagerError::Api { .. }) => (),
        Err(older) => {
            candidacy.give_back().await;
            return Err(older);
        }
    }
    let tasks = TaskTracker::new();
    let media = media::start(&args.media, &reach, &tasks, &stop).await?;
    let start = Start {
        client,
        management,
        leadership: leadership.clone(),
        metrics: metrics.clone(),
        reach,
        media,
        tasks: tasks.clone(),
        stop: stop.clone(),
    };
    let (controllers, woken) = build::controllers(start, &args.profile_namespaces);
    let controllers = Arc::new(controllers);
    let base = controllers.base.clone();
    let work = work(&args, (controllers, woken), metrics, ready, stop.clone());
    let result = tokio::select! {
        () = work => Ok(()),
        () = leadership.lost() => Err(ManagerError::LeadershipLost),
    };
    stop.cancel();
    tasks.close();
    if result.is_ok() {
        let ended = async { tokio::join!(tasks.wait(), base.engine.events.written()) };
        tokio::time::timeout(GRACE, ended).await.ok();
        candidacy.give_back().await;
    }
    result
}

/// A unique identity for the leader election.
fn somebody() -> String {
    format!("tatara-{}-{}", std::process::id(), clock::now())
}

/// Where objects of users may make the manager connect to.
fn reach(args: &ManagerArgs, management: &kube::Config) -> Reach {
    let url = &management.cluster_url;
    let port = url.port_u16().unwrap_or(443);
    Reach::given(args.allow_local_endpoints).but(url.host().unwrap_or_default(), port)
}

/// A client whose requests are counted, and have a time limit.
///
/// It does not retry: the result of a hidden retry may hide that of the first request. Passes are
/// retried instead.
fn client(mut config: kube::Config, metrics: Metrics) -> Result<Client, kube::Error> {
    config.default_retry = false;
    let count = MapRequestLayer::new(move |request: Request<Body>| {
        metrics.requested(request.method().as_str());
        request
    });
    let builder = kube_builder(config, Route::Direct(Reach::ANYWHERE))?;
    Ok(builder.with_layer(&count).build())
}

fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        let Ok(mut terminate) = terminate else { return };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        tracing::info!("stopping");
        signalled.cancel();
    });
    stop
}

/// The identity of the management cluster: the UID of its namespace kube-system.
async fn management_uid(client: &Client) -> Result<String, ManagerError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let system = namespaces.get("kube-system").await;
    let system = system.map_err(|source| ManagerError::Api {
        what: "read namespace kube-system".into(),
        source,
    })?;
    Ok(system.uid().unwrap_or_default())
}

/// Runs all watches and controllers until they are stopped.
async fn work(
    args: &ManagerArgs,
    (controllers, woken): (Arc<Controllers>, WakeQueues),
    metrics: Metrics,
    ready: http::Ready,
    stop: CancellationToken,
) {
    let base = &controllers.base;
    let touched = cluster_profile::changes(&base.engine.client, &controllers.profiles.memory);
    let touched = touched.for_each(|cluster| {
        let namespace = cluster.namespace.as_deref().unwrap_or_default();
        base.wakers.profiles.wake(namespace, &cluster.name);
        std::future::ready(())
    });
    tokio::select! {
        () = watches(args, &controllers, &metrics) => {}
        () = run_listed(&controllers, woken, ready, &stop) => {}
        () = touched => {}
    }
}

/// Keeps the stores in sync with the API server.
async fn watches(args: &ManagerArgs, controllers: &Arc<Controllers>, metrics: &Metrics) {
    let all = Scope {
        namespace: args.namespace.clone(),
        fields: None,
    };
    let secrets = |of: &str| Scope {
        fields: Some(format!("type={of}")),
        ..all.clone()
    };
    let ssh = secrets("kubernetes.io/ssh-auth");
    let gateway = secrets(SECRET_TYPE_GATEWAY);
    let basic = secrets("kubernetes.io/basic-auth");
    let memories = Arc::new(Memories::new(controllers.clone()));
    let (engine, wakers) = (&controllers.base.engine, &controllers.base.wakers);
    let (client, stores) = (&engine.client, &engine.stores);
    let hook = || (stores.clone(), wakers.clone());
    macro_rules! watch {
        ($field:ident, $scope:expr, $hook:path) => {{
            let (stores, wakers) = hook();
            let hook = gone::forgetting(memories.clone(), $hook(stores.clone(), wakers.clone()));
            let hook = unreadable::watching(
                metrics.clone(),
                (stores.clone(), wakers),
                |stores| &stores.$field,
                hook,
            );
            watch(
                client.clone(),
                $scope.clone(),
                stores,
                |stores| &stores.$field,
                hook,
            )
        }};
    }
    tokio::join!(
        watch!(clusters, all, hooks::cluster),
        watch!(machines, all, hooks::machine),
        watch!(machine_sets, all, hooks::machine_set),
        watch!(machine_deployments, all, hooks::machine_deployment),
        watch!(machine_classes, all, hooks::machine_class),
        watch!(hosts, all, hooks::host),
        watch!(hypervisors, all, hooks::hypervisor),
        watch!(gateway_credentials, gateway, hooks::gateway_credential),
        watch!(credentials, ssh, hooks::credential),
        watch!(bmc_credentials, basic, hooks::bmc_credential),
        sources::watch(
            client,
            all.namespace.as_deref(),
            &controllers.clusters.sources,
            [
                &controllers.clusters.secrets,
                &controllers.profiles.consumers
            ],
            &controllers.clusters.secret_names
        ),
    );
}

/// Runs the controllers after all objects have been listed.
async fn run_listed(
    controllers: &Controllers,
    woken: WakeQueues,
    ready: http::Ready,
    stop: &CancellationToken,
) {
    if controllers.base.stores().ready().await.is_err() {
        return;
    }
    ready.set(true);
    run_all(controllers, woken, stop).await;
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        manager: ManagerArgs,
    }

    #[tokio::test]
    async fn users_reach_neither_this_machine_nor_the_api_that_we_are_managed_by() {
        let management = kube::Config::new("https://192.0.2.1:6443".parse().unwrap());
        for (host, port, is_refused) in [
            ("127.0.0.1", 6443, true),
            ("192.0.2.1", 6443, true),
            ("192.0.2.1", 443, false),
            ("192.0.2.2", 6443, false),
        ] {
            let given = Command::parse_from(["tatara"]).manager;
            let found = reach(&given, &management).resolve(host, port).await;
            assert_eq!(found.is_err(), is_refused, "{host}:{port}");
            let local = Command::parse_from(["tatara", "--allow-local-endpoints"]).manager;
            let found = reach(&local, &management).resolve(host, port).await;
            assert!(found.is_ok(), "{host}:{port}");
        }
    }
}
