# What hack/quickstart has of its own for machines that are virtual: a hypervisor of hack/libvirt with the gateway, and
# the image of hack/image/guest.
# shellcheck shell=bash disable=SC2034
. "$HACK/lib/kvm.sh"

HYPERVISOR=${HYPERVISOR:-ttr} SUBNET=${SUBNET:-10.78.0}
export SUBNET
[[ ${PREVIOUS:-0} == 0 ]] || die "PREVIOUS=\"$PREVIOUS\": hosts alone begin with the Kubernetes version before"
TEMPLATES=$REPO/templates/quickstart-libvirt DOCTOR=libvirt READY_SECONDS=600
SCALED='a worker is drained, its virtual machine ends'

machines() { hypervisor_up; }
blanks() { blank=(VIP "$SUBNET.250" DEADLINE 600); hypervisor_blanks; }
secret() { hypervisor_secret; }
machines_down() { "$HACK/libvirt" down "$HYPERVISOR"; }
image() { "$HACK/image/guest"; }

hypervisor_up() {
  local IMAGE=''
  part "the virtual machines' image"; image >/dev/null
  part "a hypervisor: libvirtd and tatara-gateway"
  "$HACK/libvirt" up "$HYPERVISOR" >/dev/null
  "$HACK/gateway" up "$HYPERVISOR" >/dev/null
  eval "$(image)"
  "$HACK/libvirt" serve "$HYPERVISOR" "$IMAGE" >/dev/null
}

hypervisor_blanks() {   # adds to `blank`
  local IMAGE='' SHA256='' GATEWAY=''
  eval "$(image)"
  eval "$("$HACK/gateway" up "$HYPERVISOR")"
  blank+=(GATEWAY "$GATEWAY" IMAGE "$("$HACK/libvirt" serve "$HYPERVISOR" "$IMAGE")" SHA256 "$SHA256")
}

hypervisor_secret() {
  local CA='' TOKEN_FILE=''
  eval "$("$HACK/gateway" up "$HYPERVISOR")"
  admin create secret generic hypervisor-a-gateway --type=tatara.dev/gateway --from-file=ca.crt="$CA" --from-file=token=<(tr -d '\n' <"$TOKEN_FILE") \
    --dry-run=client -o yaml | admin apply --server-side -f - >/dev/null
}

kvm_works || . "$HACK/lib/quickstart-emulated.sh"
