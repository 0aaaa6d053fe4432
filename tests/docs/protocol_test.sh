#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds docs/protocol.md to its word: rules are numbered upwards, each says MUST and names at least
# one test as `file Suite.Name`, and each named test stands in its file.
set -euo pipefail

document=$(readlink -f "$1")
tree=$(dirname "$(dirname "$document")")
failures=0
fail() {
  echo "$1" >&2
  failures=$((failures + 1))
}

# One rule a line: "P-001 <text>".
rules=$(awk '
  /^- \*\*P-[0-9]+\*\*/ { if (rule != "") print rule; rule = $0; next }
  rule != "" && /^  / { rule = rule " " $0; next }
  rule != "" { print rule; rule = "" }
  END { if (rule != "") print rule }' "$document" | sed -e 's/^- \*\*\(P-[0-9]*\)\*\*/\1/' -e 's/  */ /g')

count=0
tests=0
last=0
while IFS= read -r rule; do
  count=$((count + 1))
  number=${rule%% *}
  value=$((10#${number#P-}))
  [ "$value" -gt "$last" ] || fail "$number: does not follow P-$last"
  last=$value
  [[ "$rule" == *MUST* ]] || fail "$number: is no MUST"
  named=0
  while IFS=' ' read -r file name; do
    [ -n "$file" ] || continue
    named=$((named + 1))
    tests=$((tests + 1))
    if [ ! -f "$tree/$file" ]; then
      fail "$number: names $file, which does not exist"
    elif ! grep -Eq "^(TYPED_)?TEST(_[FP])?\(${name%%.*}, ${name#*.}\)" "$tree/$file"; then
      fail "$number: names $name, which is not in $file"
    fi
  done < <(grep -oE '`[a-z0-9_/]+_test\.cc [A-Za-z0-9_]+\.[A-Za-z0-9_]+`' <<<"$rule" | tr -d '`')
  [ "$named" -gt 0 ] || fail "$number: names no test"
done <<<"$rules"

[ "$count" -ge 50 ] || fail "only $count rules were found in $document"
echo "$count rules, $tests tests named, $failures failures"
[ "$failures" -eq 0 ]
