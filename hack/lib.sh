# What every script in hack/ shares: places, messages, locks. Source it.
# shellcheck shell=bash
#
#   TATARA_CACHE   what is built once and kept (default ${XDG_CACHE_HOME:-~/.cache}/tatara)
#   TATARA_STATE   what runs now: fleets and their disks (default $TATARA_CACHE/state)
#   CARGO_TARGET_DIR  what cargo builds, of one checkout at a time: hack/cargo (default $TATARA_CACHE/target)
#   TATARA_OWNER   process that a fleet lives for: once it has ended, the next of that name takes the fleet down first

HACK=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=${HACK%/*}
CACHE=${TATARA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tatara}
STATE=${TATARA_STATE:-$CACHE/state}
PATH=$PATH:$CACHE/go/bin:${CARGO_HOME:-$HOME/.cargo}/bin     # where hack/doctor installs Go and Rust
export HACK REPO CACHE STATE PATH CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
# shellcheck source=hack/versions
. "$HACK/versions"

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# usage: the header comment of the calling script is its help
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# elapsed SECONDS -> "41 s" or "2 min 05 s"
elapsed() { if (($1 < 60)); then echo "$1 s"; else printf '%d min %02d s\n' $(($1 / 60)) $(($1 % 60)); fi; }

# verdict WHAT VALUE LIMIT [UNIT]: one line that says whether VALUE is within LIMIT
verdict() {
  awk -v what="$1" -v value="$2" -v limit="$3" -v unit="${4:+ $4}" \
    'BEGIN {printf "%s: %s%s, limit %s%s: %s\n", what, value, unit, limit, unit, value + 0 <= limit + 0 ? "within" : "NOT within"}'
}

# command_of PID: its command line; nothing when it has ended. A process that becomes another program (setsid, nsenter, then
# ours) has none for a moment either, but it has a program.
command_of() {
  local line
  for _ in {1..200}; do
    line=$(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline") || true
    if [[ -n $line ]] || ! readlink -q "/proc/$1/exe" >/dev/null; then break; fi
    sleep 0.01
  done
  echo "$line"
}

# kubeadm's default is systemd; on cgroup version 1 a host shares the machine's hierarchies without it
cgroup_driver() { if [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]]; then echo systemd; else echo cgroupfs; fi; }

# detached LOG COMMAND... &: a process that outlives this script. Nothing of the caller stays open in it: a held
# pipe or lock would make others wait.
detached() {
  local log=$1 fd
  shift
  for fd in "/proc/$BASHPID/fd"/*; do
    fd=${fd##*/}
    ((fd <= 2)) || eval "exec $fd>&-"
  done
  exec setsid "$@" </dev/null >>"$log" 2>&1
}

# locked NAME COMMAND...: one at a time among all runs that share the cache. What COMMAND starts keeps
# the lock until it ends, so a run after a kill waits for the orphan instead of working beside it.
locked() {
  local lock_file=$CACHE/lock/$1 lock_fd
  shift
  mkdir -p "$CACHE/lock"
  exec {lock_fd}>"$lock_file"
  if ! flock -w 3 "$lock_fd"; then
    say "waiting for another run that holds $lock_file"
    flock "$lock_fd"
  fi
  "$@"     # plainly: after "||" a failure inside it would go unseen
  exec {lock_fd}>&-
}
