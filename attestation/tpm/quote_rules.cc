// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/tpm/quote.h"
#include "attestation/tpm/rules.h"
#include "base/hex.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::attestation::tpm {
namespace {

std::string Hex(std::string_view bytes) { return base::ToHex(crypto::AsBytes(bytes)); }

void CheckSignature(const VtpmEvidence& evidence, const RuntimeClaims& claims, CheckList* checks) {
  const EvpPkeyPtr key = MakeRsaPublicKey(claims.ak_modulus, claims.ak_exponent);
  const absl::StatusOr<std::string_view> signature = RsaSignatureOf(evidence.signature);
  const absl::Status status = signature.ok()
                                  ? CheckRsaSignature(key.get(), *signature, evidence.quote)
                                  : signature.status();
  checks->Require(status.ok(), "VTPM_SIGNATURE", "the attestation key signed the TPM quote",
                  std::string(status.message()),
                  "quote and HCL report are of two machines, or of two boots");
}

// Which of the attributes that an attestation key needs it has not.
std::string MissingAttributes(uint32_t attributes) {
  constexpr std::pair<uint32_t, const char*> kNeeded[] = {
      {kFixedTpm, "fixedTPM"},
      {kFixedParent, "fixedParent"},
      {kSensitiveDataOrigin, "sensitiveDataOrigin"},
      {kRestricted, "restricted"},
      {kSign, "sign"}};
  std::string missing;
  for (const auto& [bit, name] : kNeeded) {
    if ((attributes & bit) == 0) absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  }
  return missing;
}

std::string FindAkProblem(const VtpmEvidence& evidence, const RuntimeClaims& claims,
                          const Quote& quote) {
  const absl::StatusOr<PublicArea> area = ParsePublicArea(evidence.ak_public);
  if (!area.ok()) return std::string(area.status().message());
  if (area->modulus != claims.ak_modulus) return "the public area is of another key than HCLAkPub";
  if (const std::string missing = MissingAttributes(area->attributes); !missing.empty()) {
    return absl::StrCat("not set: ", missing);
  }
  if ((area->attributes & kDecrypt) != 0) return "decrypt is set";
  for (const std::string& name : QualifiedNames(evidence.ak_public)) {
    if (name == quote.qualified_signer) return "";
  }
  return absl::StrCat("the quote's signer is ", Hex(quote.qualified_signer),
                      ", which names this key in no hierarchy");
}

void CheckAk(const VtpmEvidence& evidence, const RuntimeClaims& claims, const Quote& quote,
             const v1::VtpmPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "the attestation key signs for its TPM alone";
  if (!evidence.ak_public.empty()) {
    const std::string problem = FindAkProblem(evidence, claims, quote);
    checks->Require(problem.empty(), "VTPM_AK_ATTRIBUTES", kWhat, problem);
  } else if (policy.require_ak_public()) {
    checks->Missing("VTPM_AK_ATTRIBUTES", kWhat, "the evidence holds no public area of the key");
  } else {
    checks->Skip("VTPM_AK_ATTRIBUTES", kWhat,
                 "the policy does not ask for the key's public area: the measured paravisor made "
                 "the key and vouches for it");
  }
}

void CheckNonce(const Quote& quote, const ReportDataExpectation& expected, CheckList* checks) {
  constexpr std::string_view kWhat = "the quote answers this verifier's nonce";
  checks->appraisal().claims["tpm_nonce"] = Hex(quote.extra_data);
  if (!expected.data().has_value()) {
    checks->Skip("VTPM_NONCE", kWhat,
                 "not asked for: nothing shows that the evidence is fresh or whose it is");
    checks->CapAtWarning();
    return;
  }
  const crypto::Sha256Digest nonce = TpmNonce(*expected.data());
  const bool same = crypto::ConstantTimeEquals(crypto::AsBytes(quote.extra_data), nonce);
  checks->Require(same, "VTPM_NONCE", kWhat,
                  same ? ""
                       : absl::StrCat("extra data is ", Hex(quote.extra_data), ", expected ",
                                      base::ToHex(nonce)),
                  "the quote is replayed, or was made for another channel, role or round");
}

// What the quote covers, as values that its digest confirms; empty when a check failed.
PcrValues CheckPcrs(const VtpmEvidence& evidence, const Quote& quote, CheckList* checks) {
  constexpr std::string_view kSelectionWhat = "the quote covers the registers that are given";
  const absl::StatusOr<std::vector<uint8_t>> selected = SelectedPcrs(quote);
  std::string problem, values;
  if (!selected.ok()) {
    problem = std::string(selected.status().message());
  } else if (evidence.pcrs.empty()) {
    checks->Missing("VTPM_PCR_SELECTION", kSelectionWhat, "the evidence holds no register values");
    return {};
  } else {
    for (uint8_t index : *selected) {
      const auto found = evidence.pcrs.find(index);
      if (found == evidence.pcrs.end()) {
        problem = absl::StrCat("the quote covers PCR", index, ", whose value is not given");
        break;
      }
      values.append(found->second.begin(), found->second.end());
    }
    if (problem.empty() && selected->size() != evidence.pcrs.size()) {
      problem = absl::StrCat(evidence.pcrs.size(), " values are given, the quote covers ",
                             selected->size(), " registers");
    }
  }
  if (!checks->Require(problem.empty(), "VTPM_PCR_SELECTION", kSelectionWhat, problem)) return {};
  const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(values));
  const bool same = crypto::AsBytes(quote.pcr_digest) == absl::MakeConstSpan(digest);
  const bool good =
      checks->Require(same, "VTPM_PCR_DIGEST", "the registers' values are the quoted ones",
                      same ? ""
                           : absl::StrCat("they hash to ", base::ToHex(digest), ", the quote says ",
                                          Hex(quote.pcr_digest)));
  return good ? evidence.pcrs : PcrValues();
}

