# What hack/try/takeover and hack/try/takeover-midway share: the manager of an earlier commit.
# shellcheck shell=bash disable=SC2153

# earlier COMMIT: builds its manager in a worktree (in the cache), and prints its path
earlier() {
  local commit tree
  commit=$(git -C "$REPO" rev-parse --verify --short=12 "$1^{commit}")
  tree=$CACHE/before/$commit
  [[ -d $tree ]] || git -C "$REPO" worktree add --quiet --detach "$tree" "$commit" >&2
  (cd "$tree" && CARGO_TARGET_DIR=$CACHE/target-before cargo build --locked --bin tatara >&2)
  echo "$CACHE/target-before/debug/tatara"
}

# called_as_it_knows BINARY FOLDER: prints a program in FOLDER that starts it without a flag of hack/quickstart that came after it
called_as_it_knows() {
  local program=$2/tatara
  if "$1" manager --help | grep -q -- --allow-local-endpoints; then echo "$1"; return; fi
  mkdir -p "$2"
  cat >"$program" <<CALL
#!/usr/bin/env bash
flags=()
for flag in "\$@"; do [[ \$flag == --allow-local-endpoints ]] || flags+=("\$flag"); done
exec "$1" "\${flags[@]}"
CALL
  chmod +x "$program"
  echo "$program"
}
