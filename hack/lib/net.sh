# The wire of a fleet: a bridge in a network namespace of its own, one cable per host, and a way out.
# shellcheck shell=bash disable=SC2153
# Uses FLEET, SUBNET, DIR of lib/fleet.sh.

SWITCH=$FLEET-sw

ns_exists() { [[ -e /run/netns/$1 ]]; }
in_ns() { local ns=$1; shift; nsenter --net="/run/netns/$ns" -- "$@"; }   # unlike "ip netns exec", leaves /sys alone

net_up() {
  take_over "$FLEET" "$HACK/fleet" down
  machine_locked register "$FLEET" "$SUBNET" "$STATE"
  # a control plane holds about 28 inotify instances, a worker 16, all counted against the machine's root
  machine_locked at_least fs.inotify.max_user_instances 1024
  if ! ns_exists "$SWITCH"; then
    modprobe -qa overlay bridge veth br_netfilter nf_conntrack 2>/dev/null || true
    ip netns add "$SWITCH"
  fi
  if [[ $(ip -n "$SWITCH" addr show dev br0 2>/dev/null) != *" $SUBNET.1/"* ]]; then   # also after a kill half way
    ip -n "$SWITCH" link set lo up
    ip -n "$SWITCH" link show br0 >/dev/null 2>&1 || ip -n "$SWITCH" link add br0 type bridge forward_delay 0
    ip -n "$SWITCH" link set br0 up
    # hosts have the switch as their gateway; frames between ports are not for its packet filter
    # shellcheck disable=SC2016
    in_ns "$SWITCH" sh -c 'cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 0 >ipv4/conf/all/send_redirects
      echo 0 >ipv4/conf/br0/send_redirects; for f in bridge/bridge-nf-call-*; do [ ! -e $f ] || echo 0 >$f; done'
    ip -n "$SWITCH" addr add "$SUBNET.1/24" dev br0
  fi
}

# The machine gets an address on the wire, and the hosts a way out where the machine has one
uplink() {
  net_up
  if ! ip -n "$SWITCH" link show p-uplink >/dev/null 2>&1; then
    ip link add "$FLEET-up" type veth peer name p-uplink netns "$SWITCH"
  fi
  ip -n "$SWITCH" link set dev p-uplink master br0 up
  ip addr replace "$SUBNET.254/24" dev "$FLEET-up"
  ip link set "$FLEET-up" up
  way_out "$SWITCH" "$SUBNET" "tatara_$FLEET" "the hosts of \"$FLEET\""
}

net_down() {
  nft delete table ip "tatara_$FLEET" 2>/dev/null || true
  ip link del "$FLEET-up" 2>/dev/null || true
  ip netns del "$SWITCH" 2>/dev/null || true
  machine_locked unregister "$FLEET"
}

wired_hosts() {   # hosts of this fleet that have a network namespace
  local path
  for path in "/run/netns/$FLEET"-*; do
    [[ ! -e $path || $path == "/run/netns/$SWITCH" ]] || echo "${path#"/run/netns/$FLEET-"}"
  done
}

# name servers that a host can reach over its way out; without one, an address that refuses at once
name_servers() {
  local file=/etc/resolv.conf found
  [[ ! -f /run/systemd/resolve/resolv.conf ]] || file=/run/systemd/resolve/resolv.conf
  found=$(awk '$1 == "nameserver" && $2 ~ /\./ && $2 !~ /^127\./ {print "nameserver", $2}' "$file" 2>/dev/null | head -n 3)
  if [[ -n $found ]] && ip link show "$FLEET-up" >/dev/null 2>&1; then echo "$found"; else echo "nameserver $SUBNET.1"; fi
  echo 'options timeout:1 attempts:2'
}

# --- the cable of one host; gone with its namespace ---

wire_in() {   # wire_in NAME ADDR
  local ns=$FLEET-$1 mac
  if ns_exists "$ns" && [[ -n $(ip -n "$ns" route show default 2>/dev/null) ]]; then return 0; fi
  wire_out "$1"
  ip netns add "$ns"
  ip -n "$ns" link set lo up
  # the MAC follows the address, so that a host keeps it over power cycles (no stale ARP)
  # shellcheck disable=SC2086
  mac=$(printf '02:54:%02x:%02x:%02x:%02x' ${2//./ })
  ip -n "$SWITCH" link add "p-$1" type veth peer name eth0 address "$mac" netns "$ns"
  ip -n "$SWITCH" link set "p-$1" master br0 up
  ip -n "$ns" addr add "$2/24" dev eth0
  ip -n "$ns" link set eth0 up
  ip -n "$ns" route add default via "$SUBNET.1"
}

wire_out() {   # the cable first: a namespace is taken apart in the background, and the port's name must be free at once
  ip -n "$SWITCH" link del "p-$1" 2>/dev/null || true
  ip netns del "$FLEET-$1" 2>/dev/null || true
}

cable() { ip -n "$SWITCH" link set "p-$1" "$2"; }   # cable NAME up|down

# netem NAME off | [rate 1mbit] [loss 5%] [delay 100ms]: the wire of one host, both directions
netem() {
  local name=$1
  shift
  in_ns "$SWITCH" nft delete table netdev "wire_$name" 2>/dev/null || true
  both_ends "$name" del root 2>/dev/null || true
  [[ ${1:-} != off ]] || return 0
  while (($#)); do
    case $1 in
      rate) both_ends "$name" replace root tbf rate "${2:-}" burst 32k latency 100ms 2>/dev/null ||
        die "\"${2:-}\" is not a rate such as 1mbit" ;;
      delay) both_ends "$name" replace root netem delay "${2:-}" 2>/dev/null ||
        die "\"${2:-}\" is not a delay such as 100ms, or this kernel has no netem (modprobe sch_netem); rate and loss work without" ;;
      loss)
        [[ ${2:-} =~ ^[0-9]{1,2}%?$ ]] || die "\"${2:-}\" is not a loss such as 5%"
        in_ns "$SWITCH" nft -f - <<N
table netdev wire_$name {
  chain in { type filter hook ingress device "p-$name" priority 0; numgen random mod 100 < ${2%\%} drop; }
  chain out { type filter hook egress device "p-$name" priority 0; numgen random mod 100 < ${2%\%} drop; }
}
N
        ;;
      *) die "netem knows rate, loss and delay, not \"$1\"" ;;
    esac
    shift 2
  done
}

both_ends() {   # both_ends NAME ACTION QDISC...
  local name=$1 action=$2
  shift 2
  tc -n "$SWITCH" qdisc "$action" dev "p-$name" "$@" && tc -n "$FLEET-$name" qdisc "$action" dev eth0 "$@"
}
