# Which hypervisor a command is about, and how one gets into it; source after lib.sh and lib/process.sh.
# shellcheck shell=bash disable=SC2034
#   NAME      its name; prefix of its namespace and its interface
#   SUBNET    its network, three numbers of a /24 (default 10.78.0); .1 is the hypervisor, .254 the machine

choose_hypervisor() {   # choose_hypervisor NAME: sets NAME, DIR, NS, LINK (the machine's end), SUBNET, URI
  local saved_subnet=''
  NAME=$1
  [[ $NAME =~ ^[a-z][a-z0-9]{0,7}$ ]] || die "\"$NAME\" is not a hypervisor's name: a-z and 0-9, a letter first, at most 8"
  DIR=$STATE/virt.$NAME NS=virt.$NAME LINK=$NAME-virt     # no fleet has a dot in its name
  [[ ! -f $DIR/subnet ]] || saved_subnet=$(cat "$DIR/subnet")
  SUBNET=${SUBNET:-${saved_subnet:-10.78.0}}
  [[ $SUBNET =~ ^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$ ]] || die "SUBNET=\"$SUBNET\" is not the first three numbers of a /24, such as 10.78.0"
  [[ -z $saved_subnet || $saved_subnet == "$SUBNET" ]] ||
    die "hypervisor \"$NAME\" has the subnet $saved_subnet; leave SUBNET out, or take it down first"
  URI="qemu+unix:///system?socket=$DIR/sock/libvirt-sock"
  ((${#DIR} <= 85)) || die "$DIR is too long for the path of a socket; set TATARA_STATE to a shorter one"
}

# The process that holds the hypervisor's view of the machine. Its command line names the folder, so that a reused
# id is nobody's.
holder() {
  local pid
  pid=$(cat "$DIR/run/hypervisor.pid" 2>/dev/null) && [[ -n $pid && $(command_of "$pid") == "$DIR/hypervisor "* ]] && echo "$pid"
}

inside() {   # inside COMMAND...: with the hypervisor's network, files and name
  local pid
  pid=$(holder) || die "hypervisor \"$NAME\" is not up: hack/libvirt up $NAME"
  nsenter --target "$pid" --net --mount --uts -- "$@"
}

# start_inside NAME COMMAND...: a process that stays; in the folder of the hypervisor, which COMMAND must name
start_inside() {
  local pid
  pid=$(holder) || die "hypervisor \"$NAME\" is not up: hack/libvirt up $NAME"
  daemon "$1" nsenter --target "$pid" --net --mount --uts -- "${@:2}"
}

virsh_() { virsh -q -c "$URI" "$@"; }
