// SPDX-License-Identifier: Apache-2.0
//
// What the rules of every kind of evidence share: problems with their paths, lists of hexadecimal.
#ifndef CARAVAN_ATTESTATION_POLICY_FIELD_CHECKER_H_
#define CARAVAN_ATTESTATION_POLICY_FIELD_CHECKER_H_

#include <google/protobuf/repeated_field.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attestation/policy/validate.h"

namespace caravan::attestation {

inline constexpr size_t kMaxPolicyNameSize = 64;
inline constexpr size_t kMaxPolicyEntries = 4096;

class FieldChecker {
 public:
  using Path = std::vector<std::pair<std::string, int>>;
  using Strings = google::protobuf::RepeatedPtrField<std::string>;

  explicit FieldChecker(std::vector<PolicyProblem>* problems) : problems_(*problems) {}

  void Report(Path path, std::string message) {
    problems_.push_back({std::move(path), std::move(message)});
  }
  // Each of one of the sizes in bytes, none twice.
  void Hex(const Path& parent, const char* field, const Strings& values,
           std::initializer_list<size_t> sizes);
  void CheckHex(const Path& path, std::string_view value, std::initializer_list<size_t> sizes);
  // A name for people: 1 to 64 bytes.
  void Name(const Path& path, const std::string& name);
  // `any` and a list exclude each other.
  void Exclusive(const Path& at, const char* any, bool set, const char* list, int size);

  static Path With(Path path, const char* field, int index) {
    path.emplace_back(field, index);
    return path;
  }

 private:
  std::vector<PolicyProblem>& problems_;
};

// The rules of one part of a policy, at its path.
void CheckSnpPolicy(const v1::SnpPolicy& snp, const FieldChecker::Path& at, FieldChecker* fields);
void CheckTdxPolicy(const v1::TdxPolicy& tdx, const FieldChecker::Path& at, FieldChecker* fields);
void CheckSgxPolicy(const v1::SgxPolicy& sgx, const FieldChecker::Path& at, FieldChecker* fields);
void CheckNvidiaPolicy(const v1::NvidiaPolicy& nvidia, const FieldChecker::Path& at,
                       FieldChecker* fields);
void CheckVtpmPolicy(const v1::VtpmPolicy& vtpm, const FieldChecker::Path& at,
                     FieldChecker* fields);
void CheckCompositePolicy(const v1::Policy& policy, const FieldChecker::Path& at,
                          FieldChecker* fields);
// Hexadecimal in lower case.
void CanonicalizeSnpPolicy(v1::SnpPolicy* snp);
void CanonicalizeTdxPolicy(v1::TdxPolicy* tdx);
void CanonicalizeSgxPolicy(v1::SgxPolicy* sgx);
void CanonicalizeNvidiaPolicy(v1::NvidiaPolicy* nvidia);
void CanonicalizeVtpmPolicy(v1::VtpmPolicy* vtpm);

void LowerAll(FieldChecker::Strings* values);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_POLICY_FIELD_CHECKER_H_
