// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/policy.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/policy/validate.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

namespace pb = google::protobuf;

constexpr int kMaxErrors = 20;

class Errors : public pb::io::ErrorCollector {
 public:
  explicit Errors(std::string_view file_name) : file_name_(file_name) {}

  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (count_++ >= kMaxErrors) return;
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", file_name_, ":");
    // Protobuf counts from 0, people from 1; -1 stands for the file as a whole.
    if (line >= 0) absl::StrAppend(&text_, line + 1, ":", column + 1, ":");
    absl::StrAppend(&text_, " ", message);
  }
  void AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) override {
    AddError(line, column, message);
  }

  bool empty() const { return count_ == 0; }
  absl::Status ToStatus() const { return absl::InvalidArgumentError(text_); }

 private:
  std::string file_name_;
  std::string text_;
  int count_ = 0;
};

// Where the deepest field of `path` that the text holds begins.
pb::TextFormat::ParseLocation Locate(const pb::TextFormat::ParseInfoTree& tree,
                                     const PolicyProblem& problem) {
  pb::TextFormat::ParseLocation found;
  const pb::TextFormat::ParseInfoTree* at = &tree;
  const pb::Descriptor* type = v1::Policy::descriptor();
  for (const auto& [name, index] : problem.path) {
    if (at == nullptr || type == nullptr) break;
    const pb::FieldDescriptor* field = type->FindFieldByName(name);
    if (field == nullptr) break;
    const int where = field->is_repeated() ? std::max(index, 0) : -1;
    const pb::TextFormat::ParseLocation location = at->GetLocation(field, where);
    if (location.line < 0) break;
    found = location;
    type = field->message_type();
    at = type == nullptr ? nullptr : at->GetTreeForNested(field, where);
  }
  return found;
}

}  // namespace

absl::StatusOr<Policy> ParsePolicy(std::string_view text, std::string_view file_name) {
  Errors errors(file_name);
  if (text.size() > kMaxPolicySize) {
    errors.AddError(-1, 0, absl::StrCat(text.size(), " bytes, at most ", kMaxPolicySize));
    return errors.ToStatus();
  }
  Policy policy;
  pb::TextFormat::ParseInfoTree tree;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(16);
  if (!parser.ParseFromString(std::string(text), &policy) || !errors.empty()) {
    return errors.ToStatus();
  }
  for (const PolicyProblem& problem : FindPolicyProblems(policy)) {
    const pb::TextFormat::ParseLocation at = Locate(tree, problem);
    errors.AddError(at.line, at.column, absl::StrCat(problem.PathText(), ": ", problem.message));
  }
  if (!errors.empty()) return errors.ToStatus();
  CanonicalizePolicy(&policy);
  return policy;
}

absl::Status ValidatePolicy(const Policy& policy) {
  const std::vector<PolicyProblem> problems = FindPolicyProblems(policy);
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("policy: ", problems.front().PathText(), ": ", problems.front().message));
}

crypto::Sha256Digest PolicyDigest(const Policy& policy) {
  Policy canonical = policy;
  CanonicalizePolicy(&canonical);
  std::string bytes;
  {
    pb::io::StringOutputStream stream(&bytes);
    pb::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    canonical.SerializeToCodedStream(&coded);
  }
  return crypto::Sha256(crypto::AsBytes(bytes));
}

std::string PolicyLabel(const Policy& policy) {
  const crypto::Sha256Digest digest = PolicyDigest(policy);
  return absl::StrCat(policy.name(), "@sha256:", base::ToHex(absl::MakeConstSpan(digest).first(6)));
}

std::string_view Name(v1::SnpProduct product) {
  switch (product) {
    case v1::MILAN:
      return "milan";
    case v1::GENOA:
      return "genoa";
    case v1::TURIN:
      return "turin";
    default:
      return "unknown";
  }
}

}  // namespace caravan::attestation
