# Hosts of hack/fleet in a quickstart: their start, what they need in the manifests, and the Secret with their key.
# shellcheck shell=bash disable=SC2034,SC2153
# Uses FLEET, and FLEET_SUBNET or else SUBNET.

fleet() { FLEET=$FLEET SUBNET=${FLEET_SUBNET:-$SUBNET} "$HACK/fleet" "$@"; }

hosts_up() {   # hosts_up HOST...: with the addresses .11, .12 and so on
  local i=11 host
  part "the hosts' file system and images"; "$HACK/rootfs" full >/dev/null; "$HACK/golden" >/dev/null
  part "hosts: $*"
  for host in "$@"; do
    [[ $(fleet list | awk -v h="$host" '$1 == h {print $3}') == on ]] || fleet start "$host" "${FLEET_SUBNET:-$SUBNET}.$i"
    i=$((i + 1))
  done
  fleet uplink
  for host in "$@"; do fleet wait "$host"; done
}

host_keys() { fleet hostkey "$1" | cut -d' ' -f1,2 | sed 's/.*/"&"/' | paste -sd, -; }

hosts_blanks() {   # hosts_blanks HOST...: sets `blank` (ADDRESS_A, KEYS_A and so on)
  local i=11 host letter ignore=', ignorePreflightErrors: [SystemVerification]' v1=$'\n        failCgroupV1: false'
  [[ $(cgroup_driver) == cgroupfs ]] || ignore='' v1=''
  blank=(CGROUP_DRIVER "$(cgroup_driver)" CGROUP_V1 "$v1" IGNORE "$ignore" VIP "${FLEET_SUBNET:-$SUBNET}.100" TIMEOUTS '')
  for host in "$@"; do
    letter=${host#host-}
    blank+=("ADDRESS_${letter^^}" "${FLEET_SUBNET:-$SUBNET}.$i"
      "KEYS_${letter^^}" "$(host_keys "$host")")
    i=$((i + 1))
  done
}

hosts_secret() {
  local key
  key=$(eval "$(fleet env)"; echo "$KEY")     # the other values are not ours to take
  admin create secret generic hosts-ssh --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey="$key" \
    --dry-run=client -o yaml | admin apply --server-side -f - >/dev/null
}
