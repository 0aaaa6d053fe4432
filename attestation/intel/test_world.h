// SPDX-License-Identifier: Apache-2.0
//
// A chain, collateral, a policy and a quote that pass, each part of which a test may spoil before
// Appraise().
#ifndef CARAVAN_ATTESTATION_INTEL_TEST_WORLD_H_
#define CARAVAN_ATTESTATION_INTEL_TEST_WORLD_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_collateral.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/known_signatures.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "gtest/gtest.h"

namespace caravan::attestation::intel {

enum class WorldKind { kTd10, kTd10InV5, kTd15, kTd15Extended, kSgx3, kSgx4, kSgx5 };

using TestTcbLevel = insecure_software::TcbLevelSpec;
using TestSvnLevel = insecure_software::SvnLevelSpec;

class TestWorld {
 public:
  using CertificateSpec = insecure_software::CertificateSpec;
  using TextEdit = std::function<void(std::string*)>;

  explicit TestWorld(WorldKind kind = WorldKind::kTd10);

  // Signs and assembles everything as it stands now.
  std::pair<EvidenceSet, Endorsements> Assemble();
  // Verifies what Assemble() gives.
  Appraisal Appraise();

  // Expects that the world is refused, by the check `id` ("CHAIN": with the kind's prefix) before
  // any other.
  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated);
  void ExpectAccepted();
  // The outcome of the check, the worst where it stands twice, or "absent".
  std::string OutcomeOf(const Appraisal& appraisal, std::string_view id) const;
  static std::string Explain(const Appraisal& appraisal);

  bool tdx() const { return kind_ < WorldKind::kSgx3; }
  v1::TdxPolicy& tdx_policy() { return *policy.mutable_tdx(); }
  v1::SgxPolicy& sgx_policy() { return *policy.mutable_sgx(); }
  v1::IntelPlatformPolicy& platform() {
    return tdx() ? *tdx_policy().mutable_platform() : *sgx_policy().mutable_platform();
  }
  // Accepts these statuses alone, for ever.
  void Accept(std::initializer_list<v1::IntelTcbStatus> statuses);

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);  // 2026-05-28
  EvpPkeyPtr root_key = *insecure_software::MakeP256Key();
  EvpPkeyPtr ca_key = *insecure_software::MakeP256Key();
  EvpPkeyPtr pck_key = *insecure_software::MakeP256Key();
  EvpPkeyPtr signer_key = *insecure_software::MakeP256Key();
  EvpPkeyPtr attestation_key = *insecure_software::MakeP256Key();
  CertificateSpec root, ca, pck, signer;
  insecure_software::PckSpec pck_spec;
  insecure_software::CrlSpec root_crl, pck_crl;
  bool with_root_crl = true, with_pck_crl = true, pin_root = true;

  insecure_software::QuoteSpec quote;  // keys, body and certification data are filled in
  std::string body, qe_report;
  EVP_PKEY* document_key = signer_key.get();
  EVP_PKEY* identity_key = nullptr;  // of the QE identity alone; null: document_key

  std::string info_id, identity_id, fmspc, pce_id = "0000";
  int evaluation_number = 18;
  absl::Time issue_date = now - absl::Hours(24), next_update = now + absl::Hours(24);
  // For the QE identity alone, where it is to differ from the TCB info.
  std::optional<int> qe_evaluation_number;
  std::optional<absl::Time> qe_issue_date, qe_next_update;
  std::vector<TestTcbLevel> levels;
  std::vector<TestSvnLevel> module_levels, qe_levels;
  std::string module_id = "TDX_01";

  ReportData expected;
  Policy policy;
  TextEdit edit_quote = [](std::string*) {};                                 // signed
  TextEdit edit_tcb_info = [](std::string*) {};                              // not signed yet
  TextEdit edit_identity = [](std::string*) {};                              // not signed yet
  TextEdit edit_signed_tcb_info = [](std::string*) {};                       // the whole document
  TextEdit edit_signed_identity = [](std::string*) {};                       // the whole document
  std::function<void(std::vector<std::string>*)> edit_chain = [](auto*) {};  // DER, in the quote
  std::function<void(Endorsements*)> edit_endorsements = [](auto*) {};

 private:
  void MakeBodies();
  void MakePolicy();
  std::string TcbInfoBody() const;
  std::string IdentityBody() const;
  Endorsements MakeEndorsements(const std::string& signer_der);
  void Pin(const std::string& der);

  const WorldKind kind_;
  // What held before must not help what differs.
  const std::shared_ptr<KnownSignatures> known_ = std::make_shared<KnownSignatures>();
};

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_TEST_WORLD_H_
