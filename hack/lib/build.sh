# Builds one program from its pinned Go module (or, pause, from hack/image/pause.c).
# shellcheck shell=bash disable=SC2154
# Expects the variables of describe() in hack/binaries, $label for messages, and in $rest the names that come after it.

build() {   # build OUTPUT
  local log=$CACHE/log/$name-$version.log
  mkdir -p "$CACHE/log"
  if [[ $name == pause ]]; then
    say "$label: compiling"
    gcc -static -Os -s -DVERSION="\"$version\"" -o "$1" "$HACK/image/pause.c"
    return
  fi
  local dir=$HACK/go/$module
  [[ -f $dir/go.sum ]] || die "no hack/go/$module: \"$name $version\" is neither released where it can be reached nor pinned here"
  grep -qE "[[:space:]]$(module_path) $version( |\$)" "$dir/go.mod" ||
    die "hack/go/$module/go.mod does not pin $(module_path) $version, which hack/versions asks for"
  command -v go >/dev/null || die "go is needed to build $name $version (the official release could not be used): run hack/doctor"
  local began=$SECONDS
  say "$label: building from its Go module$(about)"
  compile "$1" "$dir" >"$log" 2>&1 &
  local compiler=$!
  fetch_next >/dev/null 2>&1 &
  follow "$compiler" || { tail -n 20 "$log" >&2; die "$name $version did not build; the whole log is $log"; }
  echo $((SECONDS - began)) >"$CACHE/log/$name.seconds"
}

# seconds NAME: how long it took here last time, or else on two processors; what is built after others is quicker, because
# they share what they import
seconds() {
  # a killed run may have left an empty file
  grep -xE '[0-9]+' "$CACHE/log/$1.seconds" 2>/dev/null ||
    awk -v name="$1" '$1 == name {print $2; found = 1} END {if (!found) print 60}' "$HACK/go/seconds"
}

about() {   # how long it takes, and everything with what follows
  local own all other
  own=$(seconds "$name") all=$own
  for other in $rest; do all=$((all + $(seconds "${other%@*}"))); done
  printf ', about %s' "$(elapsed "$own")"
  ((all == own)) || printf '; with what follows about %s' "$(elapsed "$all")"
}

module_path() { case $module in kubernetes-*) echo k8s.io/kubernetes ;; cni-plugins) echo github.com/containernetworking/plugins ;; cluster-inventory-api) echo sigs.k8s.io/cluster-inventory-api ;; coredns) echo github.com/coredns/coredns ;; flannel) echo github.com/flannel-io/flannel ;; *) echo "$package" ;; esac; }

compile() {   # compile OUTPUT DIR
  cd "$2" || return
  go_for_linux build -trimpath -gcflags all=-dwarf=false -ldflags "-s -w $ldflags" -o "$1" "$package"   # -w drops DWARF: a fifth less to compile
}

# While one program compiles, the modules of the next one come, where those are others. What is missing then is fetched later.
fetch_next() {
  local next=${rest%% *} own=$module
  exec {lock_fd}>&-     # the next build need not wait for it
  [[ -n $next ]] || return 0
  describe "$next"
  [[ -n $module && $module != "$own" && ! -x $file ]] || return 0
  cd "$HACK/go/$module" && go_for_linux list -deps "$package"
}

go_for_linux() {
  CGO_ENABLED=0 GOOS=linux GOARCH=amd64 GOFLAGS='-mod=readonly -buildvcs=false' GOTOOLCHAIN=local GOWORK=off go "$@"
}

follow() {   # follow PID: wait for it, with a sign of life every half minute
  local t=$SECONDS next=30
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  pid=$1
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    if ((SECONDS - t >= next)); then say "$label: still building, $(elapsed $((SECONDS - t)))"; next=$((next + 30)); fi
  done
  trap - INT TERM
  wait "$pid"
}
