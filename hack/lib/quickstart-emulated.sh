# PROVIDER=libvirt where processors are emulated in software, for want of KVM. Virtual machines that are workers join, in
# minutes. A control plane does not come up in one on a small machine: its API server misses its own deadlines, and starts
# again for ever. So the control plane is a host of hack/fleet, and the workers are virtual machines.
# shellcheck shell=bash disable=SC2034
. "$HACK/lib/quickstart-hosts.sh"

((${SUBNET##*.} % 2 == 0)) || die "SUBNET=\"$SUBNET\": without KVM its third number has to be even, for the host gets the next"
# the network after that of the virtual machines, which see both as theirs: pods' routes want neighbours
FLEET=${FLEET:-ttr} FLEET_SUBNET=${SUBNET%.*}.$((${SUBNET##*.} + 1)) NETMASK=255.255.254.0
export NETMASK
READY_SECONDS=3600 HELLO_SECONDS=1200
export HELLO_SECONDS
TEMPLATES=$RUN/templates
TIMEOUTS='
          timeouts: {kubeletHealthCheck: 10m, kubernetesAPICall: 5m, tlsBootstrap: 20m, discovery: 10m}'

machines() {
  say "no KVM: the control plane will be a host made of namespaces, workers emulated virtual machines"
  hosts_up host-a
  hypervisor_up
  one_wire
  templates
}

one_wire() {   # between the switch of the fleet and the bridge of the hypervisor
  ip -n "$FLEET-sw" link show p-virt >/dev/null 2>&1 ||
    ip link add p-virt netns "$FLEET-sw" type veth peer name p-fleet netns "virt.$HYPERVISOR"
  ip -n "$FLEET-sw" link set dev p-virt master br0 up
  ip -n "virt.$HYPERVISOR" link set dev p-fleet master virbr0 up
  fleet ssh host-a "ip route replace $SUBNET.0/24 dev eth0"
}

# all nodes of a cluster have one cgroup driver
image() { CGROUP_DRIVER=$(cgroup_driver) "$HACK/image/guest"; }

# The control plane of one quickstart, and the workers of the other.
templates() {
  local hosts=$REPO/templates/quickstart machines=$REPO/templates/quickstart-libvirt
  mkdir -p "$TEMPLATES"
  cp "$hosts/20-cluster.yaml" "$machines/10-hypervisor.yaml" "$TEMPLATES/"
  sed '/^---$/,$d' "$hosts/10-hosts.yaml" >"$TEMPLATES/10-hosts.yaml"
  { sed '/^---$/,$d' "$hosts/30-machines.yaml"; sed -n '/^---$/,$p' "$machines/30-machines.yaml"; } >"$TEMPLATES/30-machines.yaml"
}

blanks() { hosts_blanks host-a; blank=(TIMEOUTS "$TIMEOUTS" DEADLINE 3600 "${blank[@]}"); hypervisor_blanks; }
secret() { hosts_secret; hypervisor_secret; }
machines_down() { "$HACK/libvirt" down "$HYPERVISOR"; fleet down; }
