//! The Node of a Machine, and one that has its name.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::Machines;
use super::{address_remedy, cluster_endpoint, turns};
use crate::clock;
use crate::controllers::workloads::Workloads;
use crate::providers::ssh::perhaps_marked;
use crate::store::Stores;
use crate::workload::Connectivity;
use crate::workload::error::Cause;
use tatara_core::NodeView;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::conditions::{ConditionType, is_false};
use tatara_core::api::names::{self, ANNOTATION_INITIALIZED};
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine};
use tatara_core::machine::own_node::{self, OwnNode};
use tatara_core::machine::units::node_name;
use tatara_core::machine::{Lookup, MOMENT, Namesake, Observed, Placement};
use tatara_core::remedy;

/// What was found of the Node of a Machine.
pub(super) struct Found {
    node: Lookup<Option<Arc<NodeView>>>,
    others: Vec<Arc<NodeView>>,
}

impl Found {
    /// Stores it. Where only others have the provider ID, nobody knows whether the Machine has a
    /// Node.
    pub(super) fn store(self, observed: &mut Observed) {
        observed.node = self.node;
        observed.contested = self.others;
        if observed.node == Lookup::Known(None) && !observed.contested.is_empty() {
            observed.node = Lookup::Unknown(own_node::contested(observed));
        }
    }
}

impl From<Lookup<Option<Arc<NodeView>>>> for Found {
    fn from(node: Lookup<Option<Arc<NodeView>>>) -> Self {
        Self {
            node,
            others: Vec::new(),
        }
    }
}

/// The Node of a Machine, or why it cannot be read.
pub(super) fn find(
    known: (&Stores, &Workloads),
    cluster: Option<&Cluster>,
    machine: &Machine,
) -> Found {
    let Some(cluster) = cluster else {
        return Lookup::Known(None).into();
    };
    // not spec.providerID: a user may write it, and it may be another Machine's
    let ids = names::provider_ids(&machine.uid().unwrap_or_default());
    let workload = known.1.get(cluster);
    let claimants = workload.iter().flat_map(|workload| {
        let of_each = ids.iter().map(|id| workload.nodes_by_provider_id(id));
        of_each.flatten().collect::<Vec<_>>()
    });
    let OwnNode { node, others } = own_node::choose(machine, claimants.collect());
    let node = lookup(known, cluster, machine, node);
    match node {
        Lookup::Known(_) => Found { node, others },
        _ => node.into(),
    }
}

/// The Node that is chosen, if the API answers.
fn lookup(
    (stores, workloads): (&Stores, &Workloads),
    cluster: &Cluster,
    machine: &Machine,
    chosen: Option<Arc<NodeView>>,
) -> Lookup<Option<Arc<NodeView>>> {
    let status = machine.status.as_ref();
    let was_seen = status.is_some_and(|status| status.node_ref.is_some());
    let Some(workload) = workloads.get(cluster) else {
        let problem = workloads.known.get(&cluster.uid().unwrap_or_default());
        let problem = problem.kubeconfig.problem.map(|why| format!(": {why}"));
        let not_connected = format!(
            "not connected to the API of Cluster {} yet{}",
            cluster.name_any(),
            problem.unwrap_or_default()
        );
        let initialized = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
        let is_young = workloads.are_connecting();
        return match (was_seen, initialized) {
            (true, _) if is_young => Lookup::NotYet(not_connected),
            (true, _) | (false, true) => Lookup::Unknown(not_connected),
            (false, false) => Lookup::Known(None),
        };
    };
    match workload.connectivity() {
        Connectivity::Connected { .. } => Lookup::Known(chosen),
        Connectivity::Connecting if was_seen => Lookup::NotYet(format!(
            "the API of Cluster {} has not answered yet",
            cluster.name_any()
        )),
        state => {
            let turn = turns(workloads, cluster).0;
            let upgrade = turn.filter(|turn| turn.action == TurnAction::Upgrade);
            // a deletion goes on, and an update that starts the API server anew says so
            let stays = machine.metadata.deletion_timestamp.is_none() && upgrade.is_none();
            if was_seen && stays && is_brief(&state, clock::now()) {
                return Lookup::NotYet(format!(
                    "the API of Cluster {} does not answer{}",
                    cluster.name_any(),
                    why(&state)
                ));
            }
            Lookup::Unknown(match upgrade {
                Some(turn) => restarting(cluster, &turn, &state),
                None => silent((stores, workloads), cluster, &state),
            })
        }
    }
}

/// Whether it does not answer only since a moment ago.
fn is_brief(state: &Connectivity, now: Timestamp) -> bool {
    let Connectivity::Disconnected { since, .. } = state else {
        return false;
    };
    now.duration_since(*since).unsigned_abs() < MOMENT
}

