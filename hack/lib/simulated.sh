# A cluster of simulated machines: one management plane for Tatara, another one as the API that the Nodes
# register in, and the manager with the rights of its own service account. Expects hack/lib.sh.
# shellcheck shell=bash

MANAGER_ACCOUNT=system:serviceaccount:tatara-system:tatara-manager

admin() { "$KUBECTL" --kubeconfig "$SIMULATED/management/admin.kubeconfig" "$@"; }
member() { "$KUBECTL" --kubeconfig "$SIMULATED/member/admin.kubeconfig" "$@"; }

# simulated_up BINARY: to a Cluster that is connected, with a MachineDeployment of none. Sets SIMULATED (a folder
# of its own), KUBECTL, AUDIT_LOG and MANAGER (process id); simulated_down takes it all away.
simulated_up() {
  local binary=$1 plane file
  SIMULATED=$(mktemp -d)
  trap simulated_down EXIT
  KUBECTL=$("$HACK/binaries" path kubectl)
  for plane in management member; do "$HACK/management-plane" up "$SIMULATED/$plane" >/dev/null; done
  # shellcheck disable=SC2034   # for the caller
  AUDIT_LOG=$SIMULATED/management/audit.log
  "$binary" crds | admin apply --server-side --field-manager=tatara -f - >/dev/null
  for file in "$REPO"/templates/install/[0-3]*.yaml "$REPO"/templates/install/if-missing; do
    admin apply --server-side -f "$file" >/dev/null
  done
  (umask 077; "$HACK/management-plane" kubeconfig "$SIMULATED/management" tatara-manager tatara-system >"$SIMULATED/manager.kubeconfig")
  KUBECONFIG=$SIMULATED/manager.kubeconfig detached "$SIMULATED/manager.log" "$binary" manager --allow-local-endpoints --http-address 127.0.0.1:0 &
  MANAGER=$!
  admin create secret generic simulated-kubeconfig --from-file="value=$SIMULATED/member/admin.kubeconfig" >/dev/null
  simulated_manifests | admin apply --server-side -f - >/dev/null
  admin wait --for=condition=ControlPlaneHealthy cluster/simulated --timeout=120s >/dev/null
}

simulated_down() {
  [[ -z ${MANAGER:-} ]] || kill "$MANAGER" 2>/dev/null || true
  local plane
  for plane in management member; do "$HACK/management-plane" down "$SIMULATED/$plane" --erase; done
  rm -rf "$SIMULATED"
}

simulated_manifests() {
  cat <<YAML
apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata: {name: simulated, namespace: default}
spec:
  clusterNetwork: {services: {cidrBlocks: [10.96.0.0/12]}, pods: {cidrBlocks: [10.244.0.0/16]}, serviceDomain: cluster.local}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineClass
metadata: {name: simulated, namespace: default}
providerSpec: {value: {apiVersion: tatara.dev/v1alpha1, kind: SimulatedMachineProviderSpec, bootMilliseconds: 500, readyMilliseconds: 500}}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: simulated, namespace: default, labels: {cluster.k8s.io/cluster-name: simulated}}
spec:
  replicas: 0
  selector: {matchLabels: {pool: simulated}}
  template:
    metadata: {labels: {pool: simulated, cluster.k8s.io/cluster-name: simulated}}
    spec: {versions: {kubelet: $KUBERNETES}, providerSpec: {valueFrom: {machineClass: {name: simulated}}}}
YAML
}

# simulated_scale N SECONDS: to N replicas that are available
simulated_scale() {
  admin scale machinedeployment/simulated --replicas="$1" >/dev/null
  admin wait --for=jsonpath='{.status.availableReplicas}'="$1" machinedeployment/simulated --timeout="${2}s" >/dev/null
}

# requests LOG LINE: what the manager has asked since that line of an audit log, "VERB RESOURCE" each; Leases apart.
# A watch counts when it starts.
requests() {
  tail -n "+$(($2 + 1))" "$1" | awk -v account="\"username\":\"$MANAGER_ACCOUNT\"" '
    !index($0, account) || index($0, "\"resource\":\"leases\"") {next}
    {
      if (!match($0, /"verb":"[a-z]+"/)) next
      verb = substr($0, RSTART + 8, RLENGTH - 9)
      if ((verb == "watch") != (index($0, "\"stage\":\"ResponseStarted\"") > 0)) next
      resource = "-"
      if (match($0, /"objectRef":\{"resource":"[a-z]+"/)) resource = substr($0, RSTART + 25, RLENGTH - 26)
      if (match($0, /"subresource":"[a-z]+"/)) resource = resource "/" substr($0, RSTART + 15, RLENGTH - 16)
      code = match($0, /"code":[0-9]+/) ? substr($0, RSTART + 7, RLENGTH - 7) : 0
      print verb, resource (code >= 400 ? " (" code ")" : "")
    }'
}

lines() { wc -l <"$1"; }

# processor_ticks PID: time that a process has had so far, user and system, in ticks of `getconf CLK_TCK`
processor_ticks() { awk '{sub(/^.*\) /, ""); print $12 + $13}' "/proc/$1/stat"; }
