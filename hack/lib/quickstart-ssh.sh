# What hack/quickstart has of its own for machines that are hosts reached over SSH: three of hack/fleet.
# shellcheck shell=bash disable=SC2034,SC2153
. "$HACK/lib/quickstart-hosts.sh"

FLEET=${FLEET:-ttr} SUBNET=${SUBNET:-10.77.0}
export FLEET SUBNET
TEMPLATES=$REPO/templates/quickstart DOCTOR='' READY_SECONDS=600
SCALED='a worker is drained, its host freed'

machines() { hosts_up host-a host-b host-c; }
blanks() { hosts_blanks host-a host-b host-c; }
secret() { hosts_secret; }
machines_down() { fleet down; }
