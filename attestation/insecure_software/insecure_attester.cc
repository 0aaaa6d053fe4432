// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/insecure_attester.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/sev_snp/report.h"
#include "attestation/sev_snp/signature.h"

namespace caravan::attestation {
namespace {

using sev_snp::Report;

// Memory aliases checked and ECC on; no SMT, no debug, no migration.
constexpr uint64_t kPlatformInfo = 1u << 5 | 1u << 2;
constexpr uint64_t kGuestPolicy = 1u << sev_snp::kMustBeOne;
constexpr sev_snp::FirmwareVersion kFirmware{.major = 1, .minor = 55, .build = 1};

void SetCpuid(v1::SnpProduct product, Report* report) {
  report->cpuid_family = product == v1::TURIN ? 0x1A : 0x19;
  report->cpuid_model = product == v1::GENOA ? 0x11 : product == v1::TURIN ? 0x02 : 0x01;
  report->cpuid_stepping = 1;
}

class InsecureAttester : public Attester {
 public:
  InsecureAttester(Report report, EvpPkeyPtr key, std::vector<std::string> certificates)
      : report_(std::move(report)), key_(std::move(key)), certificates_(std::move(certificates)) {}

  absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) override {
    Report report = report_;
    report.report_data = report_data.bytes;
    std::string bytes = insecure_software::SerializeReport(report);
    if (absl::Status status = sev_snp::SignReport(key_.get(), &bytes); !status.ok()) return status;
    return EvidenceSet{{{EvidenceKind::kSevSnp, std::move(bytes), certificates_}}};
  }
  std::string Describe() const override { return "insecure-software"; }

 private:
  const Report report_;
  const EvpPkeyPtr key_;
  const std::vector<std::string> certificates_;
};

}  // namespace

std::array<uint8_t, 64> DeriveInsecureChipId(std::string_view node_name) {
  std::array<uint8_t, 64> id{};
  for (uint8_t half = 0; half < 2; ++half) {
    crypto::ByteWriter writer;
    writer.Label("caravan/1 insecure chip id").U8(half).Prefixed(node_name);
    const crypto::Sha256Digest digest = crypto::Sha256(writer.span());
    std::copy(digest.begin(), digest.end(), id.begin() + half * digest.size());
  }
  return id;
}

absl::StatusOr<std::unique_ptr<Attester>> MakeInsecureAttester(
    const InsecureRoot& root, const InsecureAttesterOptions& options, absl::Time now) {
  if (options.report_version != 3 && options.report_version != 5) {
    return absl::InvalidArgumentError(absl::StrCat("insecure attester: report version ",
                                                   options.report_version, ", expected 3 or 5"));
  }
  const size_t hwid_size = root.product() == v1::TURIN ? 8 : options.chip_id.size();
  std::string hwid(options.chip_id.begin(), options.chip_id.begin() + hwid_size);
  if (hwid.find_first_not_of('\0') == std::string::npos) {
    return absl::InvalidArgumentError("insecure attester: chip id is zero");
  }
  absl::StatusOr<InsecureRoot::IssuedKey> issued = root.IssueVcek(hwid, options.tcb, now);
  if (!issued.ok()) return issued.status();

  Report report;
  report.version = options.report_version;
  report.guest_svn = options.guest_svn;
  report.policy = kGuestPolicy;
  report.signature_algorithm = sev_snp::kEcdsaP384Sha384;
  report.platform_info = kPlatformInfo;
  report.measurement = options.measurement;
  report.host_data = options.host_data;
  crypto::ByteWriter writer;
  writer.Label("caravan/1 insecure report id").Fixed(options.chip_id).Fixed(options.measurement);
  report.report_id = crypto::Sha256(writer.span());
  report.report_id_ma.fill(0xFF);
  const sev_snp::RawTcb tcb = sev_snp::EncodeTcb(options.tcb, root.product());
  report.reported_tcb = report.committed_tcb = report.current_tcb = report.launch_tcb = tcb;
  SetCpuid(root.product(), &report);
  std::copy(hwid.begin(), hwid.end(), report.chip_id.begin());
  report.current = report.committed = kFirmware;

  std::vector<std::string> certificates = {issued->certificate};
  for (std::string& der : root.ChainDer()) certificates.push_back(std::move(der));
  return std::make_unique<InsecureAttester>(std::move(report), std::move(issued->key),
                                            std::move(certificates));
}

}  // namespace caravan::attestation
