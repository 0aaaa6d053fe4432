// SPDX-License-Identifier: Apache-2.0
//
// Which rules of a policy decide a check.
#ifndef CARAVAN_ATTESTATION_POLICY_RULES_H_
#define CARAVAN_ATTESTATION_POLICY_RULES_H_

#include <string>
#include <string_view>
#include <vector>

namespace caravan::attestation {

// Paths of the fields of caravan.v1.Policy that can change the outcome of the check of this id:
// "SNP_DEBUG" gives snp.allow_debug. A vTPM's CPU is judged by the same fields below vtpm. Empty
// where there are none: a signature, a structure, a revocation.
std::vector<std::string> RulesOf(std::string_view check_id);

// Every path that RulesOf can give.
std::vector<std::string> AllRules();

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_RULES_H_
