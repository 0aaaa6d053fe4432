#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds docs/mistakes.md to its word: the mistakes are numbered 1 to 51, each names at least one
# test, as `Suite.Name` or `Suite.Name/Row`, and each named test is in the tree.
set -euo pipefail

document=$(readlink -f "$1")
tree=$(dirname "$(dirname "$document")")
readonly MISTAKES=51
failures=0
fail() {
  echo "$1" >&2
  failures=$((failures + 1))
}

# "file:TEST(Suite, Name)" of each test.
index=$(grep -roE --include='*_test.cc' '^(TYPED_)?TEST(_[FP])?\([A-Za-z0-9_]+, [A-Za-z0-9_]+\)' \
  "$tree"/{attestation,attester,cli,collateral,daemon,tests})

# Every file that holds the test $1, "Suite.Name".
files_of() { grep -F "(${1%%.*}, ${1#*.})" <<<"$index" | cut -d: -f1; }

# OK when `$1` is in the tree: the test, and of a test with parameters the row's name beside it.
exists() {
  local files
  files=$(files_of "${1%%/*}") || return 1
  [[ "$1" != */* ]] || xargs grep -qE "[{(]\"${1#*/}\"|^ *\"${1#*/}\"," <<<"$files"
}

count=0
tests=0
while IFS='|' read -r _ number mistake tried _; do
  count=$((count + 1))
  [ "$((number))" -eq "$count" ] || fail "mistake $number stands where $count belongs"
  [[ "$mistake" == *[a-z]* ]] || fail "mistake $number is not told"
  named=0
  while IFS= read -r name; do
    named=$((named + 1))
    exists "$name" || fail "mistake $number names $name, which is no test"
  done < <(grep -oE '`[^`]+`' <<<"$tried" | tr -d '`')
  [ "$named" -gt 0 ] || fail "mistake $number names no test"
  tests=$((tests + named))
done < <(grep -E '^\| [0-9]+ \|' "$document")

[ "$count" -eq "$MISTAKES" ] || fail "$count mistakes were found in $document, expected $MISTAKES"
echo "$count mistakes, $tests tests named, $failures failures"
[ "$failures" -eq 0 ]