// The first register that differs; empty when the measurement matches.
std::string Difference(const PcrValues& pcrs, const v1::VtpmMeasurement& measurement) {
  for (const v1::VtpmPcr& wanted : measurement.pcrs()) {
    const auto found = pcrs.find(static_cast<uint8_t>(wanted.index()));
    const std::string have = found == pcrs.end() ? "not quoted" : base::ToHex(found->second);
    if (have == wanted.sha256()) continue;
    return absl::StrCat("PCR", wanted.index(), " is ", have, ", \"", measurement.name(), "\" has ",
                        wanted.sha256());
  }
  return "";
}

void CheckMeasurement(const PcrValues& pcrs, const v1::VtpmPolicy& policy, CheckList* checks) {
  constexpr std::string_view kWhat = "the registers are those of a known system";
  for (const auto& [index, value] : pcrs) {
    checks->appraisal().claims[absl::StrFormat("pcr%02d", index)] = base::ToHex(value);
  }
  if (policy.any_measurement()) {
    checks->Skip("VTPM_MEASUREMENT", kWhat, "the policy takes any measurement");
    return;
  }
  std::string nearest;
  for (const v1::VtpmMeasurement& measurement : policy.measurements()) {
    const std::string difference = Difference(pcrs, measurement);
    if (difference.empty()) {
      checks->appraisal().claims["pcr_measurement_name"] = measurement.name();
      checks->Pass("VTPM_MEASUREMENT", kWhat, measurement.name());
      return;
    }
    if (nearest.empty()) nearest = difference;
  }
  checks->Fail("VTPM_MEASUREMENT", kWhat,
               absl::StrCat("none of the policy's ", policy.measurements_size(),
                            " measurements matches: ", nearest),
               "the peer booted another system or version; list it in vtpm.measurements if you "
               "trust it");
}

}  // namespace

void CheckQuote(const VtpmEvidence& evidence, const RuntimeClaims& claims,
                const v1::VtpmPolicy& policy, const ReportDataExpectation& expected,
                CheckList* checks) {
  CheckSignature(evidence, claims, checks);
  constexpr std::string_view kFormWhat = "the TPM quote is well formed";
  const absl::StatusOr<Quote> quote = ParseQuote(evidence.quote);
  if (!quote.ok()) {
    checks->Fail("VTPM_QUOTE_FORM", kFormWhat, std::string(quote.status().message()));
    return;
  }
  checks->Pass("VTPM_QUOTE_FORM", kFormWhat);
  auto& out = checks->appraisal().claims;
  out["tpm_reset_count"] = absl::StrCat(quote->reset_count);
  out["tpm_restart_count"] = absl::StrCat(quote->restart_count);
  out["tpm_firmware"] = absl::StrFormat("0x%x", quote->firmware_version);
  CheckAk(evidence, claims, *quote, policy, checks);
  CheckNonce(*quote, expected, checks);
  const PcrValues pcrs = CheckPcrs(evidence, *quote, checks);
  if (!pcrs.empty()) CheckMeasurement(pcrs, policy, checks);
}

}  // namespace caravan::attestation::tpm
