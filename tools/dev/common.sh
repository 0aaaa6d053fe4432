# SPDX-License-Identifier: Apache-2.0
# What all of ./dev shares: messages, packages, Bazel. Sourced, with the repository as the folder.

# Bazel wants a home; machines that run jobs do not always name one.
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/caravan"

say() { printf '\033[1m%s\033[0m\n' "dev: $*" >&2; }
if ! [ -t 2 ]; then
  say() { printf '%s\n' "dev: $*" >&2; }
fi

die() {
  printf 'dev: %s\n' "$*" >&2
  exit 2
}

# Installs what tools/packages.txt names and this machine lacks. Downloads nothing otherwise.
install_packages() {
  local package missing=()
  while read -r package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done < <(grep -v '^#' tools/packages.txt)
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing, and only root can install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get -qq update ||
    say "apt-get update failed; trying with the lists that are here"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get could not install: ${missing[*]}"
  # Tests start an etcd of their own; that its package is here is no reason to serve one.
  if [[ " ${missing[*]} " == *" etcd-server "* ]]; then
    "${as_root[@]}" systemctl disable --now etcd >/dev/null 2>&1 || true
  fi
}

# The folder of test vectors, absolute, or nothing: tests that want vectors then skip.
vectors_folder() {
  readlink -e "${CARAVAN_VECTORS:-../shared/vectors}" || true
}

# A terminal sees progress, a log only what matters.
BAZEL_OUTPUT=()
[ -t 2 ] || BAZEL_OUTPUT=(--noshow_progress --ui_event_filters=-info)

# run_bazel COMMAND ARGS…
run_bazel() {
  local verb="$1"
  shift
  bazel "$verb" --disk_cache="$CACHE/bazel" --repo_env=CARAVAN_VECTORS="$(vectors_folder)" \
    "${BAZEL_OUTPUT[@]}" "$@"
}

# bazel_folder CONFIG KEY: where a configuration's outputs are (bazel-bin, bazel-testlogs).
bazel_folder() {
  local flags=()
  [ "$1" = default ] || flags=(--config="$1")
  bazel info --repo_env=CARAVAN_VECTORS="$(vectors_folder)" "${flags[@]}" "$2" 2>/dev/null
}

demo_targets() {
  echo //daemon:caravand //cli:caravanctl //examples/ddp_text //bench:caravand_plaintext
}
