#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The release daemon holds nothing of the plaintext engine; the bench daemon shows that the search
# would find it.
set -euo pipefail
release="$1" plaintext="$2"

holds() { grep -qaE 'caravan-bench-plaintext|CopiedRecord' "$1"; }

holds "$plaintext" || { echo "the bench daemon does not hold what is searched for"; exit 1; }
if holds "$release"; then
  echo "$release holds parts of the plaintext engine"
  exit 1
fi
echo "the release daemon is free of the plaintext engine"
