//! A cluster of one control plane on hosts of a fleet: its keys, documents and units, as the manager has
//! them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tatara::pki::Authorities;
use tatara::pki::authorities::control_plane_files;
use tatara_core::api::ClusterProviderSpec;
use tatara_core::api::machine_provider_spec::NodeSettings;
use tatara_core::kubeadm::{
    self, CRI_SOCKET, ClusterInput, Discovery, Endpoint, LocalApi, NodeInput,
};
use tatara_core::node::{
    Bootstrap, Event, Marker, Prepare, Reset, Role, Unit, UnitState, VirtualIpInput,
};

use crate::host::fleet::{Fleet, lossy, marker, now, root};
use crate::support::versions::pinned;

pub struct Cluster<'a> {
    pub fleet: &'a Fleet,
    pub settings: NodeSettings,
    pub pod_cidrs: Vec<String>,
    pub user: ClusterProviderSpec,
    pub input: ClusterInput,
    authorities: Authorities,
    virtual_ip: bool,
    pub router_id: Option<u8>,
}

const CONTROL_PLANE: (&str, u8) = ("cp", 11);

impl<'a> Cluster<'a> {
    pub fn new(fleet: &'a Fleet, virtual_ip: Option<u8>) -> Self {
        let pod_cidrs = vec!["10.244.0.0/16".to_owned()];
        let (authorities, _) =
            Authorities::load_or_generate("quick", &BTreeMap::new(), now()).unwrap();
        Self {
            fleet,
            settings: NodeSettings::default(),
            pod_cidrs: pod_cidrs.clone(),
            authorities,
            user: user(),
            input: ClusterInput {
                name: "quick".into(),
                version: pinned("KUBERNETES").parse().unwrap(),
                endpoint: Endpoint {
                    host: fleet.address(virtual_ip.unwrap_or(CONTROL_PLANE.1)),
                    port: 6443,
                },
                pod_cidrs,
                service_cidrs: vec!["10.96.0.0/16".into()],
                service_domain: "cluster.local".into(),
                cert_sans: Vec::new(),
            },
            virtual_ip: virtual_ip.is_some(),
            router_id: None,
        }
    }

    /// The private keys that Tatara made.
    pub fn keys(&self) -> Vec<tatara_core::node::ControlPlaneFile> {
        let files = control_plane_files(&self.authorities).into_iter();
        files.filter(|file| file.mode == 0o600).collect()
    }

    pub fn endpoint(&self) -> &str {
        &self.input.endpoint.host
    }

    pub fn prepare(&self, role: Role, host: &str) -> Unit {
        tatara_core::node::prepare(&Prepare {
            role,
            node_name: host,
            kubelet_version: &self.input.version,
            control_plane_version: &self.input.version,
            settings: &self.settings,
            kubelet_configuration: &self.user.kubelet_configuration,
            image_repository: None,
            pod_cidrs: &self.pod_cidrs,
            service_cidrs: &self.input.service_cidrs,
            no_proxy: &[],
            api_port: 6443,
            ipv6: false,
        })
        .unwrap()
        .render()
        .unwrap()
    }

    pub fn init(&self, uid: &str) -> Unit {
        let own_address = self.fleet.address(CONTROL_PLANE.1);
        let api = LocalApi {
            advertise_address: own_address.clone(),
            bind_port: 6443,
        };
        let node = node(CONTROL_PLANE.0, uid);
        let text = kubeadm::init(&self.input, &node, &api, &self.user).unwrap();
        tatara_core::node::init(Bootstrap {
            kubeadm: text.into(),
            pki: control_plane_files(&self.authorities),
            virtual_ip: self.virtual_ip.then(|| VirtualIpInput {
                address: self.endpoint(),
                own_address: &own_address,
                peers: &[],
                api_port: 6443,
                interface: None,
                router_id: self.router_id,
            }),
            pod_cidrs: &self.pod_cidrs,
            post_kubeadm_commands: &[],
        })
        .render()
        .unwrap()
    }

