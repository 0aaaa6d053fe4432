// SPDX-License-Identifier: Apache-2.0
//
// Policies: the textproto of caravan.v1.Policy, read strictly, digested and explained.
#ifndef CARAVAN_ATTESTATION_POLICY_POLICY_H_
#define CARAVAN_ATTESTATION_POLICY_POLICY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "crypto/hash.h"
#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation {

using Policy = v1::Policy;

inline constexpr size_t kMaxPolicySize = 1 << 20;  // bytes of text

// InvalidArgument with one line per error, "prod.textproto:12:3: snp.chip_ids[0]: …", on unknown
// fields, syntax and values alike. Hexadecimal fields come back in lower case.
absl::StatusOr<Policy> ParsePolicy(std::string_view text, std::string_view file_name);

// The rules of ParsePolicy for a policy made in code: InvalidArgument naming the field.
absl::Status ValidatePolicy(const Policy& policy);

// Hexadecimal fields in lower case, as ParsePolicy leaves them and verifiers compare them.
void CanonicalizePolicy(Policy* policy);

// SHA-256 of the deterministic serialisation: what both ends put into the binder.
crypto::Sha256Digest PolicyDigest(const Policy& policy);

// "prod@sha256:ab12cd34ef56".
std::string PolicyLabel(const Policy& policy);

// What the policy demands and what it lets pass, a sentence a line, for a person.
std::vector<std::string> ExplainPolicy(const Policy& policy);

// "milan", "genoa", "turin".
std::string_view Name(v1::SnpProduct product);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_POLICY_H_
