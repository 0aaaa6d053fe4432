#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds docs/reasons.md to base/reason_table.h: both have the same words in the same order, with the
# same meaning and the same advice. Each word is used by a source that is no test.
set -euo pipefail

document=$(readlink -f "$1")
table=$(readlink -f "$2")
tree=$(dirname "$(dirname "$document")")
failures=0

# "| `WORD` | meaning | remedy |" of each row of the table, whose strings stand on one line or more.
documented=$(grep '^| `' "$document")
known=$(sed -n '/kReasonTable\[\] = {/,/^};/p' "$table" | sed '1d; $d; /^ *\/\//d' | tr '\n' ' ' |
  sed -E 's/" +"//g; s/\{"([^"]*)", *"([^"]*)", *"([^"]*)"\}, */| `\1` | \2 | \3 |\n/g; s/(^|\n) */\1/g')
if ! diff <(echo "$documented") <(echo "$known"); then
  echo "docs/reasons.md (<) differs from base/reason_table.h (>)" >&2
  failures=$((failures + 1))
fi

words=$(grep -oE '`[A-Z0-9_]+`' <<<"$known" | tr -d '`')
[ "$(wc -l <<<"$words")" -gt 50 ] || failures=$((failures + 1))
for word in $words; do
  grep -rqE --include='*.cc' --include='*.h' --exclude='*_test.cc' --exclude='reason.h' \
    --exclude='reason_table.h' "[\"[]$word[]\"]" "$tree"/{attestation,base,daemon} || {
    echo "no source uses $word" >&2
    failures=$((failures + 1))
  }
done
echo "$(wc -l <<<"$words") words, $failures failures"
[ "$failures" -eq 0 ]
