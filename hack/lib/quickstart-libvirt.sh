# What hack/quickstart has of its own for machines that are virtual: a hypervisor of hack/libvirt with the gateway, and
# the image of hack/image/guest.
# shellcheck shell=bash disable=SC2034
. "$HACK/lib/kvm.sh"

HYPERVISOR=${HYPERVISOR:-ttr} SUBNET=${SUBNET:-10.78.0}
export SUBNET
TEMPLATES=$REPO/templates/quickstart-libvirt DOCTOR=libvirt READY_SECONDS=600
SCALED='a worker is drained, its virtual machine ends'
kvm_works || { READY_SECONDS=3600 HELLO_SECONDS=1200; export HELLO_SECONDS; }

machines() {
  local IMAGE=''
  part "the virtual machines' image"; image >/dev/null
  part "a hypervisor: libvirtd and tatara-gateway"
  "$HACK/libvirt" up "$HYPERVISOR" >/dev/null
  "$HACK/gateway" up "$HYPERVISOR" >/dev/null
  eval "$(image)"
  "$HACK/libvirt" serve "$HYPERVISOR" "$IMAGE" >/dev/null
}

image() { "$HACK/image/guest"; }

# Emulated in software everything takes many times as long, and kubeadm's own patience ends too early: before it waits for
# the control plane, it waits for the API server as for any call (kubernetesAPICall).
blanks() {
  local IMAGE='' SHA256='' GATEWAY='' timeouts=''
  kvm_works || timeouts='
          timeouts: {controlPlaneComponentHealthCheck: 20m, kubeletHealthCheck: 10m, kubernetesAPICall: 20m, tlsBootstrap: 20m, discovery: 10m}'
  eval "$(image)"
  eval "$("$HACK/gateway" up "$HYPERVISOR")"
  blank=(GATEWAY "$GATEWAY" VIP "$SUBNET.250" IMAGE "$("$HACK/libvirt" serve "$HYPERVISOR" "$IMAGE")" SHA256 "$SHA256" TIMEOUTS "$timeouts")
}

secret() {
  local CA='' TOKEN_FILE=''
  eval "$("$HACK/gateway" up "$HYPERVISOR")"
  admin create secret generic hypervisor-a-gateway --type=tatara.dev/gateway --from-file=ca.crt="$CA" --from-file=token=<(tr -d '\n' <"$TOKEN_FILE") \
    --dry-run=client -o yaml | admin apply --server-side -f - >/dev/null
}

machines_down() { "$HACK/libvirt" down "$HYPERVISOR"; }
