# The life of a host: a supervisor per host starts its PID 1, and again after a reboot.
# shellcheck shell=bash

running() {   # the supervisor's command line names the host's folder, so that a reused id is nobody's
  local pid
  pid=$(cat "$DIR/$1/supervisor.pid" 2>/dev/null) && [[ -n $pid && $(command_of "$pid") == *"supervise $DIR/$1 "* ]]
}

# PID 1 of a host, as the machine sees it: the only child of its unshare
init_pid() {
  local pid
  pid=$(cat "$DIR/$1/unshare.pid" 2>/dev/null) && pid=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) && pid=${pid%% *} &&
    [[ -n $pid ]] && echo "$pid"
}

start() {
  local name=$1 addr=${2:-} memory=${3:-} dir=$DIR/$1 variant=${VARIANT:-full} rootfs golden='' other
  [[ $name =~ ^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$ ]] || die "\"$name\" is not a host name: a-z, 0-9 and - inside, at most 12"
  [[ -z $memory || $memory =~ ^[0-9]+$ ]] || die "\"$memory\" is not a memory limit in MB"
  [[ -z ${DISK_MB:-} || $DISK_MB =~ ^[0-9]+$ ]] || die "DISK_MB=\"$DISK_MB\" is not a disk size in MB"
  ! running "$name" || die "host \"$name\" is on already"
  if [[ ! -f $dir/addr ]]; then
    if [[ ! $addr =~ ^${SUBNET//./\\.}\.([0-9]{1,3})$ ]] || ((BASH_REMATCH[1] < 2 || BASH_REMATCH[1] > 253)); then
      die "a new host needs an address from $SUBNET.2 to $SUBNET.253, not \"$addr\""
    fi
    for other in $(hosts); do
      [[ $(address_of "$other") != "$addr" ]] || die "host \"$other\" has the address $addr already"
    done
    rootfs=$("$HACK/rootfs" "$variant") || exit 1
    [[ $variant != full || -n ${DISK_MB:-} || -n ${NO_IMAGES:-} ]] || golden=$("$HACK/golden") || exit 1
    locked "fleet-$FLEET" fleet_up
    rm -rf "$dir"       # what a killed first start left
    make_disk "$name" "$addr" "$rootfs" "$golden" "${DISK_MB:-}"
    echo "$rootfs" >"$dir/rootfs"
    sed "s/^/$addr /" "$dir/hostkeys" >>"$KNOWN"
    echo "$addr" >"$dir/addr"      # last: the disk is complete
  fi
  addr=$(address_of "$name")
  [[ -z $memory ]] || echo "$memory" >"$dir/memory"
  clear_away "$name"
  locked "fleet-$FLEET" power_on "$name" "$addr"
}

power_on() {
  local dir=$DIR/$1
  fleet_up
  power_up "$1" "$2"
  detached "$dir/supervisor.log" "$HACK/fleet" supervise "$dir" &
  echo $! >"$dir/supervisor.pid"
}

power_up() {
  wire_in "$1" "$2"
  cgroup_make "$1" "$(cat "$DIR/$1/memory" 2>/dev/null || true)"
}

supervise() {   # supervise FOLDER-OF-THE-HOST; one per host, on the machine
  local dir=$1 name=${1##*/} rc
  trap '' HUP INT
  while :; do
    rc=0
    boot "$name" || rc=$?
    echo "$(date +%T) $name: init left with $rc"
    [[ $rc == 129 ]] || break     # 129 = SIGHUP = reboot(2) inside the pid namespace; power off is 130
    clear_away "$name" || true    # a reboot forgets routes, bridges, packet filters and cgroups
    power_up "$name" "$(address_of "$name")"
  done
  rc=0
  clear_away "$name" || rc=$?
  rm -f "$dir/supervisor.pid"
  return "$rc"
}

# Its PID 1 alone goes into the host's cgroup, before that becomes the root of what the host sees: with a process
# of ours beside it there, version 2 would refuse the host's systemd every controller.
boot() (
  trap - HUP INT
  echo "$BASHPID" >"$DIR/$1/unshare.pid"
  # shellcheck disable=SC2016,SC2046 # for the inner shell; a word each
  exec nsenter --net="/run/netns/$FLEET-$1" -- unshare --pid --fork --kill-child=KILL bash -euc '
    for cgroup in "${@:2}"; do echo 0 >"$cgroup/cgroup.procs"; done      # 0: itself
    exec unshare --mount --uts --ipc --cgroup --propagation private "$0" "$1"' "$HACK/host-init" "$DIR/$1" $(cgroup_dirs "$1")
)

# what is left of a host that is off, also when its supervisor was killed
clear_away() {
  local rc=0
  cgroup_kill "$1"
  cgroup_drop "$1" || rc=1
  wire_out "$1"
  rm -f "$DIR/$1/unshare.pid"
  return "$rc"
}

wait_off() { local i; for ((i = 0; i < $2 * 10; i++)); do running "$1" || return 0; sleep 0.1; done; return 1; }

stop_host() {
  local pid
  address_of "$1" >/dev/null
  running "$1" || { clear_away "$1"; return; }
  if pid=$(init_pid "$1"); then kill -s RTMIN+4 "$pid"; fi     # systemd: poweroff.target
  wait_off "$1" 30 || { say "host \"$1\" did not go down in 30 s, cutting its power"; power_cut "$1"; }
}

power_cut() {
  address_of "$1" >/dev/null
  cgroup_kill "$1"       # PID 1 among them; its supervisor then clears away
  wait_off "$1" 20 || die "the supervisor of host \"$1\" does not end; its log is $DIR/$1/supervisor.log"
  clear_away "$1"
}

remove() {
  local addr
  addr=$(cat "$DIR/$1/addr" 2>/dev/null || true)
  [[ -z $addr ]] || power_cut "$1"
  clear_away "$1"
  rm -rf "${DIR:?}/$1"
  [[ -z $addr || ! -f $KNOWN ]] || sed -i "/^${addr//./\\.} /d" "$KNOWN"
}

await() {   # until sshd answers
  local addr limit=$((SECONDS + ${2:-180}))
  addr=$(address_of "$1")
  # shellcheck disable=SC2016
  until in_ns "$SWITCH" timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/22" && read -r -t 1 banner <&3 && [[ $banner == SSH-* ]]' "$addr" 2>/dev/null; do
    ((SECONDS < limit)) || die "host \"$1\" ($addr) does not answer on port 22; its supervisor's log is $DIR/$1/supervisor.log"
    sleep 0.05
  done
}

# one that cannot be removed does not keep the others; what stays is said at the end
down() {
  local name pids=() pid
  [[ $(id -u) == 0 ]] || die "a fleet needs root"
  ! is_anothers "$FLEET" || return 0
  for name in $(for dir in "$DIR"/*/; do [[ ! -d $dir ]] || basename "$dir"; done); do remove "$name" & pids+=($!); done
  for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" || true; done
  for name in $({ cgroup_hosts; wired_hosts; } | sort -u); do clear_away "$name" || true; done   # whose folder is gone
  "$HACK/mirror" down
  net_down
  rm -rf "${DIR:?}" || true
  name=$(left_over)
  [[ -z $name ]] || die "failed to remove fleet \"$FLEET\"; still there: $name"
}

# what a fleet that is down must not leave on the machine
left_over() {
  local found=() dir
  for dir in $(cgroup_hierarchies); do [[ ! -d $dir/tatara-$FLEET ]] || found+=("$dir/tatara-$FLEET"); done
  for dir in "/run/netns/$FLEET"-*; do [[ ! -e $dir ]] || found+=("$dir"); done
  [[ ! -e /sys/class/net/$FLEET-up ]] || found+=("interface $FLEET-up")
  ! nft list table ip "tatara_$FLEET" >/dev/null 2>&1 || found+=("nft table tatara_$FLEET")
  [[ ! -e $DIR ]] || found+=("$DIR")
  echo "${found[*]}"
}
