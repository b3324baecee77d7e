//! A Service with two replicas, or the cluster's API at its virtual IP, asked all the time, with a new connection each.

use std::process::{Child, Command, Stdio};

use crate::support::versions::pinned;
use crate::support::world::World;

/// Address of the Service.
const ADDRESS: &str = "10.96.0.99";

/// What it consists of: readiness, time to leave the Service, a budget, and one replica a Node.
fn manifest() -> String {
    let image = format!("registry.k8s.io/coredns/coredns:{}", pinned("COREDNS"));
    format!(
        r"
apiVersion: v1
kind: ConfigMap
metadata: {{name: web, namespace: default}}
data:
  Corefile: |
    .:1053 {{
        health :8080
    }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: default}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}}}
      containers:
      - name: web
        image: {image}
        imagePullPolicy: Never
        args: [-conf, /etc/web/Corefile]
        readinessProbe: {{httpGet: {{path: /health, port: 8080}}, periodSeconds: 1}}
        lifecycle: {{preStop: {{sleep: {{seconds: 5}}}}}}
        volumeMounts: [{{name: corefile, mountPath: /etc/web}}]
      volumes: [{{name: corefile, configMap: {{name: web}}}}]
      terminationGracePeriodSeconds: 10
---
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: default}}
spec:
  selector: {{app: web}}
  clusterIP: {ADDRESS}
  ports: [{{port: 80, targetPort: 8080}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web, namespace: default}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: web}}}}}}
"
    )
}

/// Requests from a host, counted there.
pub struct Requests<'a> {
    world: &'a World,
    host: String,
    asking: Child,
}

impl<'a> Requests<'a> {
    /// Creates the Service, waits for both replicas, and begins to ask from this host.
    pub fn begin(world: &'a World, host: &str) -> Self {
        let path = world.run().join("web.yaml");
        std::fs::write(&path, manifest()).expect("a file");
        let member = |arguments: &[&str]| {
            let done = world.member_kubectl().args(arguments).status();
            assert!(done.expect("kubectl").success(), "{arguments:?}");
        };
        member(&["apply", "-f", &path.to_string_lossy()]);
        member(&["rollout", "status", "deployment/web", "--timeout=120s"]);
        let request = format!("--max-time 3 http://{ADDRESS}/health");
        Self::ask(world, host, &request)
    }

    /// Begins to ask the API at the virtual IP from the host of a worker, for its own Node: as its kubelet does.
    pub fn of_api(world: &'a World, host: &str) -> Self {
        let request = format!(
            "--max-time 5 --cacert /etc/kubernetes/pki/ca.crt --cert /var/lib/kubelet/pki/kubelet-client-current.pem \
             https://{}.100:6443/api/v1/nodes/{host}",
            world.subnet()
        );
        Self::ask(world, host, &request)
    }

    /// `request`: arguments of curl.
    fn ask(world: &'a World, host: &str, request: &str) -> Self {
        let ask = format!(
            "rm -f /tmp/enough /tmp/count
            ask() {{ curl -sf -o /dev/null {request}; }}
            until ask; do sleep 0.2; done    # kube-proxy has heard of it
            ok=0 bad=0
            while [ ! -e /tmp/enough ]; do
              if ask; then ok=$((ok + 1)); else bad=$((bad + 1)); echo \"lost at $(date +%T)\"; fi
              echo \"$ok $bad\" >/tmp/count
              sleep 0.05
            done"
        );
        let mut command: Command = world.hack("fleet");
        let asking = command.args(["ssh", host, &ask]).stdin(Stdio::null());
        Self {
            world,
            host: host.to_owned(),
            asking: asking.spawn().expect("hack/fleet"),
        }
    }

    /// From now on no replica may be evicted.
    pub fn allow_no_disruption(&self) {
        self.keep(2);
    }

    /// As it was at first.
    pub fn allow_one_disruption(&self) {
        self.keep(1);
    }

    fn keep(&self, replicas: u8) {
        let patch = format!("{{\"spec\":{{\"minAvailable\":{replicas}}}}}");
        let mut kubectl = self.world.member_kubectl();
        kubectl.args(["patch", "pdb", "web", "--type=merge", "-p", &patch]);
        assert!(kubectl.status().expect("kubectl").success());
    }

    /// Ends it: how many were answered, and how many not.
    pub fn end(mut self) -> (u64, u64) {
        self.world.shell(&self.host, "touch /tmp/enough");
        assert!(self.asking.wait().expect("its end").success());
        let text = self.world.shell(&self.host, "cat /tmp/count");
        let (answered, lost) = text.trim().split_once(' ').expect("two numbers");
        let number = |text: &str| text.parse().expect("a number");
        (number(answered), number(lost))
    }
}