    pub fn join(&self, host: &str, uid: &str) -> Unit {
        let token = self.kubectl("exec-token", "kubeadm token create --ttl 10m");
        let discovery = Discovery {
            endpoint: self.input.endpoint.clone(),
            token: token.trim().to_owned().into(),
            ca_cert_hashes: self.authorities.cluster.public_key_hashes(),
        };
        tatara_core::node::join(Bootstrap {
            kubeadm: kubeadm::join(&node(host, uid), &discovery, None, &self.user).unwrap(),
            pki: Vec::new(),
            virtual_ip: None,
            pod_cidrs: &self.pod_cidrs,
            post_kubeadm_commands: &[],
        })
        .render()
        .unwrap()
    }

    pub fn reset(&self) -> Unit {
        tatara_core::node::reset(&Reset {
            pod_cidrs: &self.pod_cidrs,
        })
        .render()
        .unwrap()
    }

    /// Runs a unit that must succeed.
    pub fn succeed(&self, host: &str, marker: &Marker, unit: &Unit) {
        #[allow(clippy::disallowed_methods)] // for people to read
        let started = std::time::Instant::now();
        let events = self.fleet.run_unit(host, marker, unit);
        let Some(Event::Ended(status)) = events.last() else {
            panic!("{host}: {events:?}");
        };
        assert_eq!(
            status.state,
            UnitState::Succeeded,
            "{host}: {}",
            self.logs(host, marker)
        );
        println!(
            "{host}: {} took {:?}",
            unit.kind.as_str(),
            started.elapsed()
        );
    }

    pub fn logs(&self, host: &str, marker: &Marker) -> String {
        lossy(
            &self
                .fleet
                .run(host, &tatara_core::node::log(&marker.uid, None).unwrap()),
        )
    }

    /// Runs a command on the control plane with the administrator's rights.
    pub fn kubectl(&self, _what: &str, command: &str) -> String {
        let text = format!("export KUBECONFIG=/etc/kubernetes/admin.conf\n{command}\n");
        self.fleet.shell(CONTROL_PLANE.0, &text)
    }

    pub fn network(&self) {
        let manifest = std::fs::read_to_string(root().join("hack/cluster/flannel.yaml")).unwrap();
        let manifest = manifest
            .replace("@ADDRESS@", &self.fleet.address(CONTROL_PLANE.1))
            .replace('\'', "'\\''");
        self.kubectl(
            "network",
            &format!("printf '%s' '{manifest}' | kubectl apply -f - >/dev/null"),
        );
    }

    pub fn ready(&self, host: &str) {
        let wait = format!("kubectl wait --for=condition=Ready node {host} --timeout=180s");
        self.kubectl("ready", &wait);
    }

    /// Takes and prepares hosts, makes the control plane on the first, and gives it a network.
    pub fn up(&self, uid: &str) -> Marker {
        let marker = marker(uid);
        let host = CONTROL_PLANE.0;
        self.fleet.take(host, &marker);
        self.succeed(host, &marker, &self.prepare(Role::ControlPlane, host));
        self.succeed(host, &marker, &self.init(uid));
        self.network();
        marker
    }
}

fn node(host: &str, uid: &str) -> NodeInput {
    NodeInput {
        name: host.into(),
        provider_id: tatara_core::api::names::provider_id("ssh", uid),
        taints: Vec::new(),
        labels: BTreeMap::new(),
        cri_socket: CRI_SOCKET.into(),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// What hosts made of namespaces need, given as any user gives it.
fn user() -> ClusterProviderSpec {
    let registration = json!({"nodeRegistration": {
        "imagePullPolicy": "Never",
        "ignorePreflightErrors": ["SystemVerification"],
    }});
    let driver = if std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        "systemd"
    } else {
        "cgroupfs"
    };
    let mut user = ClusterProviderSpec {
        kubelet_configuration: object(json!({
            "cgroupDriver": driver,
            "failCgroupV1": false,
            "evictionHard": {"imagefs.available": "0%", "nodefs.available": "0%", "memory.available": "100Mi"},
            "imageGCHighThresholdPercent": 100,
        })),
        kube_proxy_configuration: object(json!({
            "mode": "iptables",
            "conntrack": {"maxPerCore": 0, "min": 0},
        })),
        ..ClusterProviderSpec::default()
    };
    user.kubeadm.init_configuration = object(registration.clone());
    user.kubeadm.join_configuration = object(registration);
    user
}
