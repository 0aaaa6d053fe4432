// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/signature.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "attestation/sev_snp/report.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr size_t kScalarSize = 48;

// Appends the scalar that begins at `at`, turned to big endian.
absl::Status AppendScalar(std::string_view report, size_t at, const char* name, std::string* out) {
  const std::string_view part = report.substr(at, kSignaturePartSize);
  if (part.substr(kScalarSize).find_first_not_of('\0') != std::string_view::npos) {
    return absl::UnauthenticatedError(absl::StrCat("signature's ", name, " is over 48 bytes"));
  }
  const std::string_view scalar = part.substr(0, kScalarSize);
  out->append(scalar.rbegin(), scalar.rend());
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReportSignature(std::string_view report, EVP_PKEY* key) {
  if (report.size() != kReportSize) {
    return absl::UnauthenticatedError(absl::StrCat("report of ", report.size(), " bytes"));
  }
  std::string signature;
  if (absl::Status r = AppendScalar(report, kSignedSize, "r", &signature); !r.ok()) return r;
  absl::Status s = AppendScalar(report, kSignedSize + kSignaturePartSize, "s", &signature);
  if (!s.ok()) return s;
  return CheckEcdsa(Curve::kP384, key, signature, report.substr(0, kSignedSize));
}

absl::Status SignReport(EVP_PKEY* key, std::string* report) {
  if (report->size() != kReportSize) {
    return absl::InvalidArgumentError("signing needs a report of 1184 bytes");
  }
  absl::StatusOr<std::string> signature =
      SignEcdsa(Curve::kP384, key, std::string_view(*report).substr(0, kSignedSize));
  if (!signature.ok()) return signature.status();
  const auto at = report->begin() + kSignedSize;
  std::fill(at, report->begin() + kSignatureEnd, '\0');
  std::reverse_copy(signature->begin(), signature->begin() + kScalarSize, at);
  std::reverse_copy(signature->begin() + kScalarSize, signature->end(), at + kSignaturePartSize);
  return absl::OkStatus();
}

}  // namespace caravan::attestation::sev_snp
