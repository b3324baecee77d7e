# The Debian file systems that hosts start from, before anything of ours is in them.
# shellcheck shell=bash

# where this machine gets Debian packages from; a machine that is not Debian uses debootstrap's default
debian_mirror() {
  local id codename uri release
  if [[ -n ${TATARA_DEBIAN_MIRROR:-} ]]; then echo "$TATARA_DEBIAN_MIRROR"; return; fi
  id=$(. /etc/os-release && echo "$ID") codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [[ $id == debian ]] || return 0
  # shellcheck disable=SC2016 # apt expands these, not the shell
  while read -r uri release; do
    if [[ $release == "$codename" ]]; then echo "${uri%/}"; return; fi
  done < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages')
}

# packages of a variant: one name per line in hack/rootfs.d/VARIANT.packages, comments apart
packages_of() { sed -e 's/#.*//' -e '/^ *$/d' -e 's/ //g' "$HACK/rootfs.d/$1.packages"; }

base_of() { echo "$CACHE/base/$SUITE-$1-$(packages_of "$1" | sha256sum | cut -c1-12)"; }

base_make() {   # base_make VARIANT
  local base keyring=()
  base=$(base_of "$1")
  [[ ! -d $base ]] || return 0
  [[ $(id -u) == 0 ]] || die "debootstrap needs root"
  command -v debootstrap >/dev/null || die "debootstrap is missing: run hack/doctor"
  say "root file system \"$1\": debootstrap $SUITE"
  rm -rf "$base.tmp"
  mkdir -p "${base%/*}" "$CACHE/log"
  [[ ! -f /usr/share/keyrings/debian-archive-keyring.gpg ]] || keyring=(--keyring=/usr/share/keyrings/debian-archive-keyring.gpg)
  # shellcheck disable=SC2046 # no mirror = no word
  debootstrap --variant=minbase "${keyring[@]}" --include="$(packages_of "$1" | paste -sd,)" \
    "$SUITE" "$base.tmp" $(debian_mirror) >"$CACHE/log/debootstrap-$1.log" 2>&1 ||
    { tail -n 5 "$CACHE/log/debootstrap-$1.log" >&2; die "debootstrap failed; the whole log is $CACHE/log/debootstrap-$1.log"; }
  chroot "$base.tmp" apt-get clean
  rm -rf "$base.tmp"/var/lib/apt/lists/* "$base.tmp"/etc/ssh/ssh_host_*
  mv "$base.tmp" "$base"
}
