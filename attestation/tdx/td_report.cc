// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/td_report.h"

#include <algorithm>

namespace caravan::attestation::tdx {
namespace {

// Takes fields off the front of a body whose size the quote's parser has checked.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  std::string_view Take(size_t size) {
    const std::string_view field = bytes_.substr(0, size);
    bytes_.remove_prefix(std::min(size, bytes_.size()));
    return field;
  }
  std::string_view Rest() const { return bytes_; }
  std::string_view Register() { return Take(kRegisterSize); }
  uint64_t U64() {
    const std::string_view field = Take(8);
    uint64_t value = 0;
    for (size_t i = field.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(field[i]);
    return value;
  }
  intel::Svns Svns() {
    intel::Svns svns{};
    const std::string_view field = Take(svns.size());
    std::copy(field.begin(), field.end(), svns.begin());
    return svns;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

TdReport ViewTdReport(intel::BodyType type, std::string_view body) {
  Fields fields(body);
  TdReport report;
  report.tee_tcb_svn = fields.Svns();
  report.mr_seam = fields.Register();
  report.mr_signer_seam = fields.Register();
  report.seam_attributes = fields.Take(8);
  report.attributes = fields.U64();
  report.xfam = fields.U64();
  report.mrtd = fields.Register();
  report.mr_config_id = fields.Register();
  report.mr_owner = fields.Register();
  report.mr_owner_config = fields.Register();
  for (std::string_view& rtmr : report.rtmr) rtmr = fields.Register();
  report.report_data = fields.Take(64);
  if (type == intel::BodyType::kTd10) return report;
  report.tee_tcb_svn2 = fields.Svns();
  report.mr_service_td = fields.Register();
  report.extension = fields.Rest();
  return report;
}

}  // namespace caravan::attestation::tdx
