// SPDX-License-Identifier: Apache-2.0
//
// What the verifier expects in report_data, and in the nonces of devices. Not checking them has to
// be said in so many words: an absent argument can never stand for it.
#ifndef CARAVAN_ATTESTATION_EXPECTATION_H_
#define CARAVAN_ATTESTATION_EXPECTATION_H_

#include <array>
#include <cstdint>
#include <optional>

#include "attestation/binder.h"

namespace caravan::attestation {

// For the report of one device.
class DeviceExpectation {
 public:
  // All 32 bytes have to be equal.
  static DeviceExpectation Exactly(const DeviceNonce& nonce) { return {nonce, false}; }
  // As ReportDataExpectation::NotChecked.
  static DeviceExpectation NotChecked() { return {std::nullopt, true}; }
  // Nothing says which nonce this device should have: its report could not be verified.
  static DeviceExpectation Unknown() { return {std::nullopt, false}; }

  const std::optional<DeviceNonce>& nonce() const { return nonce_; }
  bool waived() const { return waived_; }

 private:
  DeviceExpectation(std::optional<DeviceNonce> nonce, bool waived)
      : nonce_(nonce), waived_(waived) {}

  std::optional<DeviceNonce> nonce_;
  bool waived_;
};

class ReportDataExpectation {
 public:
  // All 64 bytes have to be equal. Devices beside the CPU could not be verified.
  static ReportDataExpectation Exactly(const ReportData& data) {
    return {data, DeviceExpectation::Unknown(), std::nullopt};
  }
  // Expects the session's report data, and of each device its own nonce (ExpectedOfDevice in
  // composite.h).
  static ReportDataExpectation OfSession(const EvidenceRequest& request) {
    return {request.report_data, DeviceExpectation::Unknown(), request};
  }
  // One nonce for all devices of stored evidence; a CPU's report data goes unchecked, as below.
  static ReportDataExpectation DevicesExactly(const DeviceNonce& nonce) {
    return {std::nullopt, DeviceExpectation::Exactly(nonce), std::nullopt};
  }
  // For looking at stored evidence: nothing shows that it is fresh or whose channel it belongs to,
  // so the verdict is at best kWarning. Never for a session.
  static ReportDataExpectation NotChecked() {
    return {std::nullopt, DeviceExpectation::NotChecked(), std::nullopt};
  }

  const std::optional<ReportData>& data() const { return data_; }
  // What is expected of devices that have no nonce of their own each.
  const DeviceExpectation& devices() const { return devices_; }
  const std::optional<EvidenceRequest>& session() const { return session_; }

 private:
  ReportDataExpectation(std::optional<ReportData> data, DeviceExpectation devices,
                        std::optional<EvidenceRequest> session)
      : data_(data), devices_(devices), session_(session) {}

  std::optional<ReportData> data_;
  DeviceExpectation devices_;
  std::optional<EvidenceRequest> session_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_EXPECTATION_H_
