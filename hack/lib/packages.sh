# A repository of Debian packages for bare hosts: those of Debian that a node needs, and kubelet, kubeadm,
# kubectl and kubernetes-cni laid out as the upstream packages are. Signed by a key of this cache.
# shellcheck shell=bash

GNUPG=$CACHE/gnupg

signing_key() {
  [[ ! -f $GNUPG/Release.key ]] || return 0
  rm -rf "$GNUPG"
  (umask 077 && mkdir -p "$GNUPG")
  gpg --homedir "$GNUPG" --batch --quiet --passphrase '' --quick-generate-key 'tatara hack/mirror' default sign never
  gpg --homedir "$GNUPG" --armor --export >"$GNUPG/Release.key.tmp"
  mv "$GNUPG/Release.key.tmp" "$GNUPG/Release.key"
}

index() {   # index FOLDER: makes a flat repository of the packages in it
  local deb
  (
    cd "$1" || exit
    for deb in *.deb; do
      dpkg-deb -f "$deb"
      printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -Lc %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
    done >Packages
    printf 'Origin: tatara\nArchitectures: amd64\nDate: %s\nSHA256:\n %s %s Packages\n' "$(LC_ALL=C date -Ru)" \
      "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
    gpg --homedir "$GNUPG" --batch --yes --quiet --clearsign -o InRelease Release
    gpg --homedir "$GNUPG" --batch --yes --quiet --armor --detach-sign -o Release.gpg Release
    cp "$GNUPG/Release.key" Release.key
  )
  gpgconf --homedir "$GNUPG" --kill all 2>/dev/null || true   # no agent stays behind
}

debian_packages() {   # debian_packages TARGET: downloaded by the apt of a bare host's own file system
  [[ ! -d $1 ]] || return 0
  local root=$1.root
  base_make bare
  say "mirror: downloading Debian packages"
  rm -rf "$root" "$1.tmp"
  mkdir -p "${1%/*}" "$1.tmp"
  cp -a "$(base_of bare)" "$root"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  # shellcheck disable=SC2046
  { chroot "$root" apt-get -q update && chroot "$root" apt-get -q install -y --no-install-recommends --download-only $(packages_of mirror); } \
    >"$CACHE/log/mirror-apt.log" 2>&1 || { tail -n 5 "$CACHE/log/mirror-apt.log" >&2; die "apt failed; the whole log is $CACHE/log/mirror-apt.log"; }
  mv "$root"/var/cache/apt/archives/*.deb "$1.tmp/"
  rm -rf "$root"
  index "$1.tmp"
  mv "$1.tmp" "$1"
  forget_old packages/debian
}

# package TARGET-FOLDER NAME VERSION DEPENDS FILE=SOURCE...
package() {
  local folder=$1 name=$2 version=$3 depends=$4 tree file
  shift 4
  tree=$folder/.$name
  rm -rf "$tree"
  mkdir -p "$tree/DEBIAN"
  for file in "$@"; do install -D -m "$(if [[ -x ${file#*=} ]]; then echo 755; else echo 644; fi)" "${file#*=}" "$tree${file%%=*}"; done
  printf '%s\n' "Package: $name" "Version: $version" 'Architecture: amd64' 'Maintainer: tatara hack/mirror <root@localhost>' \
    ${depends:+"Depends: $depends"} "Description: $name, in the layout of the upstream package" >"$tree/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 --build "$tree" "$folder/${name}_${version}_amd64.deb" >/dev/null
  rm -rf "$tree"
}

kubernetes_packages() {   # kubernetes_packages TARGET VERSION
  [[ ! -d $1 ]] || return 0
  local version=${2#v}-1.1 units=$HACK/rootfs.d/full/usr/lib/systemd/system plugins=() plugin cni
  say "mirror: packing kubelet, kubeadm and kubectl $2"
  rm -rf "$1.tmp"
  mkdir -p "$1.tmp"
  cni=$(base_of full)/usr/lib/cni
  for plugin in "$cni"/*; do plugins+=("/opt/cni/bin/${plugin##*/}=$plugin"); done
  package "$1.tmp" kubernetes-cni 1.1.1-1.1 '' "${plugins[@]}" "/opt/cni/bin/flannel=$(cached flannel)"
  package "$1.tmp" kubectl "$version" '' "/usr/bin/kubectl=$(cached "kubectl@$2")"
  package "$1.tmp" kubelet "$version" 'iptables, kubernetes-cni, iproute2, mount, util-linux, ethtool, conntrack, ebtables, socat' \
    "/usr/bin/kubelet=$(cached "kubelet@$2")" "/usr/lib/systemd/system/kubelet.service=$units/kubelet.service"
  package "$1.tmp" kubeadm "$version" '' "/usr/bin/kubeadm=$(cached "kubeadm@$2")" \
    "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf=$units/kubelet.service.d/10-kubeadm.conf"
  index "$1.tmp"
  mv "$1.tmp" "$1"
  forget_old packages/kubernetes 4    # of two versions
}
