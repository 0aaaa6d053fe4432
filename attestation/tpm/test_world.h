// SPDX-License-Identifier: Apache-2.0
//
// A machine with a vTPM, a policy and evidence that pass, each part of which a test may spoil
// before Appraise().
#ifndef CARAVAN_ATTESTATION_TPM_TEST_WORLD_H_
#define CARAVAN_ATTESTATION_TPM_TEST_WORLD_H_

#include <functional>
#include <string>
#include <string_view>

#include "attestation/insecure_software/forge_vtpm.h"
#include "attestation/intel/test_world.h"
#include "attestation/sev_snp/test_world.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/verifier.h"

namespace caravan::attestation::tpm {

class VtpmWorld {
 public:
  explicit VtpmWorld(HardwareType type, intel::WorldKind kind = intel::WorldKind::kTd10);

  // Signs and assembles everything as it stands now, and verifies it.
  Appraisal Appraise();
  // The first half of that.
  std::pair<Evidence, Endorsements> Make();

  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated);
  void ExpectAccepted();

  v1::VtpmPolicy& vtpm() { return *policy.mutable_vtpm(); }
  bool snp() const { return type_ == HardwareType::kSnp; }

  attestation::TestWorld snp_world;
  intel::TestWorld td_world;
  EvpPkeyPtr ak = *insecure_software::MakeRsaKey();
  EVP_PKEY* quote_key = ak.get();

  std::string claims;  // the runtime claims
  PcrValues pcrs;
  insecure_software::TpmQuoteSpec quote;  // extra data and digest are filled in
  uint32_t ak_attributes = 0x00050072;
  bool with_ak_public = false, wrap_signature = false, with_nonce = true, bind_claims = true;
  ReportData expected;
  Policy policy;
  absl::Time now;

  std::function<void(std::string*)> edit_td_report = [](std::string*) {};
  std::function<void(std::string*)> edit_hcl_report = [](std::string*) {};
  std::function<void(std::string*)> edit_quote = [](std::string*) {};       // not signed yet
  std::function<void(VtpmEvidence*)> edit_evidence = [](VtpmEvidence*) {};  // signed

 private:
  const HardwareType type_;
};

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_TEST_WORLD_H_
