// SPDX-License-Identifier: Apache-2.0
//
// A manifest that passes, each part of which a test may spoil before Find().
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_WORLD_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_WORLD_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "attestation/insecure_software/forge_rim.h"
#include "attestation/known_signatures.h"
#include "attestation/nvidia/rim_check.h"
#include "attestation/policy/policy.h"

namespace caravan::attestation::nvidia {

// Two driver measurements of GH100 545.00: index 7 with one value, index 21 with two.
Rim TestRim();
// 48 bytes of `value`.
crypto::Sha384Digest TestDigest(uint8_t value);

class RimWorld {
 public:
  using TextEdit = std::function<void(std::string*)>;

  explicit RimWorld(const std::string& product = "GH100");

  // Signs everything as it stands now.
  std::string Document();
  // Looks for the request's manifest among Document() and what `more` adds.
  std::optional<VerifiedRim> Find();

  // Expect that the manifest is refused by this check ("SIGNATURE"; "" for the request's own id)
  // before any other, or accepted.
  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated);
  void ExpectAccepted();
  const Appraisal& appraisal() const { return appraisal_; }
  std::string Explain() const;

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);  // 2026-05-28
  insecure_software::RimChain chain;
  Rim rim;
  RimRequest request;
  Policy policy;
  bool pin_root = true;
  EVP_PKEY* document_key = nullptr;  // the leaf's, unless set
  std::function<void(std::vector<std::string>*)> edit_certificates = [](auto*) {};
  TextEdit edit_text = [](std::string*) {};      // not signed yet
  TextEdit edit_document = [](std::string*) {};  // signed
  std::function<void(Endorsements*)> more = [](auto*) {};

 private:
  Appraisal appraisal_;
  // What held before must not help what differs.
  const std::shared_ptr<KnownSignatures> known_ = std::make_shared<KnownSignatures>();
};

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_WORLD_H_
