# Which fleet a command is about; source after lib.sh.
# shellcheck shell=bash disable=SC2034
#   FLEET    its name (default ttr); prefix of its namespaces, cgroups and interfaces
#   SUBNET   its wire, three numbers of a /24 (default 10.77.0); .1 is the switch, .254 the machine

FLEET=${FLEET:-ttr}
[[ $FLEET =~ ^[a-z][a-z0-9]{0,7}$ ]] || die "FLEET=\"$FLEET\" is not a fleet name: a-z and 0-9, a letter first, at most 8"
DIR=$STATE/$FLEET     # one folder per host, the fleet's key and its known_hosts
[[ ! -f $DIR/subnet ]] || saved_subnet=$(cat "$DIR/subnet")
SUBNET=${SUBNET:-${saved_subnet:-10.77.0}}
[[ $SUBNET =~ ^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$ ]] || die "SUBNET=\"$SUBNET\" is not the first three numbers of a /24, such as 10.77.0"
[[ -z ${saved_subnet:-} || $saved_subnet == "$SUBNET" ]] ||
  die "fleet \"$FLEET\" has the subnet $saved_subnet; leave SUBNET out, or take the fleet down first"

KEY=$DIR/id_ed25519
KNOWN=$DIR/known_hosts      # host keys are made with the disk, so they are known before the first boot
SSH_OPTIONS=(-i "$KEY" -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile="$KNOWN" -o LogLevel=ERROR
  -o ConnectTimeout=5 -o ControlPath=none)

fleet_up() {
  [[ $(id -u) == 0 ]] || die "a fleet needs root: its hosts are made of namespaces"
  net_up       # first: it refuses a name or a subnet that is taken
  mkdir -p "$DIR"
  echo "$SUBNET" >"$DIR/subnet"
  [[ -f $KEY ]] || ssh-keygen -q -t ed25519 -N '' -C "fleet $FLEET" -f "$KEY"
}

address_of() { cat "$DIR/$1/addr" 2>/dev/null || die "fleet \"$FLEET\" has no host \"$1\"; it has: $(hosts | paste -sd' ')"; }
hosts() { local dir; for dir in "$DIR"/*/; do [[ ! -f $dir/addr ]] || basename "$dir"; done; }
