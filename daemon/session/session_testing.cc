// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/session_testing.h"

#include <utility>

#include "attestation/evidence.h"
#include "crypto/hash.h"

namespace caravan::session {
namespace {

using attestation::Appraisal;
using attestation::Check;
using attestation::Outcome;

// Report: report_data[64] ‖ mac[48] ‖ measurement.
constexpr size_t kMacAt = 64;
constexpr size_t kMeasurementAt = 64 + 48;

std::string Mac(const std::string& signer, const std::string& signed_part) {
  absl::StatusOr<crypto::SecretBytes> key = crypto::SecretBytes::Copy(crypto::AsBytes(signer));
  if (!key.ok()) return "";
  absl::StatusOr<crypto::Sha384Digest> mac = crypto::HmacSha384(*key, crypto::AsBytes(signed_part));
  return mac.ok() ? std::string(mac->begin(), mac->end()) : "";
}

void Require(bool holds, const char* id, const char* what, Appraisal* appraisal) {
  appraisal->checks.push_back(Check{id, what, holds ? Outcome::kPassed : Outcome::kFailed, "", ""});
  if (!holds) appraisal->verdict = attestation::Verdict::kContraindicated;
}

}  // namespace

absl::StatusOr<attestation::EvidenceSet> FakeAttester::Collect(
    const attestation::ReportData& report_data) {
  if (busy_.fetch_sub(1) > 0) return absl::UnavailableError("the fake TEE is busy");
  busy_ = 0;
  ++collected_;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string data(report_data.bytes.begin(), report_data.bytes.end());
  attestation::Evidence evidence;
  evidence.report = data + Mac(signer_, data + measurement_) + measurement_;
  return attestation::EvidenceSet{{std::move(evidence)}};
}

void FakeAttester::SetMeasurement(std::string measurement) {
  std::lock_guard<std::mutex> lock(mutex_);
  measurement_ = std::move(measurement);
}

Appraisal FakeAppraiser::Appraise(const attestation::EvidenceSet& evidence,
                                  const attestation::ReportData& expected,
                                  absl::Time /*now*/) const {
  Appraisal appraisal;
  appraisal.verdict = attestation::Verdict::kAffirming;
  appraisal.platform = "fake";
  const std::string report = evidence.items.size() == 1 ? evidence.items[0].report : "";
  const bool sized = report.size() >= kMeasurementAt;
  const std::string data = sized ? report.substr(0, kMacAt) : "";
  const std::string measurement = sized ? report.substr(kMeasurementAt) : "";
  Require(sized && report.substr(kMacAt, 48) == Mac("genuine", data + measurement),
          kFakeSignatureCheck, "the report is signed by a genuine fake", &appraisal);
  Require(data == std::string(expected.bytes.begin(), expected.bytes.end()), kFakeReportDataCheck,
          "the report is bound to this session", &appraisal);
  Require(measurement == "good", kFakeMeasurementCheck, "the measurement is listed", &appraisal);
  return appraisal;
}

crypto::Sha256Digest FakeAppraiser::PolicyDigest() const {
  return crypto::Sha256(crypto::AsBytes(policy_));
}

ManagerOptions LoopbackOptions(attestation::Attester* attester, attestation::Appraiser* appraiser) {
  ManagerOptions options;
  options.listen_address = "127.0.0.1:0";
  options.credentials.attester = Unowned(attester);
  options.credentials.appraiser = Unowned(appraiser);
  return options;
}

}  // namespace caravan::session
