// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/insecure_td_attester.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attestation/insecure_software/forge_collateral.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/pem.h"

namespace caravan::attestation {
namespace {

using insecure_software::IntelIssuer;

// Offsets in a TD report's body (Intel TDX DCAP Quote Library API, A.3.2 and A.3.3).
constexpr size_t kTd10Size = 584, kTd15Size = 648;
constexpr size_t kAttributes = 120, kXfam = 128, kMrtd = 136, kReportData = 520, kSvn2 = 584;
constexpr char kSeptVeDisable = 0x10;  // of attribute byte 3
constexpr char kX87AndSse = 0x03;

class InsecureTdAttester : public Attester {
 public:
  InsecureTdAttester(insecure_software::QuoteSpec spec, EvpPkeyPtr attestation_key,
                     IntelIssuer::IssuedKey pck)
      : spec_(std::move(spec)), attestation_key_(std::move(attestation_key)), pck_(std::move(pck)) {
    spec_.attestation_key = attestation_key_.get();
    spec_.pck_key = pck_.key.get();
    spec_.certification_data = CertificatesToPem(pck_.chain);
  }

  absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) override {
    insecure_software::QuoteSpec spec = spec_;
    std::copy(report_data.bytes.begin(), report_data.bytes.end(), spec.body.begin() + kReportData);
    absl::StatusOr<std::string> quote = insecure_software::MakeQuote(spec);
    if (!quote.ok()) return quote.status();
    return EvidenceSet{{{EvidenceKind::kTdx, *std::move(quote), {}}}};
  }
  std::string Describe() const override { return "insecure-software tdx"; }

 private:
  insecure_software::QuoteSpec spec_;
  const EvpPkeyPtr attestation_key_;
  const IntelIssuer::IssuedKey pck_;
};

std::string MakeBody(const InsecureTdOptions& options) {
  std::string body(options.td15 ? kTd15Size : kTd10Size, '\0');
  body[0] = static_cast<char>(insecure_software::kTdxModuleSvn);
  body[1] = static_cast<char>(insecure_software::kTdxModuleVersion);
  body[2] = static_cast<char>(insecure_software::kTdxSvn);
  body[kAttributes + 3] = kSeptVeDisable;
  body[kXfam] = kX87AndSse;
  std::copy(options.measurement.begin(), options.measurement.end(), body.begin() + kMrtd);
  if (options.td15) std::copy_n(body.begin(), 16, body.begin() + kSvn2);
  return body;
}

}  // namespace

std::array<uint8_t, 16> DeriveInsecurePpid(std::string_view node_name) {
  crypto::ByteWriter writer;
  writer.Label("caravan/1 insecure ppid").Prefixed(node_name);
  const crypto::Sha256Digest digest = crypto::Sha256(writer.span());
  std::array<uint8_t, 16> ppid{};
  std::copy_n(digest.begin(), ppid.size(), ppid.begin());
  return ppid;
}

absl::StatusOr<std::unique_ptr<Attester>> MakeInsecureTdAttester(const InsecureRoot& root,
                                                                 const InsecureTdOptions& options,
                                                                 absl::Time now) {
  if (root.intel() == nullptr) {
    return absl::FailedPreconditionError(
        "insecure root: it was made without a part for tdx; make another with caravanctl "
        "insecure-root create");
  }
  const std::string ppid(options.ppid.begin(), options.ppid.end());
  if (ppid.find_first_not_of('\0') == std::string::npos) {
    return absl::InvalidArgumentError("insecure td attester: ppid is zero");
  }
  absl::StatusOr<IntelIssuer::IssuedKey> pck = root.intel()->IssuePck(ppid, now);
  if (!pck.ok()) return pck.status();
  absl::StatusOr<EvpPkeyPtr> attestation_key = insecure_software::MakeP256Key();
  if (!attestation_key.ok()) return attestation_key.status();
  insecure_software::QuoteSpec spec;
  spec.version = options.td15 ? 5 : 4;
  spec.body_type = options.td15 ? intel::BodyType::kTd15 : intel::BodyType::kTd10;
  spec.body = MakeBody(options);
  spec.qe_report = insecure_software::QeReport(insecure_software::kQeSvn);
  return std::make_unique<InsecureTdAttester>(std::move(spec), *std::move(attestation_key),
                                              *std::move(pck));
}

}  // namespace caravan::attestation
