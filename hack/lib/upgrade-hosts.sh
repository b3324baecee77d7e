# What hack/bench-upgrade measures on hosts: three control planes and three workers from KUBERNETES_PREVIOUS to KUBERNETES, in
# place. Machine time is that of jobs on hosts, of drains (from cordon to the next job), and of kubelets (from the end of
# their job to a Node that is Ready in the new version), each moment counted once. The rest of the time is the manager's.
# shellcheck shell=bash

# between BEGUN ENDED: reads "job HOST KIND START END" and "node TIME NAME CORDONED VERSION READY" in the order of their
# times; prints the machine time, and of each node the time from Ready to the first step of the next one
between() {
  awk -v begun="$1" -v ended="$2" -v version="$KUBERNETES" '
    $1 == "job" && $4 >= begun {
      jobs++; host[jobs] = $2; kind[jobs] = $3; start[jobs] = $4; end[jobs] = $5
      if (!($2 in first)) { first[$2] = $4; order[++hosts] = $2 }
      last[$2] = $5
      if ($3 == "kubelet") kubelet[$2] = $4
    }
    $1 == "node" && $2 >= begun {
      if ($4 == "true" && !($3 in cordoned)) cordoned[$3] = $2
      if ($5 == version && $6 == "True" && !($3 in ready)) ready[$3] = $2
    }
    function take(from, to) { if (to > from) { spans++; a[spans] = from; b[spans] = to } }
    END {
      for (i = 1; i <= jobs; i++) take(start[i], end[i])
      for (h in first) { if (h in cordoned) take(cordoned[h], kubelet[h]); if (h in ready) take(last[h], ready[h]) }
      for (i = 2; i <= spans; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) {
        t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; t = b[j]; b[j] = b[j - 1]; b[j - 1] = t
      }
      for (i = 1; i <= spans; i++) {
        from = a[i] > till ? a[i] : till
        if (b[i] > from) { machines += b[i] - from; till = b[i] }
      }
      for (i = 1; i <= hosts; i++) {
        h = order[i]; one = ready[h] > last[h] ? ready[h] : last[h]
        line = sprintf("%s %.1f s", h, last[h] - first[h])
        if (i < hosts) { gap = first[order[i + 1]] - one; line = line sprintf(", %.1f s from Ready to the first step of %s", gap, order[i + 1]); if (gap > most) most = gap }
        print line
      }
      printf "times %.3f %.3f %.3f\n", ended - begun, machines, most
    }'
}

# jobs HOST...: of the hosts, since they were made
jobs() {
  local host
  for host in "$@"; do
    "$HACK/fleet" ssh "$host" 'journalctl -q -o short-unix _PID=1' | awk -v host="$host" '
      match($0, /tatara-[0-9a-f-]+-[a-z]+\.service/) { unit = substr($0, RSTART, RLENGTH); kind = unit; sub(/.*-/, "", kind); sub(/\.service/, "", kind) }
      / Starting tatara-/ { start[unit] = $1 }
      /tatara-.*Deactivated successfully/ && unit in start { print "job", host, kind, start[unit], $1; delete start[unit] }'
  done
}

# nodes: a line for each change of a Node, with the time; through restarts of API servers, until it is killed
nodes() {
  local line
  while :; do
    "$KUBECTL" --kubeconfig "$RUN/quickstart.kubeconfig" get nodes --watch --request-timeout=0 -o \
      jsonpath='{.metadata.name} {.spec.unschedulable} {.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}{"\n"}' 2>/dev/null |
      while read -r line; do awk -v t="$EPOCHREALTIME" '{print "node", t, $1, (NF == 4 ? $2 : "false"), $(NF - 1), $NF}' <<<"$line"; done || true
    sleep 0.2
  done
}

unwatch() {
  [[ -n ${watch:-} ]] || return 0
  pkill -P "$watch" || true     # its kubectl
  kill "$watch" || true
  watch=''
}

hosts_down() {
  unwatch
  "$HACK/quickstart-down" >/dev/null 2>&1
}

settled() { "$TATARA_BINARY" rollout status "machinedeployment/$1" >/dev/null; }

hosts() {
  local all=(host-a host-b host-c host-d host-e host-f) begun ended seen figures
  export FLEET=bench SUBNET=10.98.0 TATARA_STATE=$STATE/bench HOSTS=6 CONTROL_HOSTS=3 PREVIOUS=1
  RUN=$TATARA_STATE/quickstart
  export KUBECONFIG=$RUN/management/admin.kubeconfig TATARA_BINARY=$1
  KUBECTL=$("$HACK/binaries" path kubectl)
  trap hosts_down EXIT
  "$HACK/quickstart-down" >/dev/null 2>&1     # of a run that was killed
  "$HACK/quickstart" up >/dev/null 2>&1
  "$KUBECTL" label machine quickstart-control-plane set=control-plane >/dev/null
  "$KUBECTL" apply -f - >/dev/null <<YAML
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: quickstart-control-planes, labels: {cluster.k8s.io/cluster-name: quickstart}}
spec:
  replicas: 3
  strategy: {type: InPlace}
  selector: {matchLabels: {set: control-plane}}
  template:
    metadata: {labels: {set: control-plane}}
    spec:
      versions: {kubelet: $KUBERNETES_PREVIOUS, controlPlane: $KUBERNETES_PREVIOUS}
      providerSpec: {valueFrom: {machineClass: {name: control-plane}}}
YAML
  "$KUBECTL" patch machinedeployment quickstart-workers --type=merge -p '{"spec":{"replicas":3,"progressDeadlineSeconds":1800,"strategy":{"type":"InPlace","rollingUpdate":null}}}' >/dev/null
  settled quickstart-workers
  settled quickstart-control-planes
  seen=$(mktemp)
  nodes >"$seen" & watch=$!
  sleep 20     # what the joins have left to do
  begun=$EPOCHREALTIME
  "$KUBECTL" get machinedeployment quickstart-control-planes quickstart-workers -o yaml | sed "s/${KUBERNETES_PREVIOUS//./\\.}/$KUBERNETES/" |
    "$KUBECTL" apply -f - >/dev/null 2>&1
  settled quickstart-control-planes
  settled quickstart-workers
  ended=$EPOCHREALTIME
  unwatch
  figures=$({ jobs "${all[@]}"; cat "$seen"; } | awk '{print ($1 == "job" ? $4 : $2), $0}' | sort -n | cut -d' ' -f2- | between "$begun" "$ended")
  rm -f "$seen"
  sed '$d' <<<"$figures"
  # shellcheck disable=SC2046   # three words
  set -- $(tail -n 1 <<<"$figures")
  echo "three control planes and three workers: $2 s, of which the machines take $3 s"
  verdict 'wall time over machine time' "$(awk -v w="$2" -v m="$3" 'BEGIN {printf "%.2f", w / m}')" 1.10
  verdict 'Ready to the first step of the next' "$4" 1 s
}
