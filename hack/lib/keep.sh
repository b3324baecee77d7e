# The cache by content: a key names everything that goes into a product; old products are forgotten.
# shellcheck shell=bash

# content_of FILE: its sha256, kept beside it
content_of() {
  [[ $1.sha256 -nt $1 ]] || { sha256sum "$1" | cut -d' ' -f1 >"$1.sha256.$$" && mv "$1.sha256.$$" "$1.sha256"; }
  cat "$1.sha256"
}

# cached NAME[@VERSION]: the program in the cache (never the machine's own: images and hosts are reproducible)
cached() {
  local name=${1%@*} version=''
  [[ $1 != *@* ]] || version=${1#*@}
  case $name in
    kube*) echo "$CACHE/k8s/${version:-$KUBERNETES}/$name" ;;
    etcd | etcdctl) echo "$CACHE/bin/$name-${version:-$ETCD}" ;;
    coredns) echo "$CACHE/bin/$name-$COREDNS" ;;
    flanneld) echo "$CACHE/bin/$name-$FLANNEL" ;;
    flannel) echo "$CACHE/bin/$name-$CNI_PLUGINS" ;;
    pause) echo "$CACHE/bin/$name-$PAUSE" ;;
  esac
}

# forget_old KIND [COUNT]: keeps the newest products of a kind (two), and whatever a host still stands on
forget_old() {
  local product
  # shellcheck disable=SC2012
  for product in $(ls -1dt "$CACHE/$1"/* 2>/dev/null | tail -n "+$((${2:-2} + 1))"); do
    if ! grep -qF -- "lowerdir=$product," /proc/[0-9]*/mounts 2>/dev/null && ! grep -qxF -- "$product" "$STATE"/*/*/rootfs 2>/dev/null; then
      rm -rf "$product"
    fi
  done
}
