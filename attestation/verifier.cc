// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifier.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/check_list.h"
#include "attestation/composite.h"
#include "attestation/known_signatures.h"
#include "attestation/nvidia/verifier.h"
#include "attestation/sev_snp/verifier.h"
#include "attestation/sgx/verifier.h"
#include "attestation/tdx/verifier.h"
#include "attestation/tpm/verifier.h"

namespace caravan::attestation {
namespace {

void VerifyItem(const Evidence& item, const Endorsements& endorsements, const Policy& policy,
                const ReportDataExpectation& expected, absl::Time now, CheckList* checks) {
  switch (item.kind) {
    case EvidenceKind::kSevSnp:
      sev_snp::Verify(item, endorsements, policy, expected, now, checks);
      return;
    case EvidenceKind::kTdx:
      tdx::Verify(item, endorsements, policy, expected, now, checks);
      return;
    case EvidenceKind::kSgx:
      sgx::Verify(item, endorsements, policy, expected, now, checks);
      return;
    case EvidenceKind::kVtpm:
      tpm::Verify(item, endorsements, policy, expected, now, checks);
      return;
    case EvidenceKind::kNvidia:  // as a set: VerifyStored
      break;
  }
  const std::string kind(Name(item.kind));
  std::string id = absl::AsciiStrToUpper(kind);
  if (id == "UNKNOWN") id = "EVIDENCE";
  checks->Missing(absl::StrCat(id, "_UNSUPPORTED"), "there is a verifier for the evidence",
                  absl::StrCat("this version cannot verify ", kind, " evidence"));
}

class PolicyAppraiser : public Appraiser {
 public:
  PolicyAppraiser(Policy policy, Endorsements endorsements)
      : policy_(std::move(policy)),
        endorsements_(WithMemory(std::move(endorsements))),
        digest_(attestation::PolicyDigest(policy_)) {}

  Appraisal Appraise(const EvidenceSet& evidence, const ReportData& expected,
                     absl::Time now) const override {
    return Verify(evidence, endorsements_, policy_, expected, now);
  }
  Appraisal AppraiseFor(const EvidenceSet& evidence, const EvidenceRequest& expected,
                        absl::Time now) const override {
    return VerifyFor(evidence, endorsements_, policy_, expected, now);
  }
  crypto::Sha256Digest PolicyDigest() const override { return digest_; }
  std::string PolicyName() const override { return policy_.name(); }

 private:
  static Endorsements WithMemory(Endorsements endorsements) {
    endorsements.known_signatures = std::make_shared<KnownSignatures>();
    return endorsements;
  }

  const Policy policy_;
  const Endorsements endorsements_;
  const crypto::Sha256Digest digest_;
};

}  // namespace

Appraisal Verify(const EvidenceSet& evidence, const Endorsements& endorsements,
                 const Policy& policy, const ReportData& expected, absl::Time now) {
  return VerifyStored(evidence, endorsements, policy, ReportDataExpectation::Exactly(expected),
                      now);
}

Appraisal VerifyFor(const EvidenceSet& evidence, const Endorsements& endorsements,
                    const Policy& policy, const EvidenceRequest& expected, absl::Time now) {
  return VerifyStored(evidence, endorsements, policy, ReportDataExpectation::OfSession(expected),
                      now);
}

Appraisal VerifyStored(const EvidenceSet& evidence, const Endorsements& endorsements,
                       const Policy& policy, const ReportDataExpectation& expected,
                       absl::Time now) {
  Appraisal appraisal;
  CheckList checks(&appraisal);
  if (absl::Status valid = ValidatePolicy(policy); !valid.ok()) {
    checks.Fail("POLICY_INVALID", "the policy is valid", std::string(valid.message()));
  } else if (evidence.items.empty()) {
    checks.Missing("EVIDENCE_EMPTY", "there is evidence", "the evidence set is empty");
  } else {
    Policy canonical = policy;
    CanonicalizePolicy(&canonical);
    CheckShape(evidence, expected, &checks);
    std::set<EvidenceKind> cpus;
    std::vector<nvidia::Device> devices;
    for (const Evidence& item : evidence.items) {
      if (IsDevice(item)) {
        const auto index = static_cast<uint32_t>(devices.size());
        devices.push_back({item, ExpectedOfDevice(evidence, index, expected)});
        continue;
      }
      if (!cpus.insert(item.kind).second) {
        checks.Fail("EVIDENCE_DUPLICATE", "each CPU kind stands once in the set",
                    absl::StrCat(std::string(Name(item.kind)), " evidence stands twice"));
        continue;
      }
      VerifyItem(item, endorsements, canonical, expected, now, &checks);
    }
    nvidia::DeviceCounts counts;
    if (!devices.empty()) {
      counts = nvidia::Verify(devices, endorsements, canonical, now, &checks);
    }
    CheckComposite(evidence, {.gpus = counts.gpus, .switches = counts.switches}, canonical,
                   &checks);
  }
  checks.Conclude();
  return appraisal;
}

absl::StatusOr<std::unique_ptr<Appraiser>> MakeAppraiser(Policy policy, Endorsements endorsements) {
  if (absl::Status valid = ValidatePolicy(policy); !valid.ok()) return valid;
  return std::make_unique<PolicyAppraiser>(std::move(policy), std::move(endorsements));
}

}  // namespace caravan::attestation
