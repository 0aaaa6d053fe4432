// SPDX-License-Identifier: Apache-2.0
//
// What caravanctl's options name, read: evidence, collateral, policy, time.
#ifndef CARAVAN_CLI_VERIFY_INPUTS_H_
#define CARAVAN_CLI_VERIFY_INPUTS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/evidence.h"
#include "attestation/expectation.h"
#include "attestation/policy/policy.h"
#include "cli/output.h"
#include "cli/verify.h"

namespace caravan::cli {

struct VerifyInputs {
  attestation::EvidenceSet evidence;
  attestation::Endorsements endorsements;
  attestation::Policy policy;
  attestation::ReportDataExpectation expected = attestation::ReportDataExpectation::NotChecked();
  absl::Time time;
  std::optional<std::string> event_log;
};

// The errors say which option or file cannot be used, and why.
absl::StatusOr<VerifyInputs> GatherVerifyInputs(const VerifyOptions& options);

// Whatever is wrong with an option or a file is for the caller to put right: kUsage.
Failure InputsFailure(const absl::Status& status);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_VERIFY_INPUTS_H_
