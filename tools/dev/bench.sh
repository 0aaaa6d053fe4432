# SPDX-License-Identifier: Apache-2.0
# ./dev bench: builds and runs the comparison (bench/compare.cc).

run_bench() {
  say "building"
  run_bazel build //bench:compare
  say "measuring; an otherwise idle machine gives the numbers that count"
  bazel-bin/bench/compare "$@"
}
