// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "attestation/ear.h"

namespace caravan::attestation {
namespace {

// What a check speaks of.
enum class Facet {
  kInstance,       // which machine, and whether its key still counts
  kConfiguration,  // how the environment is set up; whatever is not listed below
  kExecutables,    // what was started
  kHardware,       // which hardware and firmware, and how up to date
  kSignature,      // that any of it can be believed
  kBinding,        // that it was made for this verifier
};

struct Row {
  std::string_view begin;  // of the id, after the attester's prefix
  Facet facet;
};

// The first that fits counts.
constexpr Row kRows[] = {
    {"DRIVER_RIM", Facet::kExecutables},
    {"VBIOS_RIM", Facet::kExecutables},
    {"SWITCH_RIM", Facet::kExecutables},
    {"GOLDEN", Facet::kExecutables},
    {"NONCE", Facet::kBinding},
    {"SET_NONCE", Facet::kBinding},
    {"OCSP", Facet::kInstance},
    {"HOLD", Facet::kInstance},
    {"PDI", Facet::kInstance},
    {"DEVICE", Facet::kInstance},
    {"SET_DUPLICATE", Facet::kInstance},
    {"CHIP_ID", Facet::kInstance},
    {"CHIP", Facet::kHardware},
    {"CLASS", Facet::kHardware},
    {"FWID", Facet::kHardware},
    {"DRIVER", Facet::kHardware},
    {"VBIOS", Facet::kHardware},
    {"ROOT_CRL", Facet::kInstance},
    {"ROOT_REVOKED", Facet::kInstance},
    {"PCK_", Facet::kInstance},
    {"CRL", Facet::kInstance},
    {"REVOKED", Facet::kInstance},
    {"MASK_CHIP", Facet::kInstance},
    {"PLATFORM_INFO", Facet::kHardware},
    {"PLATFORM_UNKNOWN", Facet::kHardware},
    {"PLATFORM", Facet::kInstance},
    {"CSP", Facet::kInstance},
    {"VLEK", Facet::kInstance},
    {"SIGNATURE", Facet::kSignature},
    {"SIGNING_KEY", Facet::kSignature},
    {"CHAIN", Facet::kSignature},
    {"ROOT", Facet::kSignature},
    {"CERTIFICATE", Facet::kSignature},
    {"QUOTE_SIGNATURE", Facet::kSignature},
    {"QE_REPORT", Facet::kSignature},
    {"TRAILER", Facet::kSignature},
    {"REPORT_DATA", Facet::kBinding},
    {"MEASUREMENT", Facet::kExecutables},
    {"ENCLAVE", Facet::kExecutables},
    {"IMAGE_ID", Facet::kExecutables},
    {"FAMILY_ID", Facet::kExecutables},
    {"ID_KEY", Facet::kExecutables},
    {"AUTHOR_KEY", Facet::kExecutables},
    {"GUEST_SVN", Facet::kExecutables},
    {"EVENT_LOG", Facet::kExecutables},
    {"TCB", Facet::kHardware},
    {"PRODUCT", Facet::kHardware},
    {"FIRMWARE", Facet::kHardware},
    {"PROVISIONAL", Facet::kHardware},
    {"MITIGATIONS", Facet::kHardware},
    {"ALIAS_CHECK", Facet::kHardware},
    {"QE_", Facet::kHardware},
    {"ADVISORIES", Facet::kHardware},
    {"FMSPC", Facet::kHardware},
    {"MODULE", Facet::kHardware},
    {"MR_SEAM", Facet::kHardware},
    {"TEE_TCB_SVN", Facet::kHardware},
    {"COLLATERAL", Facet::kHardware},
    {"INSECURE", Facet::kHardware},
};

Facet FacetOf(std::string_view id) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& known) { return id.starts_with(known.begin); });
  return row == std::end(kRows) ? Facet::kConfiguration : row->facet;
}

// Outcomes of one facet's checks, the worst counting.
struct Tally {
  bool any = false, failed = false, missing = false, warned = false, skipped = false;
  bool revoked = false;

