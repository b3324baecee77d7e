# The Rust of rust-toolchain.toml, which alone decides which one it is.
# shellcheck shell=bash

RUST=$(sed -n 's/^channel = "\(.*\)"$/\1/p' "$REPO/rust-toolchain.toml")

# pin_rust: rustup finds a toolchain by the name that it was installed under. Where the default is this very Rust under another
# name, such as `stable`, and has clippy and rustfmt, it is taken: nothing has to be downloaded a second time, or at all where
# nothing can be.
pin_rust() {
  local toolchains=${RUSTUP_HOME:-$HOME/.rustup}/toolchains default
  [[ -z ${RUSTUP_TOOLCHAIN:-} ]] && command -v rustup >/dev/null || return 0
  ! compgen -G "$toolchains/$RUST-*" >/dev/null || return 0
  default=$(rustup default 2>/dev/null | cut -d' ' -f1) || return 0
  [[ -x $toolchains/$default/bin/cargo-clippy && -x $toolchains/$default/bin/cargo-fmt ]] || return 0
  case $(rustc "+$default" --version 2>/dev/null) in "rustc $RUST "*) export RUSTUP_TOOLCHAIN=$default ;; esac
}
