// SPDX-License-Identifier: Apache-2.0
//
// What the verifier expects in report_data. Not checking it has to be said in so many words: an
// absent argument can never stand for it.
#ifndef CARAVAN_ATTESTATION_EXPECTATION_H_
#define CARAVAN_ATTESTATION_EXPECTATION_H_

#include <optional>

#include "attestation/binder.h"

namespace caravan::attestation {

class ReportDataExpectation {
 public:
  // All 64 bytes have to be equal.
  static ReportDataExpectation Exactly(const ReportData& data) {
    return ReportDataExpectation(data);
  }
  // For looking at stored evidence: nothing shows that it is fresh or whose channel it belongs to,
  // so the verdict is at best kWarning. Never for a session.
  static ReportDataExpectation NotChecked() { return ReportDataExpectation(std::nullopt); }

  const std::optional<ReportData>& data() const { return data_; }

 private:
  explicit ReportDataExpectation(std::optional<ReportData> data) : data_(data) {}

  std::optional<ReportData> data_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_EXPECTATION_H_
