// SPDX-License-Identifier: Apache-2.0
//
// The parts of an explanation (policy.h, ExplainPolicy).
#ifndef CARAVAN_ATTESTATION_POLICY_EXPLAIN_H_
#define CARAVAN_ATTESTATION_POLICY_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation {

using ExplainLines = std::vector<std::string>;

// Each line without the kind of evidence it is about.
ExplainLines ExplainSnp(const v1::SnpPolicy& snp, bool allow_insecure);
ExplainLines ExplainTdx(const v1::TdxPolicy& tdx);
ExplainLines ExplainSgx(const v1::SgxPolicy& sgx);
ExplainLines ExplainNvidia(const v1::NvidiaPolicy& nvidia, bool allow_insecure);
ExplainLines ExplainVtpm(const v1::VtpmPolicy& vtpm, bool allow_insecure);
ExplainLines ExplainComposite(const v1::CompositePolicy& composite, bool allow_insecure);

// Enough of a digest to recognise it by.
inline std::string ShortHex(const std::string& hex) {
  return hex.size() <= 16 ? hex : absl::StrCat(hex.substr(0, 16), "...");
}

template <typename Values>
std::string ShortHexList(const Values& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const std::string& value) {
    absl::StrAppend(out, ShortHex(value));
  });
}

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_EXPLAIN_H_