/// The same, while kubeadm upgrade replaces an API server.
fn restarting(cluster: &Cluster, turn: &Turn, state: &Connectivity) -> String {
    let (name, machine) = (cluster.name_any(), &turn.name);
    let namespace = cluster.namespace().unwrap_or_default();
    format!(
        "the API of Cluster {name} does not answer{}, while control-plane Machine {machine} is updated: an only API server is away for a minute or two. If that lasts: {}",
        why(state),
        remedy::describe_machine(&namespace, machine)
    )
}

/// The message that the API of a Cluster does not answer, or not as it should.
fn silent(
    (stores, workloads): (&Stores, &Workloads),
    cluster: &Cluster,
    state: &Connectivity,
) -> String {
    let namespace = cluster.namespace().unwrap_or_default();
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let first = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let endpoint = cluster_endpoint(stores, &namespace, spec.as_ref().ok(), first);
    let at = endpoint.map_or_else(|| "its address".into(), |at| format!("https://{at}"));
    let status = cluster.status.as_ref();
    let is_false = |condition| status.is_some_and(|status| is_false(&status.conditions, condition));
    let cause = match state {
        Connectivity::Disconnected { cause, .. } => *cause,
        _ => Cause::Silence,
    };
    let uid = cluster.uid().unwrap_or_default();
    let is_external = workloads.known.get(&uid).kubeconfig.external;
    let told = Told {
        namespace: &namespace,
        name: &cluster.name_any(),
        at: &at,
        why: &why(state),
        // it stays True until several probes have failed
        is_unhealthy: is_false(ConditionType::ControlPlaneHealthy),
        is_etcd: is_false(ConditionType::EtcdHealthy),
        is_external,
        remedy: &address_remedy(cluster, spec.as_ref().ok(), is_external),
    };
    told.sentence(cause)
}

/// What is told of an API that does not answer as it should.
struct Told<'a> {
    namespace: &'a str,
    name: &'a str,
    at: &'a str,
    why: &'a str,
    is_unhealthy: bool,
    is_etcd: bool,
    /// Its kubeconfig is a user's; the other is the manager's own, which nobody has to store.
    is_external: bool,
    /// Where its address is corrected.
    remedy: &'a str,
}

impl Told<'_> {
    /// Cause and remedy.
    fn sentence(&self, cause: Cause) -> String {
        let Self {
            name,
            at,
            why,
            remedy,
            ..
        } = self;
        let secret = names::kubeconfig_secret(name);
        let may_be_etcd = matches!(cause, Cause::Silence | Cause::NotReady(_) | Cause::Answered);
        if self.is_etcd && may_be_etcd {
            return format!(
                "the API of Cluster {name} does not serve{why}. Its etcd does not serve either, without which no API server does: condition EtcdHealthy of Cluster {name} has cause and remedy"
            );
        }
        let expired = "If a certificate has expired: docs/operating.md#certificates";
        match cause {
            Cause::Silence => {
                let more = if self.is_unhealthy {
                    format!("; see condition ControlPlaneHealthy of Cluster {name}")
                } else {
                    String::new()
                };
                format!(
                    "the API of Cluster {name} does not answer{why}. Check route and firewall between the manager and {at}, and that kube-apiserver runs{more}. {expired}"
                )
            }
            Cause::Tls => format!(
                "what answers at {at} is not trusted as the API of Cluster {name}{why}. {expired}. Otherwise another server has that address, or Secret {secret} has the CA of another cluster: correct it"
            ),
            Cause::Unauthorized if self.is_external => format!(
                "the API of Cluster {name} does not know the manager's user (401){why}. Its token was revoked, or its client certificate has expired: store a valid kubeconfig in Secret {secret}, key value"
            ),
            Cause::Unauthorized => format!(
                "the API of Cluster {name} does not accept the client certificate that the manager made with the CA of Secret {name}-ca (401){why}. Compare the clocks of the manager and of its control planes, and tls.crt of that Secret with /etc/kubernetes/pki/ca.crt there"
            ),
            Cause::Forbidden if self.is_external => format!(
                "the API of Cluster {name} refuses the manager (403){why}. If that lasts longer than 10 s: store an administrator's kubeconfig in Secret {secret}, key value"
            ),
            Cause::Forbidden => format!(
                "the API of Cluster {name} refuses the manager (403){why}. If that lasts longer than 10 s, nothing allows group kubeadm:cluster-admins everything, as kubeadm does. On the host where kubeadm init ran (if that is gone, on another control plane, after kubeadm init phase kubeconfig super-admin there): {}",
                remedy::workload::bind_administrators()
            ),
            Cause::Overloaded => format!(
                "the API of Cluster {name} is overloaded (429){why}. It is asked again within 5 s. If that lasts, find who asks so much: {}",
                remedy::workload::api_load(self.namespace, name)
            ),
            Cause::NotReady(code) => format!(
                "{at}, the API of Cluster {name}, answers {code}{why}. If that is a load balancer, none of its servers is up: check kube-apiserver on the control planes. Otherwise see what the API server waits for: {}",
                remedy::workload::api_readiness(self.namespace, name)
            ),
            Cause::Limit => format!(
                "the API of Cluster {name} exceeds a limit of the manager{why}. See also that {at} is that API"
            ),
            Cause::Given => format!(
                "the API of Cluster {name} cannot be reached at the address that is given for it{why}. {remedy}"
            ),
            Cause::Answered => format!(
                "the API of Cluster {name} answers with an error{why}. See the log of kube-apiserver on its control planes, and that {at} is that API"
            ),
        }
    }
}

