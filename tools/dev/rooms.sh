#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which folder knows which, and how much stands in one: `./dev rooms` prints it, `./dev lint` and
# rooms_test hold the tree to it. Runs in the folder of a Git tree; --check prints complaints alone.
#
# Tests are left out: *_test.*, *_testing.*, *_for_test.*, *_world.*, test_*, fake_* and tests/.
set -euo pipefail

# Each row knows the rows above it, and its own folders as long as there is no circle. A folder stands
# in the row of its longest prefix; one without a row is complained about.
readonly LAYERS='
base
proto crypto spdm
collective
attestation/core attestation/x509
attestation attestation/result attestation/input
attestation/policy
attestation/sev_snp attestation/intel attestation/nvidia
attestation/tdx attestation/sgx
attestation/tpm
attestation/collateral attestation/insecure_software attestation/show
config http daemon/ops
attester collateral daemon/store
daemon/session daemon/transport
daemon/device daemon/engine
daemon/travel
daemon/local
daemon/membership
daemon/service
daemon
client
cli
bench examples
'

# What does not hold yet. These lists only shrink: an entry that is no longer needed is complained about.
# Arrows back, as "FROM TO".
readonly ARROWS_BACK='
attestation attestation/nvidia
attestation attestation/policy
attestation attestation/sev_snp
attestation attestation/sgx
attestation attestation/tdx
attestation attestation/tpm
cli/evidence cli
'

# Folders with more than MAX_FILES sources, and how many they may have.
readonly MAX_FILES=25
readonly LARGE_FOLDERS='
attestation 48
attestation/nvidia 29
cli 35
daemon/engine 49
daemon/session 30
'

# Sources without a header of their own, by file name so that a move keeps the entry. (Those with a
# main, and fuzzers, have none.)
readonly WITHOUT_HEADER='
aead_ipsec_mb aead_openssl binomial bruck buffer certificates chain communicator communicator_life
composite data_listener device_rules direct doubling endorsement_input evidence_files exchange
explain_intel explain_nvidia explain_vtpm guest_rules handshake_receive inspect_amd
inspect_intel inspect_nvidia intel load measurement_rules needs_nvidia nvidia one_shot operation_spec
platform_rules point_to_point quote_rules real_subjects reduce_to_root ring ring_forward
session_links session_manager signer_pool snp synthetic_subjects tcb_rules td_report tls_context
trust_vector validate_intel validate_nvidia validate_snp validate_vtpm vtpm wire_bytes work
'

# Folders without a README.
readonly WITHOUT_README='
attestation/insecure_software attestation/policy bench/aead bench/cluster bench/harness bench/peers
bench/plaintext bench/verify cli/plan proto proto/caravan/v1 tests/adversary tests/fuzz
'

# Folders of code, tests and tools; what third_party says stands beside each rule there.
readonly README_PREFIXES='^(attestation|attester|base|bench|cli|client|collateral|collective|config|crypto|daemon|deploy|docs|examples|http|proto|spdm|tests|tools)(/|$)'
readonly NO_README_NEEDED='^(client/include/caravan|docs/performance|tests/fuzz/seeds/.*)$'
readonly TEST_FILES='^tests/|(^|/)(test_|fake_)[^/]*$|_(test|testing|for_test|world)\.(h|cc)$'

all_files="$(git ls-files --cached --others --exclude-standard)"
sources="$(grep -E '\.(h|cc)$' <<<"$all_files" | grep -vE "$TEST_FILES" |
  while read -r file; do [ ! -f "$file" ] || echo "$file"; done)"

complaints=0
complain() {
  printf 'rooms: %s\n' "$*" >&2
  complaints=$((complaints + 1))
}

# "FROM TO COUNT" of every include between two folders of the tree, sorted.
arrows() {
  xargs -r awk '
    function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
    FNR == 1 { from = folder(FILENAME); seen[from] = 1 }
    /^#include "/ {
      split($0, part, "\"")
      to = folder(part[2])
      if (to != from) ++count[from " " to]
    }
    END {
      for (arrow in count) {
        split(arrow, end, " ")
        if (end[2] in seen || end[2] ~ /^proto(\/|$)/) print arrow, count[arrow]
      }
    }' <<<"$sources" | sort
}

