// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr uint32_t kOldestVersion = 2;

// Reads at offsets inside a buffer whose size the caller has checked.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  uint8_t U8(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }
  uint64_t Little(size_t at, size_t size) const {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | U8(at + i);
    return value;
  }
  uint32_t U32(size_t at) const { return static_cast<uint32_t>(Little(at, 4)); }
  uint64_t U64(size_t at) const { return Little(at, 8); }
  template <size_t kSize>
  void Copy(size_t at, std::array<uint8_t, kSize>* out) const {
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(at), kSize, out->begin());
  }
  bool IsZero(size_t from, size_t end) const {
    return bytes_.substr(from, end - from).find_first_not_of('\0') == std::string_view::npos;
  }

 private:
  std::string_view bytes_;
};

FirmwareVersion Version(const Fields& fields, size_t at) {
  return {.major = fields.U8(at + 2), .minor = fields.U8(at + 1), .build = fields.U8(at)};
}

void FindUnknown(const Fields& fields, Report* report) {
  const auto note = [&](size_t from, size_t end, const char* name) {
    if (!fields.IsZero(from, end)) report->unknown.push_back(name);
  };
  if (report->version > kNewestKnownVersion) {
    report->unknown.push_back(absl::StrCat("version ", report->version));
  }
  if ((fields.U32(0x48) >> 5) != 0) report->unknown.push_back("key information bits 5 to 31");
  note(0x4C, 0x50, "bytes 0x4c to 0x4f");
  const size_t cpuid_end = report->version >= 3 ? 0x18B : 0x188;
  note(cpuid_end, 0x1A0, "bytes before CHIP_ID");
  note(0x1EB, 0x1EC, "byte 0x1eb");
  note(0x1EF, 0x1F0, "byte 0x1ef");
  note(report->version >= 5 ? 0x208 : 0x1F8, kSignedSize, "bytes before the signature");
}

}  // namespace

std::string FirmwareVersion::ToString() const {
  return absl::StrCat(static_cast<int>(major), ".", static_cast<int>(minor), ".",
                      static_cast<int>(build));
}

absl::StatusOr<Report> ParseReport(std::string_view bytes) {
  if (bytes.size() != kReportSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("snp report: ", bytes.size(), " bytes, expected ", kReportSize));
  }
  const Fields fields(bytes);
  Report report;
  report.version = fields.U32(0x000);
  if (report.version < kOldestVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("snp report: version ", report.version, ", expected 2 or later"));
  }
  report.guest_svn = fields.U32(0x004);
  report.policy = fields.U64(0x008);
  fields.Copy(0x010, &report.family_id);
  fields.Copy(0x020, &report.image_id);
  report.vmpl = fields.U32(0x030);
  report.signature_algorithm = fields.U32(0x034);
  fields.Copy(0x038, &report.current_tcb);
  report.platform_info = fields.U64(0x040);
  const uint32_t keys = fields.U32(0x048);
  report.author_key_enabled = (keys & 1) != 0;
  report.mask_chip_key = (keys >> 1 & 1) != 0;
  report.signing_key = static_cast<uint8_t>(keys >> 2 & 7);
  fields.Copy(0x050, &report.report_data);
  fields.Copy(0x090, &report.measurement);
  fields.Copy(0x0C0, &report.host_data);
  fields.Copy(0x0E0, &report.id_key_digest);
  fields.Copy(0x110, &report.author_key_digest);
  fields.Copy(0x140, &report.report_id);
  fields.Copy(0x160, &report.report_id_ma);
  fields.Copy(0x180, &report.reported_tcb);
  if (report.version >= 3) {
    report.cpuid_family = fields.U8(0x188);
    report.cpuid_model = fields.U8(0x189);
    report.cpuid_stepping = fields.U8(0x18A);
  }
  fields.Copy(0x1A0, &report.chip_id);
  fields.Copy(0x1E0, &report.committed_tcb);
  report.current = Version(fields, 0x1E8);
  report.committed = Version(fields, 0x1EC);
  fields.Copy(0x1F0, &report.launch_tcb);
  if (report.version >= 5) {
    report.launch_mitigations = fields.U64(0x1F8);
    report.current_mitigations = fields.U64(0x200);
  }
  FindUnknown(fields, &report);
  report.trailer_is_zero = fields.IsZero(kSignatureEnd, kReportSize);
  return report;
}

}  // namespace caravan::attestation::sev_snp
