# How hack/doctor installs what is missing, and where the other scripts then find it.
# shellcheck shell=bash disable=SC2034

# what install_rust does here, for a person; RUST is that of rust-toolchain.toml
rust_command() {
  local parts='--profile minimal -c clippy -c rustfmt'
  if command -v rustup >/dev/null; then
    echo "rustup toolchain install $RUST $parts"
  else
    echo "curl -sSf https://sh.rustup.rs | sh -s -- -y --default-toolchain $RUST $parts"
  fi
}
GO_COMMAND="YES=1 hack/doctor   (Go $GO_INSTALL into $CACHE/go, by its published sha256)"

install_packages() {
  say "installing: $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null || say 'apt-get update failed; trying with what it knew'
  apt-get -q install -y --no-install-recommends "$@" >/dev/null
}

install_rust() { bash -o pipefail -c "$(rust_command)"; }

install_go() {
  local url=${TATARA_GO_MIRROR:-https://dl.google.com/go}/go$GO_INSTALL.linux-amd64.tar.gz part=$CACHE/go.part want
  say "installing Go $GO_INSTALL into $CACHE/go"
  rm -rf "$part"
  mkdir -p "$part"
  want=$(curl -fsSL "$url.sha256")
  curl -fsSL -o "$part/go.tar.gz" "$url"
  [[ $(sha256sum "$part/go.tar.gz" | cut -d' ' -f1) == "${want%% *}" ]] || die "$url does not have the sha256 that is published beside it"
  tar -C "$part" -xzf "$part/go.tar.gz"
  rm -rf "$CACHE/go"
  mv "$part/go" "$CACHE/go"
  rm -rf "$part"
}
