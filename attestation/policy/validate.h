// SPDX-License-Identifier: Apache-2.0
//
// The rules that a policy's values obey, each reported against the field that breaks it.
#ifndef CARAVAN_ATTESTATION_POLICY_VALIDATE_H_
#define CARAVAN_ATTESTATION_POLICY_VALIDATE_H_

#include <string>
#include <utility>
#include <vector>

#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation {

struct PolicyProblem {
  std::vector<std::pair<std::string, int>> path;  // field name and index (-1: not repeated)
  std::string message;

  std::string PathText() const;  // "snp.chip_ids[2]"
};

std::vector<PolicyProblem> FindPolicyProblems(const v1::Policy& policy);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_VALIDATE_H_
