# What fleets and hypervisors change on the machine itself: kernel settings, and one packet filter table for each.
# shellcheck shell=bash
# Remembered in /run/tatara (gone with a reboot, like the settings) and put back with the last fleet.

MACHINE=${TATARA_MACHINE:-/run/tatara}

machine_locked() {
  local fd
  mkdir -p "$MACHINE/fleets" "$MACHINE/sysctl"
  exec {fd}>"$MACHINE/lock"
  flock "$fd"
  "$@"
  exec {fd}>&-
}

# register FLEET SUBNET STATE: a name and a subnet belong to one fleet, and that to the process TATARA_OWNER where it is set
register() {
  local other name subnet state
  for other in "$MACHINE"/fleets/*; do
    [[ -f $other ]] || continue
    name=${other##*/}
    read -r subnet state _ <"$other"
    if [[ $name == "$1" ]]; then
      # a run that was killed leaves its hosts behind, and its folder may be gone: whoever comes next has them
      [[ $state == "$3" || ! -d $state ]] || die "fleet \"$1\" is up already with its state in $state; set another FLEET, or take it down there"
    else
      [[ $subnet != "$2" ]] || die "fleet \"$name\" has the subnet $2 already; set another SUBNET for fleet \"$1\""
    fi
  done
  echo "$2 $3 ${TATARA_OWNER:+$TATARA_OWNER:$(started "$TATARA_OWNER")}" >"$MACHINE/fleets/$1"
}

# started PID: when, in ticks since boot; a pid is used again, this pair is not
started() { awk '{sub(/.*\) /, ""); print $20}' "/proc/$1/stat" 2>/dev/null || true; }

# take_over NAME COMMAND...: what a killed run left of this fleet goes first, with what takes it down. Of a fleet without an
# owner only the note goes, once nothing of it is up: its folder is somebody's
take_over() {
  local name=$1 state owner
  [[ -f $MACHINE/fleets/$name ]] || return 0
  read -r _ state owner <"$MACHINE/fleets/$name"
  # shellcheck disable=SC2153
  [[ $state != "$STATE" && -d $state ]] || return 0
  if [[ -z $owner ]]; then
    [[ -e /run/netns/$name ]] || compgen -G "/run/netns/$name-*" >/dev/null || rm "$MACHINE/fleets/$name"
    return 0
  fi
  [[ $(started "${owner%:*}") != "${owner#*:}" ]] || return 0
  say "fleet \"$name\" was left by a run that has ended: taking it down in $state"
  [[ ! -d $state/quickstart ]] || TATARA_STATE=$state "$HACK/quickstart-down" >&2
  TATARA_STATE=$state "${@:2}" >&2
}

unregister() {
  local saved
  rm -f "$MACHINE/fleets/$1"
  [[ -z $(ls "$MACHINE/fleets") ]] || return 0
  for saved in "$MACHINE"/sysctl/*; do
    [[ -f $saved ]] || continue
    cat "$saved" >"/proc/sys/$(basename "$saved" | tr . /)"
    rm "$saved"
  done
}

# way_out NETNS SUBNET TABLE WHOSE: a network gets out through this machine, where that has a way out itself
way_out() {
  [[ -n $(ip route show default) ]] || return 0
  ip -n "$1" route replace default via "$2.254"
  machine_locked at_least net.ipv4.ip_forward 1
  nft -f - 2>/dev/null <<N || say "no nftables NAT on this machine: $4 have no way out"
table ip $3
delete table ip $3
table ip $3 {
  chain out {
    type nat hook postrouting priority srcnat;
    ip saddr $2.0/24 ip daddr != $2.0/24 masquerade
  }
}
N
}

# at_least KEY VALUE: raise a kernel setting, remember what it was
at_least() {
  local file=/proc/sys/${1//.//} now
  now=$(cat "$file")
  ((now < $2)) || return 0
  [[ -f $MACHINE/sysctl/$1 ]] || echo "$now" >"$MACHINE/sysctl/$1"
  echo "$2" >"$file"
}
