# Downloads one program of an official release and checks it against the sha256 published beside it.
# shellcheck shell=bash disable=SC2154
# Expects the variables of describe() in hack/binaries, and $label for messages.

unreachable=' '   # hosts that did not answer in this run: asked once

fetch() {   # fetch URL FILE: 0 = have it, 1 = not there or host unreachable
  local host=${1#*://} rc=0
  host=${host%%/*}
  [[ $unreachable != *" $host "* ]] || return 1
  curl --fail --silent --location --connect-timeout 3 --speed-time 20 --speed-limit 1000 --retry 1 -o "$2" "$1" || rc=$?
  ((rc == 0)) && return 0
  # 22: the host answers, but this file is not there
  ((rc == 22)) || { unreachable+="$host "; say "$label: $host cannot be reached (curl: $rc), going on without it"; }
  return 1
}

# sets url, sums (where its sha256 stands) and member (of an archive); returns 1 where none is published
release_of() {
  local mirror=${TATARA_RELEASE_MIRROR:-} github
  [[ $mirror != none ]] || return 1
  github=${mirror:-https://github.com} member=''
  case $name in
    kube*) url=${mirror:-https://dl.k8s.io}/release/$version/bin/linux/amd64/$name sums=$url.sha256 ;;
    etcd | etcdctl) url=$github/etcd-io/etcd/releases/download/$version
      sums=$url/SHA256SUMS member=etcd-$version-linux-amd64/$name url+=/etcd-$version-linux-amd64.tar.gz ;;
    coredns) url=$github/coredns/coredns/releases/download/$version/coredns_${version#v}_linux_amd64.tgz
      sums=$url.sha256 member=coredns ;;
    flannel) url=$github/containernetworking/plugins/releases/download/$version/cni-plugins-linux-amd64-$version.tgz
      sums=$url.sha256 member=./flannel ;;
    *) return 1 ;;   # flannel publishes no checksums for v0.19
  esac
}

download() {   # download OUTPUT
  local url sums member want have part=$1.part
  release_of || return 1
  fetch "$sums" "$part.sums" || return 1
  say "$label: downloading $url"
  fetch "$url" "$part" || { rm -f "$part.sums"; return 1; }
  # one bare sum, or lines of "sum  file"
  want=$(awk -v f="${url##*/}" 'NF == 1 || $2 == f || $2 == "*" f || $2 ~ "/" f "$" {print $1; exit}' "$part.sums")
  have=$(sha256sum "$part" | cut -d' ' -f1)
  if [[ -z $want || $want != "$have" ]]; then
    rm -f "$part" "$part.sums"
    die "$url has sha256 $have, but $sums says \"${want:-nothing about it}\"; it was thrown away. Try again, or set TATARA_RELEASE_MIRROR=none to build it from source"
  fi
  if [[ -n $member ]]; then
    tar -xzOf "$part" "$member" >"$1" || die "$url has no $member in it"
  else
    mv "$part" "$1"
  fi
  rm -f "$part" "$part.sums"
}
