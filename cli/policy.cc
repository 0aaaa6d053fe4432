// SPDX-License-Identifier: Apache-2.0
#include "cli/policy.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "attestation/policy/policy.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

constexpr char kSchema[] = "caravan.policy/1";

absl::StatusOr<attestation::Policy> Load(const std::string& file) {
  absl::StatusOr<std::string> text = base::ReadFile(file, attestation::kMaxPolicySize);
  if (!text.ok()) return text.status();
  return attestation::ParsePolicy(*text, file);
}

// A line an error, in the form that editors jump to; the last one is the failure.
int Refuse(const Context& context, const absl::Status& status) {
  std::vector<std::string> lines = absl::StrSplit(std::string(status.message()), '\n');
  for (size_t i = 0; i + 1 < lines.size(); ++i) context.err << Printable(lines[i]) << "\n";
  return Fail(context, kSchema, {kUsage, "INVALID_POLICY", lines.back(), ""});
}

JsonWriter Begin(const attestation::Policy& policy) {
  JsonWriter json = BeginDocument(kSchema);
  json.Member("name", policy.name());
  json.Member("sha256", base::ToHex(attestation::PolicyDigest(policy)));
  return json;
}

}  // namespace

int RunPolicyCheck(const Context& context, const std::string& file) {
  const absl::StatusOr<attestation::Policy> policy = Load(file);
  if (!policy.ok()) return Refuse(context, policy.status());
  if (context.json) {
    JsonWriter json = Begin(*policy);
    json.EndObject();
    context.out << std::move(json).Take();
  } else {
    context.out << Printable(file) << ": ok, " << attestation::PolicyLabel(*policy) << "\n";
  }
  return kOk;
}

int RunPolicyExplain(const Context& context, const std::string& file) {
  const absl::StatusOr<attestation::Policy> policy = Load(file);
  if (!policy.ok()) return Refuse(context, policy.status());
  const std::vector<std::string> lines = attestation::ExplainPolicy(*policy);
  if (!context.json) {
    for (const std::string& line : lines) context.out << Printable(line) << "\n";
    return kOk;
  }
  JsonWriter json = Begin(*policy);
  json.Key("lines").BeginArray();
  for (const std::string& line : lines) json.Value(line);
  json.EndArray().EndObject();
  context.out << std::move(json).Take();
  return kOk;
}

}  // namespace caravan::cli
