# SPDX-License-Identifier: Apache-2.0
# ./dev bench: builds and runs the comparison (bench/compare.cc).

# Every contender gets the same network: a namespace of its own, whose congestion control is the
# one that our data connections ask for.
readonly ONE_NETWORK='ip link set lo up && echo cubic >/proc/sys/net/ipv4/tcp_congestion_control &&
  exec "$@"'

run_bench() {
  say "building"
  run_bazel build //bench:compare
  local own_network=(unshare --net)
  [ "$(id -u)" = 0 ] || own_network=(unshare --user --map-root-user --net)
  own_network+=(sh -c "$ONE_NETWORK" sh)
  if ! "${own_network[@]}" true 2>/dev/null; then
    say "no network namespace here: the others keep this machine's congestion control"
    own_network=()
  fi
  say "measuring; an otherwise idle machine gives the numbers that count"
  "${own_network[@]}" bazel-bin/bench/compare "$@"
}
