# Processes that outlive the script which starts them: a pid file each, in run/ of the current folder.
# shellcheck shell=bash

# alive NAME: its process runs. The command line must name this folder, so that a reused id is nobody's.
alive() {
  local pid
  pid=$(cat "run/$1.pid" 2>/dev/null) && [[ -n $pid && $(command_of "$pid") == *"$PWD/"* ]]
}

daemon() {   # daemon NAME COMMAND...
  detached "log/$1.log" "${@:2}" &
  echo $! >"run/$1.pid"
  # until it has become COMMAND it has our command line, and nobody would know it
  while [[ $(command_of $!) == "$(command_of $$)" ]]; do sleep 0.01; done
}

# stop NAME SECONDS: asked first, forced after so long (0: at once)
stop() {
  local pid limit
  if alive "$1"; then
    pid=$(cat "run/$1.pid")
    limit=$((${EPOCHREALTIME/./} + $2 * 1000000))
    kill -CONT "$pid" 2>/dev/null || true
    kill -TERM "$pid" 2>/dev/null || true
    while [[ $(command_of "$pid") == *"$PWD/"* ]]; do      # a zombie has no command line
      ((${EPOCHREALTIME/./} < limit)) || kill -KILL "$pid" 2>/dev/null || true
      sleep 0.05
    done
  fi
  rm -f "run/$1.pid"
}

# until_true SECONDS NAME COMMAND...: waits while NAME lives; when it does not come, shows why
until_true() {
  local limit=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! alive "$name" || ((SECONDS >= limit)); then
      tail -n 5 "log/$name.log" >&2
      if alive "$name"; then die "$name is not ready in time; its log is $PWD/log/$name.log"; fi
      die "$name ended; its log is $PWD/log/$name.log"
    fi
    sleep 0.1
  done
}

port_taken() { [[ -n $(ss -Htln "sport = :$1") ]]; }

# free_port [BESIDE...]: below the range that the kernel gives to outgoing connections
free_port() {
  local port
  for _ in {1..200}; do
    port=$((20000 + RANDOM % 12000))
    if [[ " $* " != *" $port "* ]] && ! port_taken "$port"; then echo "$port"; return; fi
  done
  die "no free port from 20000 to 31999"
}