  void Add(const Check& check, std::string_view id) {
    any = true;
    failed |= check.outcome == Outcome::kFailed;
    missing |= check.outcome == Outcome::kMissing;
    warned |= check.outcome == Outcome::kWarned;
    skipped |= check.outcome == Outcome::kSkipped;
    revoked |= check.outcome == Outcome::kFailed && id.find("REVOKED") != std::string_view::npos;
  }
};

// AR4SI, 2.3.4: the numbers of each claim.
struct Numbers {
  const char* claim;
  int affirming, warning, contraindicated;
};
constexpr Numbers kInstanceNumbers = {"instance-identity", 2, -33, 97};
constexpr Numbers kConfigurationNumbers = {"configuration", 2, 36, 96};
constexpr Numbers kExecutableNumbers = {"executables", 3, 33, 96};
constexpr Numbers kHardwareNumbers = {"hardware", 2, 32, 96};

constexpr int kNoConclusion = 0;
constexpr int kRevokedKey = 96;
constexpr int kOpaque = 2, kVisible = 96;
constexpr int kBadCryptography = 99;
constexpr int kStandIn = -33;  // a warning of our own: no hardware at all, allowed by the policy

void Put(const Numbers& numbers, const Tally& tally, const Tally& signature, TrustVector* vector) {
  int& value = (*vector)[numbers.claim];
  if (signature.failed) {
    value = kBadCryptography;
  } else if (tally.failed) {
    value = tally.revoked ? kRevokedKey : numbers.contraindicated;
  } else if (tally.missing || signature.missing) {
    value = kNoConclusion;
  } else if (tally.warned) {
    value = numbers.warning;
  } else if (!tally.any || tally.skipped) {
    vector->erase(numbers.claim);  // no claim: the policy did without
  } else {
    value = numbers.affirming;
  }
}

}  // namespace

TrustVector TrustVectorOf(const Appraisal& appraisal, std::string_view prefix) {
  Tally instance, configuration, executables, hardware, signature;
  bool visible = false;
  for (const Check& check : appraisal.checks) {
    if (!std::string_view(check.id).starts_with(prefix)) continue;
    const std::string_view id = std::string_view(check.id).substr(prefix.size());
    visible |= id == "DEBUG" && check.outcome == Outcome::kFailed;
    switch (FacetOf(id)) {
      case Facet::kInstance:
        instance.Add(check, id);
        break;
      case Facet::kConfiguration:
        configuration.Add(check, id);
        break;
      case Facet::kExecutables:
        executables.Add(check, id);
        break;
      case Facet::kHardware:
        hardware.Add(check, id);
        break;
      case Facet::kSignature:
        signature.Add(check, id);
        break;
      case Facet::kBinding:
        // Evidence for somebody else proves nothing here. That it was not looked at only keeps the
        // status from being affirming, which the appraisal sees to.
        signature.failed |= check.outcome == Outcome::kFailed;
        break;
    }
  }
  TrustVector vector;
  Put(kInstanceNumbers, instance, signature, &vector);
  Put(kConfigurationNumbers, configuration, signature, &vector);
  Put(kExecutableNumbers, executables, signature, &vector);
  Put(kHardwareNumbers, hardware, signature, &vector);
  if (appraisal.insecure && vector["hardware"] < kRevokedKey) vector["hardware"] = kStandIn;
  const auto value = [&](const char* claim) {
    const auto found = vector.find(claim);
    return found == vector.end() ? kNoConclusion : found->second;
  };
  if (visible) {
    vector["runtime-opaque"] = signature.failed ? kBadCryptography : kVisible;
  } else if (value("configuration") == kConfigurationNumbers.affirming &&
             value("hardware") == kHardwareNumbers.affirming) {
    vector["runtime-opaque"] = kOpaque;
  }
  // A vector has at least one claim (AR4SI, 3.1).
  if (vector.empty()) vector[kInstanceNumbers.claim] = kNoConclusion;
  return vector;
}

}  // namespace caravan::attestation
