# What hack/quickstart has of its own for machines that are hosts reached over SSH: three of hack/fleet.
# shellcheck shell=bash disable=SC2034,SC2153

FLEET=${FLEET:-ttr} SUBNET=${SUBNET:-10.77.0}
export FLEET SUBNET
TEMPLATES=$REPO/templates/quickstart DOCTOR='' READY_SECONDS=600
SCALED='a worker is drained, its host freed'

machines() {
  part "the hosts' file system and images"; "$HACK/rootfs" full >/dev/null; "$HACK/golden" >/dev/null
  part "three hosts"; hosts
}

hosts() {
  local i=11 host
  for host in host-a host-b host-c; do
    [[ $("$HACK/fleet" list | awk -v h=$host '$1 == h {print $3}') == on ]] || "$HACK/fleet" start "$host" "$SUBNET.$i"
    i=$((i + 1))
  done
  "$HACK/fleet" uplink
  for host in host-a host-b host-c; do "$HACK/fleet" wait "$host"; done
}

keys() { "$HACK/fleet" hostkey "$1" | cut -d' ' -f1,2 | sed 's/.*/"&"/' | paste -sd, -; }

blanks() {
  local driver=cgroupfs ignore=', ignorePreflightErrors: [SystemVerification]' v1=$'\n        failCgroupV1: false'
  [[ $(stat -fc %T /sys/fs/cgroup) != cgroup2fs ]] || { driver=systemd ignore='' v1=''; }
  blank=(ADDRESS_A "$SUBNET.11" ADDRESS_B "$SUBNET.12" ADDRESS_C "$SUBNET.13" KEYS_A "$(keys host-a)" KEYS_B "$(keys host-b)"
    KEYS_C "$(keys host-c)" VIP "$SUBNET.100" CGROUP_DRIVER "$driver" CGROUP_V1 "$v1" IGNORE "$ignore")
}

secret() {
  eval "$("$HACK/fleet" env)"
  # shellcheck disable=SC2153   # KEY comes from hack/fleet env
  admin create secret generic hosts-ssh --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey="$KEY" \
    --dry-run=client -o yaml | admin apply --server-side -f - >/dev/null
}

machines_down() { "$HACK/fleet" down; }
