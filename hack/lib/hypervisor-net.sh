# The network of a hypervisor: a namespace of its own, and the machine's address in its routed network.
# shellcheck shell=bash disable=SC2153
# Uses NAME, NS, DIR, SUBNET of lib/hypervisor.sh.
. "$HACK/lib/machine.sh"

ns_up() {
  modprobe -qa bridge veth tun overlay nf_conntrack 2>/dev/null || true
  [[ -e /run/netns/$NS ]] || ip netns add "$NS"
  ip -n "$NS" link set lo up
  # frames between ports of a bridge are not for its packet filter
  # shellcheck disable=SC2016
  nsenter --net="/run/netns/$NS" -- sh -c 'cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 0 >ipv4/conf/all/send_redirects
    echo 0 >ipv4/conf/default/send_redirects; for f in bridge/bridge-nf-call-*; do [ ! -e $f ] || echo 0 >$f; done'
}

routed_network() {
  cat <<X
<network><name>default</name><forward mode='route'/><bridge name='virbr0' stp='off' delay='0'/>
  <ip address='$SUBNET.1' netmask='${NETMASK:-255.255.255.0}'><dhcp><range start='$SUBNET.10' end='$SUBNET.199'/></dhcp></ip></network>
X
}

# the same addresses in every hypervisor: they are known inside alone
isolated_network() {
  cat <<X
<network><name>isolated</name><bridge name='virbr1' stp='off' delay='0'/>
  <ip address='192.168.123.1' netmask='255.255.255.0'><dhcp><range start='192.168.123.10' end='192.168.123.199'/></dhcp></ip></network>
X
}

# The machine is a neighbour on the routed network, and machines there have a way out where this one has
uplink_up() {
  ip -n "$NS" link show uplink >/dev/null 2>&1 || ip link add "$LINK" type veth peer name uplink netns "$NS"
  ip -n "$NS" link set dev uplink master virbr0 up
  ip addr replace "$SUBNET.254/24" dev "$LINK"
  ip link set "$LINK" up
  is_on
  way_out "$NS" "$SUBNET" "tatara_virt_$NAME" "virtual machines of \"$NAME\""
}

# Its addresses while it is off lead nowhere, as on a wire with nobody on it. Else the machine's own way out would be
# taken, where a proxy may answer for any address. (The route of the link itself comes first, while there is one.)
is_off() { ip route replace unreachable "$SUBNET.0/24" metric 4096; }
is_on() { ip route del unreachable "$SUBNET.0/24" metric 4096 2>/dev/null || true; }

net_down() {
  nft delete table ip "tatara_virt_$NAME" 2>/dev/null || true
  ip link del "$LINK" 2>/dev/null || true
  ip netns del "$NS" 2>/dev/null || true
}

# Whatever runs in the hypervisor has its network: libvirtd, dnsmasq, every virtual machine, a gateway. Needs no pid
# file. A listed id may be a stranger's by now: its network is looked at just before it is killed.
end_processes() {
  local pid pids='' limit=$((SECONDS + 60))
  [[ -e /run/netns/$NS ]] || return 0
  while ((SECONDS < limit)); do
    pids=$(ip netns pids "$NS" | tr '\n' ' ')
    [[ -n ${pids// /} ]] || return 0
    for pid in $pids; do
      [[ ! /proc/$pid/ns/net -ef /run/netns/$NS ]] || kill -KILL "$pid" 2>/dev/null || true
    done
    sleep 0.05
  done
  die "processes of hypervisor \"$NAME\" do not end: $pids"
}

# what a hypervisor that is down must not leave on the machine
left_over() {
  local found=() pid
  [[ ! -e /run/netns/$NS ]] || found+=("/run/netns/$NS")
  [[ ! -e /sys/class/net/$LINK ]] || found+=("interface $LINK")
  [[ -z $(ip route show type unreachable exact "$SUBNET.0/24") ]] || found+=("route to $SUBNET.0/24")
  ! nft list table ip "tatara_virt_$NAME" >/dev/null 2>&1 || found+=("nft table tatara_virt_$NAME")
  [[ ! -e $DIR ]] || found+=("$DIR")
  while read -r pid; do found+=("process $pid: $(command_of "$pid")"); done < <(grep -lF -- " $DIR" /proc/[0-9]*/mountinfo 2>/dev/null | cut -d/ -f3)
  echo "${found[*]}"
}
