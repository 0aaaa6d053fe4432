// SPDX-License-Identifier: Apache-2.0
//
// For tests: a TEE whose reports are the report data under a MAC, and the verifier that believes
// exactly those. Whoever has no FakeAttester cannot make evidence that FakeAppraiser takes.
#ifndef CARAVAN_DAEMON_SESSION_SESSION_TESTING_H_
#define CARAVAN_DAEMON_SESSION_SESSION_TESTING_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "attestation/attester.h"
#include "daemon/session/session.h"

namespace caravan::session {

// Checks in FakeAppraiser's appraisals.
inline constexpr char kFakeSignatureCheck[] = "FAKE_SIGNATURE";
inline constexpr char kFakeReportDataCheck[] = "FAKE_REPORT_DATA";
inline constexpr char kFakeMeasurementCheck[] = "FAKE_MEASUREMENT";

// Thread-safe.
class FakeAttester final : public attestation::Attester {
 public:
  // Signs with `signer`; a FakeAppraiser trusts "genuine" and wants measurement "good".
  explicit FakeAttester(std::string measurement = "good", std::string signer = "genuine")
      : measurement_(std::move(measurement)), signer_(std::move(signer)) {}

  absl::StatusOr<attestation::EvidenceSet> Collect(
      const attestation::ReportData& report_data) override;
  std::string Describe() const override { return "fake"; }

  int collected() const { return collected_; }
  // The next calls answer Unavailable, as a busy TEE does.
  void BeBusy(int calls) { busy_ = calls; }
  void SetMeasurement(std::string measurement);

 private:
  std::string measurement_;
  const std::string signer_;
  std::mutex mutex_;
  std::atomic<int> collected_{0};
  std::atomic<int> busy_{0};
};

class FakeAppraiser final : public attestation::Appraiser {
 public:
  explicit FakeAppraiser(std::string policy = "test") : policy_(std::move(policy)) {}

  attestation::Appraisal Appraise(const attestation::EvidenceSet& evidence,
                                  const attestation::ReportData& expected,
                                  absl::Time now) const override;
  crypto::Sha256Digest PolicyDigest() const override;
  std::string PolicyName() const override { return policy_; }

 private:
  const std::string policy_;
};

// A pointer to what the test keeps alive for longer than the manager.
template <typename T>
std::shared_ptr<T> Unowned(T* object) {
  return std::shared_ptr<T>(std::shared_ptr<T>(), object);
}

// Options of a manager on a free port of the IPv4 loopback.
ManagerOptions LoopbackOptions(attestation::Attester* attester, attestation::Appraiser* appraiser);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_SESSION_TESTING_H_