/// A Node that the host's last Machine left behind, for example when that Machine was lost with the
/// management cluster's etcd data: a kubelet of the same name would take it over, including its
/// provider ID.
pub(super) fn namesake(
    controller: &Machines,
    cluster: Option<&Cluster>,
    observed: &Observed,
) -> Option<Namesake> {
    let (Placement::Held(held), Lookup::Known(None)) = (&observed.placement, &observed.node) else {
        return None;
    };
    let node = controller
        .workloads
        .get(cluster?)?
        .node(node_name(observed, held))?;
    let owner = node.provider_id.as_deref().and_then(names::machine_uid);
    let is_left_over =
        owner.is_some_and(|uid| controller.base.stores().machines.by_uid(uid).is_none());
    let namespace = &observed.marker.namespace;
    let hosts = &controller.base.stores().hosts;
    let marked = owner.and_then(|uid| perhaps_marked(hosts, namespace, uid));
    Some(Namesake {
        node,
        is_left_over,
        marked,
    })
}

fn why(state: &Connectivity) -> String {
    match state {
        Connectivity::Disconnected { why, since, .. } => format!(" since {since:.0}: {why}"),
        _ => " yet".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_that_is_away_for_a_moment_is_no_news_and_after_ten_seconds_it_is() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let away = Connectivity::Disconnected {
            since: at(100),
            why: "no route to host".into(),
            cause: Cause::Silence,
        };
        for (now, expected) in [(100, true), (109, true), (110, false), (200, false)] {
            assert_eq!(is_brief(&away, at(now)), expected, "{now}");
        }
        let never = Connectivity::Connecting;
        assert!(!is_brief(&never, at(100)));
    }

    #[test]
    fn each_cause_has_its_remedy_and_only_silence_is_sent_to_the_firewall() {
        let told = |is_etcd, is_external| Told {
            namespace: "default",
            name: "a",
            at: "https://192.0.2.1:6443",
            why: " since then: said",
            is_unhealthy: false,
            is_etcd,
            is_external,
            remedy: "Correct the field",
        };
        let table = [
            (Cause::Silence, "firewall"),
            (Cause::Tls, "CA of another cluster"),
            (
                Cause::Unauthorized,
                "valid kubeconfig in Secret a-kubeconfig, key value",
            ),
            (
                Cause::Forbidden,
                "administrator's kubeconfig in Secret a-kubeconfig, key value",
            ),
            (Cause::Overloaded, "dump_priority_levels"),
            (Cause::NotReady(503), "answers 503 since then"),
            (Cause::NotReady(503), "/readyz?verbose"),
            (Cause::Limit, "exceeds a limit"),
            (Cause::Given, ". Correct the field"),
            (Cause::Answered, "log of kube-apiserver"),
        ];
        for (cause, remedy) in table {
            let said = told(false, true).sentence(cause);
            assert!(
                said.contains(remedy) && said.contains("since then: said"),
                "{said}"
            );
            assert_eq!(said.contains("firewall"), cause == Cause::Silence, "{said}");
            let with_etcd = told(true, true).sentence(cause);
            let is_etcd = matches!(cause, Cause::Silence | Cause::NotReady(_) | Cause::Answered);
            assert_eq!(with_etcd.contains("EtcdHealthy"), is_etcd, "{with_etcd}");
        }
        // nobody has to store the kubeconfig that the manager writes
        for (cause, remedy) in [
            (
                Cause::Unauthorized,
                "tls.crt of that Secret with /etc/kubernetes/pki/ca.crt",
            ),
            (
                Cause::Forbidden,
                "create clusterrolebinding kubeadm:cluster-admins",
            ),
        ] {
            let said = told(false, false).sentence(cause);
            assert!(said.contains(remedy), "{said}");
            assert!(!said.contains("a-kubeconfig"), "{said}");
        }
    }
}
