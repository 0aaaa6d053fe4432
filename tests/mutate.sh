#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Removes checks of the verifiers one by one, in a copy of this tree with an output folder of its
# own, and shows which named test fails without each. Ends with 1 when no test misses a check.
#
#   tests/mutate.sh [NAME…]   all of them, or those named
#   tests/mutate.sh --list    their names
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=../tools/dev/common.sh
. tools/dev/common.sh

names=() files=() edits=() tests=()

# mutation NAME FILE SED TEST: SED takes the check out of FILE; TEST has to fail without it.
mutation() {
  names+=("$1") files+=("attestation/$2") edits+=("$3") tests+=("//attestation$4")
}

mutation snp-debug sev_snp/guest_rules.cc \
  's/kDebug, policy.allow_debug()/kDebug, true/' /sev_snp:rules_test
mutation snp-report-data sev_snp/verifier.cc \
  's/crypto::ConstantTimeEquals(report.report_data, expected.data()->bytes)/true/' \
  /sev_snp:rules_test
mutation snp-product sev_snp/chain.cc \
  's/if (cpuid != leaf_->product)/if (false)/' /sev_snp:chain_test
mutation snp-tcb-of-certificate sev_snp/tcb_rules.cc \
  's/Difference(tcb.reported, leaf.tcb,/Difference(tcb.reported, tcb.reported,/' \
  /sev_snp:rules_test
mutation root-by-key root.cc \
  's/const bool makers = .*;/const bool makers = candidate.IsSelfIssued();/' /sev_snp:chain_test
mutation absent-crl revocation.cc \
  's/} else if (rule.waived) {/} else if (true) {/' /sev_snp:chain_test
mutation tdx-debug tdx/rules.cc \
  's/kDebugBits, false, policy.allow_debug()/kDebugBits, false, true/' /tdx:rules_test
mutation qe-identity intel/quoting_enclave.cc \
  's/Require(mismatch.empty(), "QE_IDENTITY_MATCH"/Require(true, "QE_IDENTITY_MATCH"/' \
  /intel:tcb_test
mutation collateral-signature intel/documents.cc \
  's/if (!CheckEcdsa(Curve::kP256, signer.public_key(), document.signature, document.body).ok())/if (false)/' \
  /intel:chain_test
mutation tcb-evaluation-floor intel/documents.cc \
  's/validity.evaluation_number >= policy_.min_tcb_evaluation_number()/true/' /intel:chain_test
mutation rim-signature nvidia/rim_check.cc \
  's/Require(status.ok(), Id("SIGNATURE")/Require(true, Id("SIGNATURE")/' /nvidia:rim_check_test
mutation rim-digest nvidia/rim_signature.cc \
  's/digest.size()) != digest_) {/digest.size()).empty()) {/' /nvidia:rim_check_test
mutation rim-product nvidia/rim_check.cc \
  's/^        roles, Id("ROLE")/        true, Id("ROLE")/' /nvidia:rim_check_test
mutation golden-conflict nvidia/golden.cc \
  's/ && Count(Kind::kConflict) == 0//' /nvidia:golden_test
mutation ocsp-time ocsp.cc \
  's/if (query_.now < \*start || query_.now > \*end)/if (false)/' :ocsp_test
mutation ocsp-purpose ocsp.cc \
  's/(X509_get_extended_key_usage(x509) & XKU_OCSP_SIGN) == 0/false/' :ocsp_test
mutation known-bytes known_signatures.cc \
  's/Fixed(object_digest)/Fixed(key)/' :verifier_test

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${names[@]}"
  exit
fi
for name in "$@"; do
  [[ " ${names[*]} " == *" $name "* ]] || die "mutate: there is no \"$name\" (--list names them)"
done

scratch="$(mktemp -d)"
cleanup() {
  [ ! -d "$scratch/output" ] || bazel --output_base="$scratch/output" shutdown || true
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
}
trap cleanup EXIT

CARAVAN_VECTORS="$(vectors_folder)"
export CARAVAN_VECTORS
mkdir "$scratch/tree"
# What is checked out, with what was changed since.
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' path; do [ ! -e "$path" ] || printf '%s\0' "$path"; done |
  tar --null --files-from=- --create | tar --extract --directory="$scratch/tree"
cp -r "$scratch/tree/attestation" "$scratch/as-it-is"
cd "$scratch/tree"

# 0 when the tests pass, 3 when one fails; anything else is no answer.
run_tests() {
  local code=0
  bazel --output_base="$scratch/output" test --disk_cache="$CACHE/bazel" \
    --repo_env=CARAVAN_VECTORS="$CARAVAN_VECTORS" --noshow_progress --ui_event_filters=-info \
    --test_output=errors "$@" >"$scratch/log" 2>&1 || code=$?
  if [ "$code" != 0 ] && [ "$code" != 3 ]; then
    cat "$scratch/log" >&2
    die "mutate: bazel ended with $code before $* had run"
  fi
  return "$code"
}

say "mutate: the tests as they are"
mapfile -t targets < <(printf '%s\n' "${tests[@]}" | sort -u)
run_tests "${targets[@]}" || { cat "$scratch/log" >&2 && die "mutate: tests fail as they are"; }

survivors=0
for i in "${!names[@]}"; do
  [ $# = 0 ] || [[ " $* " == *" ${names[$i]} "* ]] || continue
  sed -i "${edits[$i]}" "${files[$i]}"
  original="$scratch/as-it-is/${files[$i]#attestation/}"
  ! cmp -s "${files[$i]}" "$original" ||
    die "mutate: ${names[$i]}: its check no longer stands so in ${files[$i]}"
  code=0
  run_tests "${tests[$i]}" || code=$?
  if [ "$code" = 0 ]; then
    survivors=$((survivors + 1))
    printf '%-24s SURVIVED: %s passes without it\n' "${names[$i]}" "${tests[$i]}"
  else
    printf '%-24s missed by %s:\n' "${names[$i]}" "${tests[$i]}"
    # gtest's list at the end: "[  FAILED  ] Suite.Name", parameters behind a comma.
    log="bazel-testlogs/$(sed 's|^//||; s|:|/|' <<<"${tests[$i]}")/test.log"
    sed -nE 's/^\[  FAILED  \] ([A-Za-z0-9_/]+\.[A-Za-z0-9_/]+).*/    \1/p' "$log" | sort -u
  fi
  cp "$original" "${files[$i]}"
done
if [ "$survivors" != 0 ]; then
  say "mutate: $survivors checks could go unnoticed"
  exit 1
fi
say "mutate: every check is missed by a test"
