// SPDX-License-Identifier: Apache-2.0
//
// What an attester looks at before it hands evidence on. Nothing of this is verification: it tells
// a stale or foreign answer from one to this very request.
#ifndef CARAVAN_ATTESTER_REPORT_CHECKS_H_
#define CARAVAN_ATTESTER_REPORT_CHECKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attestation/binder.h"
#include "attestation/evidence.h"

namespace caravan::attester {

// DataLoss when `report` is empty, has another size than its kind's, or carries other report data
// (a report made at boot and cached, another caller's). `where` begins the message.
absl::Status CheckAnswers(attestation::EvidenceKind kind, std::string_view report,
                          const attestation::ReportData& expected, std::string_view where);

// The DER certificates of a GUIDed table: VCEK or VLEK, ASK or ASVK, ARK; other entries are left
// out. None for a table that is empty or all zero; DataLoss for one that is malformed.
absl::StatusOr<std::vector<std::string>> CertificatesOfTable(std::string_view table);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_REPORT_CHECKS_H_