# Reads arrows; complains of those that point to a later row, of entries of ARROWS_BACK that are not
# needed, and of a circle among the rest.
check_arrows() {
  awk -v layers="$LAYERS" -v back="$ARROWS_BACK" '
    function row(folder) {
      while (!(folder in of)) if (!sub(/\/[^\/]*$/, "", folder)) return 0
      return of[folder]
    }
    # Depth first; what is on the path already closes a circle.
    function visit(folder, path,   i, n, next_folders) {
      if (state[folder] == 2 || found) return
      if (state[folder] == 1) {
        sub(".* " folder " ", folder " ", path)
        print "a circle of folders: " path
        found = 1
        return
      }
      state[folder] = 1
      n = split(knows[folder], next_folders, " ")
      for (i = 1; i <= n; ++i) visit(next_folders[i], path " " next_folders[i])
      state[folder] = 2
    }
    BEGIN {
      n = split(layers, rows, "\n")
      for (i = 1; i <= n; ++i) {
        m = split(rows[i], folders, " ")
        for (j = 1; j <= m; ++j) of[folders[j]] = i
      }
      n = split(back, entries, "\n")
      for (i = 1; i <= n; ++i) if (entries[i] != "") allowed[entries[i]] = 1
    }
    {
      arrow = $1 " " $2
      for (i = 1; i <= 2; ++i)
        if (!row($i) && !($i in named)) {
          named[$i] = 1
          print $i " stands in no row of LAYERS"
        }
      if (!row($1) || !row($2)) next
      if (arrow in allowed) {
        used[arrow] = 1
        next
      }
      if (row($2) > row($1)) {
        print "an arrow back: " $1 " includes " $2 " (" $3 " times), which stands above it"
        next
      }
      knows[$1] = knows[$1] " " $2
      all[$1] = 1
    }
    END {
      for (arrow in allowed) if (!(arrow in used)) print "ARROWS_BACK names \"" arrow "\", which is gone"
      for (folder in all) visit(folder, " " folder)
    }'
}

check_sizes() {
  sed 's|/[^/]*$||' <<<"$sources" | sort | uniq -c |
    awk -v max="$MAX_FILES" -v large="$LARGE_FOLDERS" '
      BEGIN {
        n = split(large, entries, "\n")
        for (i = 1; i <= n; ++i) if (split(entries[i], e, " ") == 2) may[e[1]] = e[2]
      }
      { count[$2] = $1 }
      END {
        for (folder in count) {
          limit = folder in may ? may[folder] : max
          if (count[folder] > limit)
            print folder " has " count[folder] " sources, over " limit ": give it sub-folders"
        }
        for (folder in may) if (count[folder] + 0 <= max)
          print "LARGE_FOLDERS names " folder ", which has " count[folder] + 0 " sources"
      }'
}

check_headers() {
  local file name needed=" "
  while read -r file; do
    [[ "$file" == *.cc ]] && [ ! -f "${file%.cc}.h" ] || continue
    grep -qE '^int main\(|LLVMFuzzerTestOneInput' "$file" && continue
    name="$(basename "$file" .cc)"
    needed+="$name "
    grep -qwF -- "$name" <<<"$WITHOUT_HEADER" || echo "$file has no header of its own"
  done <<<"$sources"
  for name in $WITHOUT_HEADER; do
    [[ "$needed" == *" $name "* ]] || echo "WITHOUT_HEADER names $name, which has one or is gone"
  done
}

check_readmes() {
  local folder needed=" "
  while read -r folder; do
    [ ! -f "$folder/README.md" ] || continue
    needed+="$folder "
    grep -qE "(^| )$folder( |\$)" <<<"$WITHOUT_README" || echo "$folder has no README.md"
  done < <(grep / <<<"$all_files" | sed 's|/[^/]*$||' | sort -u |
    grep -E "$README_PREFIXES" | grep -vE "$NO_README_NEEDED")
  for folder in $WITHOUT_README; do
    [[ "$needed" == *" $folder "* ]] || echo "WITHOUT_README names $folder, which has one or is gone"
  done
}

# lengths SUFFIX NAME: median and 90th percentile of lines.
lengths() {
  local file
  grep "\\.$1\$" <<<"$sources" | while read -r file; do wc -l <"$file"; done | sort -n |
    awk -v name="$2" '{ n[NR] = $1 } END {
      if (NR) printf "%-8s %4d files, median %d lines, 90 %% have %d or fewer\n", name, NR,
        n[int((NR + 1) / 2)], n[int(NR * 0.9 + 0.5)] }'
}

print_rooms() {
  local from to count last=""
  echo "Who includes whom (times):"
  while read -r from to count; do
    [ "$from" = "$last" ] || printf '%s%s ->' "${last:+$'\n'}" "$from"
    last="$from"
    printf ' %s (%d)' "$to" "$count"
  done < <(arrows)
  printf '\n\nSources a folder:\n'
  sed 's|/[^/]*$||' <<<"$sources" | sort | uniq -c | sort -rn
  echo
  lengths h headers
  lengths cc sources
}

[ "${1:-}" = --check ] || print_rooms
while read -r complaint; do
  complain "$complaint"
done < <(arrows | check_arrows; check_sizes; check_headers; check_readmes)
[ "$complaints" = 0 ]
