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

machines() { hosts_up "${names[@]}"; }
blanks() { hosts_blanks "${names[@]}"; }
secret() { hosts_secret; }
machines_down() { fleet down; }

# Hosts beyond the third: first those for control planes, then those for workers.
more_manifests() {
  local i role
  for ((i = 3; i < HOSTS; i++)); do
    role=worker
    ((i - 2 >= CONTROL_HOSTS)) || role=control-plane
    printf -- '---\napiVersion: tatara.dev/v1alpha1\nkind: Host\nmetadata: {name: %s, namespace: default, labels: {role: %s}}\nspec:\n  ssh: {address: %s, user: root, credentialsRef: {name: hosts-ssh}, hostKeys: [%s]}\n' \
      "${names[i]}" "$role" "$SUBNET.$((11 + i))" "$(host_keys "${names[i]}")"
  done >>"$RUN/manifests/10-hosts.yaml"
}
