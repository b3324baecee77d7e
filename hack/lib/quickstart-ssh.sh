# What hack/quickstart has of its own for machines that are hosts reached over SSH: HOSTS of hack/fleet (3), of which
# CONTROL_HOSTS have the label role=control-plane. The first three are those of templates/quickstart/.
# shellcheck shell=bash disable=SC2034,SC2153
. "$HACK/lib/quickstart-hosts.sh"

FLEET=${FLEET:-ttr} SUBNET=${SUBNET:-10.77.0} HOSTS=${HOSTS:-3}
CONTROL_HOSTS=${CONTROL_HOSTS:-$((HOSTS > 4 ? (HOSTS + 1) / 2 : 1))}
[[ $HOSTS =~ ^([3-9]|1[0-9])$ ]] || die "HOSTS=\"$HOSTS\": 3 to 19"
((CONTROL_HOSTS >= 1 && CONTROL_HOSTS <= HOSTS - 2)) || die "CONTROL_HOSTS=\"$CONTROL_HOSTS\": 1 to $((HOSTS - 2)), as two hosts are for workers"
export FLEET SUBNET
TEMPLATES=$REPO/templates/quickstart DOCTOR='' READY_SECONDS=600
SCALED='a worker is drained, its host freed'
mapfile -t names < <(printf '%s\n' host-{a..s} | head -n "$HOSTS")

machines() {
  [[ $PREVIOUS != 1 ]] || export GOLDEN_PREVIOUS=1
  hosts_up "${names[@]}"
}
blanks() { hosts_blanks "${names[@]}"; }
secret() { hosts_secret; }
machines_down() { fleet down; }

# Hosts beyond the third: first those for control planes, then those for workers; and what docs/day-2.md has beside them.
more_manifests() {
  local i role printed MIRROR=''
  for ((i = 3; i < HOSTS; i++)); do
    role=worker
    ((i - 2 >= CONTROL_HOSTS)) || role=control-plane
    printf -- '---\napiVersion: tatara.dev/v1alpha1\nkind: Host\nmetadata: {name: %s, namespace: default, labels: {role: %s}}\nspec:\n  ssh: {address: %s, user: root, credentialsRef: {name: hosts-ssh}, hostKeys: [%s]}\n' \
      "${names[i]}" "$role" "$SUBNET.$((11 + i))" "$(host_keys "${names[i]}")"
  done >>"$RUN/manifests/10-hosts.yaml"
  ((HOSTS == 3)) || cat >>"$RUN/manifests/30-machines.yaml" <<'CLASS'
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineClass
metadata: {name: control-plane, namespace: default}
providerSpec:
  value:
    apiVersion: tatara.dev/v1alpha1
    kind: SSHMachineProviderSpec
    hostSelector: {matchLabels: {role: control-plane}}
CLASS
  [[ $PREVIOUS == 1 ]] || return 0
  printed=$(PREVIOUS=1 "$HACK/mirror" up)
  eval "$printed"
  sed -i "s|^\( *\)hostSelector: .*|&\n\1node: {software: {source: mirror, mirror: \"$MIRROR\"}}|" "$RUN/manifests/30-machines.yaml"
}
