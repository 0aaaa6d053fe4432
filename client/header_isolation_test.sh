#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# caravan.h brings in the standard library and Abseil, nothing else: applications must not depend
# on the versions of gRPC, protobuf, OpenSSL or libsodium that the library was built with.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints what an include of $1 reads besides itself, Abseil, and the standard library of C and C++.
foreign() {
  echo "#include \"$1\"" >"$scratch/use.cc"
  ${CXX:-g++} -std=c++20 -M -I. -Iclient/include -I"$scratch" "$scratch/use.cc" | tr -s ' \\' '\n' |
    grep -vE '^$|:$|/use\.cc$|^client/include/caravan/[a-z]+\.h$|^/usr/include/absl/' |
    grep -vE '^/usr/include/(c\+\+|x86_64-linux-gnu|asm-generic|linux)/|^/usr/lib/gcc/' |
    grep -vE '^/usr/include/[a-z0-9-]+\.h$' || true
}

found=$(foreign caravan/caravan.h)
if [[ -n "$found" ]]; then
  echo "caravan/caravan.h leaks:"
  echo "$found"
  exit 1
fi

# The check itself must see a leak.
for leak in grpcpp/grpcpp.h openssl/evp.h google/protobuf/message.h sodium.h client/split.h; do
  printf '#include "caravan/caravan.h"\n#include "%s"\n' "$leak" >"$scratch/leaky.h"
  if [[ -z "$(foreign leaky.h | grep -v '/leaky\.h$')" ]]; then
    echo "a planted include of $leak was not seen"
    exit 1
  fi
done
