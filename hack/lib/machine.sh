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

# The note of a fleet: "SUBNET OWNER STATE". OWNER: the process that it lives for, as PID:STARTED, or "-".

# register FLEET SUBNET STATE: a name and a subnet belong to one fleet, and that to the process TATARA_OWNER where it is set
register() {
  local other name subnet state owner=-
  for other in "$MACHINE"/fleets/*; do
    [[ -f $other ]] || continue
    name=${other##*/}
    read -r subnet _ state <"$other"
    if [[ $name == "$1" ]]; then
      # a run that was killed leaves its hosts behind, and its folder may be gone: whoever comes next has them
      [[ $state == "$3" || ! -d $state ]] || die "fleet \"$1\" is up already with its state in $state; set another FLEET, or take it down there"
    else
      [[ $subnet != "$2" ]] || die "fleet \"$name\" has the subnet $2 already; set another SUBNET for fleet \"$1\""
    fi
  done
  if [[ -n ${TATARA_OWNER:-} ]]; then
    owner=$TATARA_OWNER:$(started "$TATARA_OWNER")
    [[ $owner != *: ]] || die "process $TATARA_OWNER, which fleet \"$1\" is for (TATARA_OWNER), has ended"
  fi
  echo "$2 $owner $3" >"$MACHINE/fleets/$1"
}

# started PID: when, in ticks since boot; a pid is used again, this pair is not. Nothing for one that has ended
started() { awk '{sub(/.*\) /, ""); if ($1 != "Z") print $20}' "/proc/$1/stat" 2>/dev/null || true; }

# is_anothers FLEET: it is up with its state elsewhere, so nothing here is to touch it; says so
is_anothers() {
  local state
  [[ -f $MACHINE/fleets/$1 ]] || return 1
  read -r _ _ state <"$MACHINE/fleets/$1"
  # shellcheck disable=SC2153
  [[ $state != "$STATE" && -d $state ]] || return 1
  say "\"$1\" is up with its state in $state, and is left alone; to take it down: TATARA_STATE=$state ${0##*/} ..."
}

# take_over NAME COMMAND...: what a killed run left of this fleet goes first, with what takes it down. Of a fleet without an
# owner only the note goes, once nothing of it is up: its folder is somebody's
take_over() {
  local name=$1 state owner lives made
  [[ -f $MACHINE/fleets/$name ]] || return 0
  read -r _ owner state <"$MACHINE/fleets/$name"
  # shellcheck disable=SC2153
  [[ $state != "$STATE" && -d $state ]] || return 0
  if [[ $owner == - ]]; then
    [[ -e /run/netns/$name ]] || compgen -G "/run/netns/$name-*" >/dev/null || rm "$MACHINE/fleets/$name"
    return 0
  fi
  lives=$(started "${owner%:*}")
  [[ -z $lives || $lives != "${owner#*:}" ]] || return 0
  say "fleet \"$name\" was left by a run that has ended: taking it down in $state"
  made=$(cat "$state/quickstart/environment" 2>/dev/null || true)
  # the subnet of this run is not that of the other one
  if grep -qxE "(FLEET=|HYPERVISOR=)${name#virt.}" <<<"$made"; then env -u SUBNET TATARA_STATE="$state" "$HACK/quickstart-down" >&2; fi
  env -u SUBNET TATARA_STATE="$state" "${@:2}" >&2
}

unregister() {
  local saved state=$STATE
  [[ ! -f $MACHINE/fleets/$1 ]] || read -r _ _ state <"$MACHINE/fleets/$1"
  if [[ $state == "$STATE" || ! -d $state ]]; then rm -f "$MACHINE/fleets/$1"; fi
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
