// SPDX-License-Identifier: Apache-2.0
//
// A CheckList whose ids begin with the kind of evidence: "TDX_CHAIN", "SGX_CHAIN".
#ifndef CARAVAN_ATTESTATION_INTEL_FINDINGS_H_
#define CARAVAN_ATTESTATION_INTEL_FINDINGS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/check_list.h"

namespace caravan::attestation::intel {

class Findings {
 public:
  // `prefix` is "TDX" or "SGX".
  Findings(std::string prefix, CheckList* checks) : prefix_(std::move(prefix)), checks_(checks) {}

  const std::string& prefix() const { return prefix_; }
  std::string Id(std::string_view id) const { return absl::StrCat(prefix_, "_", std::string(id)); }
  void Pass(std::string_view id, std::string_view what, std::string detail = "") {
    checks_->Pass(Id(id), what, std::move(detail));
  }
  void Fail(std::string_view id, std::string_view what, std::string detail, std::string hint = "") {
    checks_->Fail(Id(id), what, std::move(detail), std::move(hint));
  }
  void Warn(std::string_view id, std::string_view what, std::string detail, std::string hint = "") {
    checks_->Warn(Id(id), what, std::move(detail), std::move(hint));
  }
  void Skip(std::string_view id, std::string_view what, std::string detail) {
    checks_->Skip(Id(id), what, std::move(detail));
  }
  void Missing(std::string_view id, std::string_view what, std::string detail,
               std::string hint = "") {
    checks_->Missing(Id(id), what, std::move(detail), std::move(hint));
  }
  bool Require(bool ok, std::string_view id, std::string_view what, std::string detail,
               std::string hint = "") {
    return checks_->Require(ok, Id(id), what, std::move(detail), std::move(hint));
  }

  Appraisal& appraisal() { return checks_->appraisal(); }
  std::string& claim(const std::string& name) { return appraisal().claims[name]; }
  CheckList* checks() { return checks_; }

 private:
  std::string prefix_;
  CheckList* checks_;
};

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_FINDINGS_H_
