# A cgroup subtree per host. PID 1 is put into it before it gets a cgroup namespace, so a host sees its
# subtree as the root of every hierarchy.
# Version 1 (and hybrid): one subtree in each hierarchy. Version 2: one subtree with all controllers.
# shellcheck shell=bash disable=SC2153

CGROUPS=/sys/fs/cgroup

cgroup_version() { if [[ $(stat -fc %T "$CGROUPS") == cgroup2fs ]]; then echo 2; else echo 1; fi; }

cgroup_hierarchies() {   # where the hierarchies are mounted
  local h
  if [[ $(cgroup_version) == 2 ]]; then echo "$CGROUPS"; return; fi
  for h in "$CGROUPS"/*; do
    if [[ -d $h && ! -L $h ]]; then echo "$h"; fi   # links are second names (cpu -> cpu,cpuacct)
  done
}

cgroup_dirs() { cgroup_hierarchies | sed "s|\$|/tatara-$FLEET/$1|"; }   # of host NAME

cgroup_make() {   # cgroup_make NAME [MEMORY_MB]
  local dir parent
  for dir in $(cgroup_dirs "$1"); do
    mkdir -p "$dir"
    parent=${dir%/*}
    if [[ $(cgroup_version) == 2 ]]; then
      delegate "${parent%/*}"
      delegate "$parent"
      [[ -z ${2:-} ]] || echo "$(($2 * 1024 * 1024))" >"$dir/memory.max"
    elif [[ -f $dir/cpuset.cpus ]]; then
      for parent in "$parent" "$dir"; do
        cat "${parent%/*}/cpuset.cpus" >"$parent/cpuset.cpus"
        cat "${parent%/*}/cpuset.mems" >"$parent/cpuset.mems"
      done
    elif [[ -n ${2:-} && -f $dir/memory.limit_in_bytes ]]; then
      echo "$(($2 * 1024 * 1024))" >"$dir/memory.limit_in_bytes"
    fi
  done
}

delegate() {   # version 2: children of this cgroup get every controller that it has
  local controllers
  controllers=$(sed -E 's/(^| )([a-z])/\1+\2/g' "$1/cgroup.controllers")
  echo "$controllers" >"$1/cgroup.subtree_control" 2>/dev/null ||
    die "cannot hand cgroup controllers down in $1 (it holds processes itself, as in some containers); run on the machine itself"
}

# Ends every process of a host, found by its cgroup: needs no pid file. Its PID 1 is killed, and the kernel takes all that
# it began with it, in one go: no parent writes down that its child was killed, which no power cut leaves behind. The
# others are only waited for: by the time a list of them is killed some have ended, and their ids may be a stranger's.
cgroup_kill() {
  local dir pids init limit=$((SECONDS + 60))     # on a busy machine a killed process takes its time to end
  while ((SECONDS < limit)); do
    pids=''
    for dir in $(cgroup_dirs "$1"); do
      [[ ! -d $dir ]] || pids+=" $(find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | tr '\n' ' ' || true)"   # a cgroup may go meanwhile
    done
    [[ -n ${pids// /} ]] || return 0
    # shellcheck disable=SC2086
    for init in $(printf '/proc/%s/status\n' $pids | xargs grep -ls $'^NSpid:\t[0-9]*\t1$' | sort -u | cut -d/ -f3 || true); do
      ! grep -qsE "/tatara-$FLEET/$1(/|\$)" "/proc/$init/cgroup" || kill -KILL "$init" 2>/dev/null || true
    done
    sleep 0.05
  done
  die "processes of host \"$1\" do not end: $pids"
}

cgroup_drop() {   # leaves first; a cgroup that is still busy is tried again, for half a minute
  local dir left limit=$((SECONDS + 30))
  while :; do
    left=''
    for dir in $(cgroup_dirs "$1"); do
      [[ ! -d $dir ]] || find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
    done
    if [[ -z $left ]] || ((SECONDS >= limit)); then break; fi
    sleep 0.05
  done
  for dir in $(cgroup_hierarchies); do rmdir "$dir/tatara-$FLEET" 2>/dev/null || true; done
  [[ -z $left ]] || { say "cgroups of host \"$1\" are still busy"; return 1; }
}

# hosts of this fleet that have a cgroup, also when their folder is gone
cgroup_hosts() {
  local dir
  for dir in $(cgroup_hierarchies); do find "$dir/tatara-$FLEET" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null; done | sort -u
}

cgroup_memory() {   # what a host uses, for people
  local dir
  for dir in $(cgroup_dirs "$1"); do
    [[ -r $dir/memory.stat ]] || continue
    awk '$1 == "total_rss" || $1 == "anon" {printf "%dM", $2 / 1048576; exit}' "$dir/memory.stat"
  done
}
