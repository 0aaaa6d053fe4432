// SPDX-License-Identifier: Apache-2.0
#include "attestation/ear.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/json_text.h"

namespace caravan::attestation {
namespace {

constexpr size_t kMinNonce = 8;
constexpr size_t kMaxNonce = 64;

struct ProfileNames {
  const char* profile;
  const char* status;
  const char* vector;
  const char* policy;
  bool policies;  // a list of them
  const char* verifier;
  bool overall;  // a status of the whole
};

constexpr ProfileNames kIetfNames = {"tag:ietf.org,2026:rats/ear#04",
                                     "ear_status",
                                     "ear_trustworthiness_vector",
                                     "ear_appraisal_policy_ids",
                                     true,
                                     "ear_verifier_id",
                                     true};
constexpr ProfileNames kVeraisonNames = {"tag:github.com,2023:veraison/ear",
                                         "ear.status",
                                         "ear.trustworthiness-vector",
                                         "ear.appraisal-policy-id",
                                         false,
                                         "ear.verifier-id",
                                         false};

// The attesters that checks may speak of, by the beginning of their ids.
struct Attester {
  std::string_view prefix;
  std::string_view label;  // of the submodule
};
constexpr Attester kAttesters[] = {
    {"SNP_", "sev-snp"}, {"TDX_", "tdx"}, {"SGX_", "sgx"}, {"NVIDIA_", "nvidia"}, {"VTPM_", "vtpm"},
};

std::string Quoted(std::string_view text) {
  std::string out;
  base::AppendJsonString({text.data(), text.size()}, &out);
  return out;
}

// Members of one object, in the order in which they are added.
class Object {
 public:
  Object& Add(std::string_view name, const std::string& json) {
    absl::StrAppend(&members_, members_.empty() ? "" : ",", Quoted(name), ":", json);
    return *this;
  }
  Object& Text(std::string_view name, std::string_view text) { return Add(name, Quoted(text)); }
  std::string Take() const { return absl::StrCat("{", members_, "}"); }
  bool empty() const { return members_.empty(); }

 private:
  std::string members_;
};

bool Belongs(const Check& check, std::string_view prefix) {
  return std::string_view(check.id).starts_with(prefix);
}

bool IsAnyAttesters(const Check& check) {
  return std::any_of(std::begin(kAttesters), std::end(kAttesters),
                     [&](const Attester& attester) { return Belongs(check, attester.prefix); });
}

// The status by the attester's own checks and by those that speak of the whole; where the whole is
// only good for a warning, so is its part.
Verdict StatusOf(const Appraisal& appraisal, std::string_view prefix) {
  bool failed = false, missing = appraisal.checks.empty();
  bool warned = appraisal.verdict != Verdict::kAffirming;
  for (const Check& check : appraisal.checks) {
    if (!Belongs(check, prefix) && IsAnyAttesters(check)) continue;
    failed |= check.outcome == Outcome::kFailed;
    missing |= check.outcome == Outcome::kMissing;
    warned |= check.outcome == Outcome::kWarned;
  }
  return failed    ? Verdict::kContraindicated
         : missing ? Verdict::kNone
         : warned  ? Verdict::kWarning
                   : Verdict::kAffirming;
}

// Base64 with padding (RFC 9711, 4.1: a text of 8 to 88 characters).
std::string NonceText(std::string_view bytes) {
  return Quoted(absl::Base64Escape({bytes.data(), bytes.size()}));
}

// What this verifier says besides, under a name of its own: claims, and checks that did not pass.
std::string Extension(const Appraisal& appraisal, std::string_view prefix) {
  Object checks, claims;
  for (const Check& check : appraisal.checks) {
    const bool ours = Belongs(check, prefix) || !IsAnyAttesters(check);
    if (!ours || check.outcome == Outcome::kPassed) continue;
    checks.Text(check.id, absl::StrCat(std::string(Name(check.outcome)), ": ", check.detail));
  }
  for (const auto& [name, value] : appraisal.claims) claims.Text(name, value);
  return Object()
      .Text("platform", appraisal.platform)
      .Add("insecure", appraisal.insecure ? "true" : "false")
      .Add("checks", checks.Take())
      .Add("claims", claims.Take())
      .Take();
}

std::string Submodule(const Appraisal& appraisal, const Attester& attester,
                      const EarOptions& options, const ProfileNames& names) {
  Object vector;
  for (const auto& [claim, value] : TrustVectorOf(appraisal, attester.prefix)) {
    vector.Add(claim, absl::StrCat(value));
  }
  Object submodule;
  submodule.Text(names.status, Name(StatusOf(appraisal, attester.prefix)))
      .Add(names.vector, vector.Take());
  const std::string policy = Quoted(options.policy_id);
  submodule.Add(names.policy, names.policies ? absl::StrCat("[", policy, "]") : policy);
  const auto report_data = appraisal.claims.find("report_data");
  if (report_data != appraisal.claims.end()) {
    const std::optional<std::string> bytes = base::FromHex(report_data->second);
    if (bytes.has_value() && CheckEarNonce(*bytes).ok() && !bytes->empty()) {
      submodule.Add("eat_nonce", NonceText(*bytes));
    }
  }
  submodule.Add("caravan", Extension(appraisal, attester.prefix));
  return submodule.Take();
}

}  // namespace

absl::Status CheckEarNonce(std::string_view nonce) {
  if (nonce.empty() || (nonce.size() >= kMinNonce && nonce.size() <= kMaxNonce)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nonce has ", nonce.size(), " bytes, expected ", kMinNonce, " to ", kMaxNonce));
}

std::string EarClaims(const Appraisal& appraisal, const EarOptions& options) {
  const ProfileNames& names = options.profile == EarProfile::kIetf ? kIetfNames : kVeraisonNames;
  Object submodules;
  for (const Attester& attester : kAttesters) {
    const bool there =
        std::any_of(appraisal.checks.begin(), appraisal.checks.end(),
                    [&](const Check& check) { return Belongs(check, attester.prefix); });
    if (there) {
      submodules.Add(attester.label, Submodule(appraisal, attester, options, names));
    }
  }
  // Where nothing could be told apart, the whole stands for its parts.
  if (submodules.empty()) {
    submodules.Add("evidence", Submodule(appraisal, {"", "evidence"}, options, names));
  }
  Object claims;
  claims.Text("eat_profile", names.profile);
  if (names.overall) claims.Text(names.status, Name(appraisal.verdict));
  claims.Add("iat", absl::StrCat(absl::ToUnixSeconds(options.issued)))
      .Add(names.verifier,
           Object().Text("developer", options.developer).Text("build", options.build).Take());
  if (!options.nonce.empty()) claims.Add("eat_nonce", NonceText(options.nonce));
  claims.Add("submods", submodules.Take())
      .Add("caravan",
           Object()
               .Text("appraised_at",
                     absl::FormatTime(absl::RFC3339_sec, options.appraised, absl::UTCTimeZone()))
               .Take());
  return claims.Take();
}

}  // namespace caravan::attestation
