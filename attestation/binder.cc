// SPDX-License-Identifier: Apache-2.0
#include "attestation/binder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::attestation {
namespace {

constexpr size_t kPurposeSize = 16;

}  // namespace

absl::StatusOr<ReportData> MakeReportData(crypto::Role attester, const Binder& binder,
                                          const crypto::Sha256Digest& attester_spki,
                                          std::string_view purpose,
                                          const crypto::SessionId& session) {
  if (purpose.empty() || purpose.size() > kPurposeSize) {
    return absl::InvalidArgumentError(absl::StrCat("report data: purpose has ", purpose.size(),
                                                   " bytes, expected 1 to ", kPurposeSize));
  }
  // A purpose that ends in a zero byte would share its padded form with a shorter one.
  if (purpose.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("report data: purpose holds a zero byte");
  }
  crypto::ByteWriter writer;
  writer.Label("caravan/1 report")
      .U8(static_cast<uint8_t>(attester))
      .Fixed(binder.bytes)
      .Fixed(attester_spki);
  const crypto::Sha256Digest digest = crypto::Sha256(writer.span());

  ReportData data;
  auto out = std::copy(digest.begin(), digest.end(), data.bytes.begin());
  std::copy(purpose.begin(), purpose.end(), out);
  std::copy(session.begin(), session.end(), data.bytes.end() - session.size());
  return data;
}

DeviceNonce MakeDeviceNonce(crypto::Role attester, const Binder& binder,
                            const crypto::Sha256Digest& cpu_evidence, uint32_t index,
                            uint32_t count) {
  crypto::ByteWriter writer;
  writer.Label("caravan/1 gpu")
      .U8(static_cast<uint8_t>(attester))
      .Fixed(binder.bytes)
      .Fixed(cpu_evidence)
      .U32(index)
      .U32(count);
  return DeviceNonce{crypto::Sha256(writer.span())};
}

crypto::Sha256Digest TpmNonce(const ReportData& data) { return crypto::Sha256(data.bytes); }

}  // namespace caravan::attestation
