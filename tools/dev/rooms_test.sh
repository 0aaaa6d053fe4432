#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Holds the tree to tools/dev/rooms.sh, and the script to finding each fault in a tree made for it.
set -euo pipefail
script="$(readlink -f "$1")"
(cd "$(dirname "$script")/../.." && "$script" --check) || {
  echo "the tree is not as tools/dev/rooms.sh wants it"
  exit 1
}

tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
cd "$tree"
git init -q .

put() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

# What the script says of the made tree, in which most of its exceptions are not needed.
complaints() { "$script" --check 2>&1 | grep -vE 'rooms: [A-Z_]+ names ' || true; }

expect_clean() {
  [ -z "$(complaints)" ] || {
    echo "complains of $1: $(complaints)"
    exit 1
  }
}

# expect COMPLAINT: it is made, and it alone.
expect() {
  [ "$(complaints)" = "rooms: $1" ] || {
    echo "got \"$(complaints)\", want \"rooms: $1\""
    exit 1
  }
}

put base/README.md "What all share."
put crypto/README.md "Ciphers."
put crypto/gpu/README.md "Ciphers of a device."
put base/bytes.h "#pragma once"
put base/bytes.cc '#include "base/bytes.h"'
put crypto/aead.h '#include "base/bytes.h"' '#include "absl/status/status.h"'
put crypto/gpu/kernel.h '#include "crypto/aead.h"'
put base/main.cc '#include "base/bytes.h"' "int main() {}"
put base/bytes_test.cc '#include "crypto/aead.h"'
expect_clean "a tree without faults"

put base/clock.h '#include "crypto/aead.h"'
expect "an arrow back: base includes crypto (1 times), which stands above it"
rm base/clock.h

put crypto/suite.h '#include "crypto/gpu/kernel.h"'
[[ "$(complaints)" =~ ^"rooms: a circle of folders: crypto"(/gpu)?" crypto"(/gpu)?" crypto"(/gpu)?$ ]] || {
  echo "finds no circle: $(complaints)"
  exit 1
}
rm crypto/suite.h

put elsewhere/thing.h '#include "base/bytes.h"'
expect "elsewhere stands in no row of LAYERS"
rm -r elsewhere

put base/lonely.cc "int x;"
expect "base/lonely.cc has no header of its own"
rm base/lonely.cc

rm crypto/README.md
expect "crypto has no README.md"
put crypto/README.md "Ciphers."

for i in $(seq 25); do put "base/h$i.h" "#pragma once"; done
expect "base has 28 sources, over 25: give it sub-folders"
rm base/h*.h

put cli/evidence/README.md "Evidence."
put cli/README.md "Commands."
put cli/output.h "#pragma once"
put cli/evidence/show.h '#include "cli/output.h"'
put cli/plan/explain.h "#pragma once"
said="$("$script" --check 2>&1 || true)"
grep -q 'ARROWS_BACK names "cli/evidence cli"' <<<"$said" && {
  echo "an exception that is needed is said to be gone"
  exit 1
}
grep -q 'ARROWS_BACK names "attestation attestation/tpm", which is gone' <<<"$said" || {
  echo "an exception that is not needed goes unnoticed"
  exit 1
}
expect_clean "exceptions in use"

said="$("$script" 2>/dev/null || true)"
grep -q '^crypto/gpu -> crypto (1)$' <<<"$said" || {
  echo "the arrows are not printed"
  exit 1
}
echo "the rooms are in order"
