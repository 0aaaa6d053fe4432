// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_decision.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/policy/rules.h"
#include "attestation/verifier.h"
#include "cli/text.h"
#include "cli/verify_inputs.h"

namespace caravan::cli {
namespace {

using attestation::Appraisal;
using attestation::Check;
using attestation::EvidenceKind;
using attestation::Outcome;

constexpr char kSchema[] = "caravan.decision/1";

// A vTPM's CPU is judged by the rules below `vtpm`.
std::vector<std::string> RulesFor(const Check& check, const VerifyInputs& inputs) {
  std::vector<std::string> rules = attestation::RulesOf(check.id);
  if (inputs.evidence.items.front().kind != EvidenceKind::kVtpm) return rules;
  for (std::string& rule : rules) {
    if (rule.starts_with("snp.") || rule.starts_with("tdx.")) rule = "vtpm." + rule;
  }
  return rules;
}

std::string RuleText(const std::vector<std::string>& rules) {
  return rules.empty() ? "none" : absl::StrJoin(rules, ", ");
}

void PrintText(const Context& context, const Appraisal& appraisal, const VerifyInputs& inputs) {
  context.out << std::string(Name(appraisal.verdict)) << "  " << Printable(appraisal.platform)
              << "  policy " << attestation::PolicyLabel(inputs.policy) << "\n";
  if (const Check* decisive = appraisal.accepted() ? nullptr : appraisal.Decisive()) {
    context.out << "decided by " << decisive->id << ": " << Printable(decisive->detail) << "\n"
                << "rule: " << RuleText(RulesFor(*decisive, inputs)) << "\n";
    if (!decisive->hint.empty()) context.out << "hint: " << Printable(decisive->hint) << "\n";
  } else {
    context.out << "no rule refuses it\n";
  }
  Table table({"outcome", "check", "rule", "detail"});
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed) continue;
    table.Add({std::string(Name(check.outcome)), check.id, RuleText(RulesFor(check, inputs)),
               check.detail});
  }
  if (!table.empty()) context.out << "\n" << table.Render();
}

void WriteCheck(const Check& check, const VerifyInputs& inputs, JsonWriter* json) {
  json->BeginObject()
      .Member("id", check.id)
      .Member("outcome", std::string(Name(check.outcome)))
      .Member("detail", check.detail)
      .Member("hint", check.hint);
  json->Key("rules").BeginArray();
  for (const std::string& rule : RulesFor(check, inputs)) json->Value(rule);
  json->EndArray().EndObject();
}

void PrintJson(const Context& context, const Appraisal& appraisal, const VerifyInputs& inputs) {
  JsonWriter json = BeginDocument(kSchema);
  json.Member("verdict", std::string(Name(appraisal.verdict)))
      .Member("accepted", appraisal.accepted())
      .Member("platform", appraisal.platform)
      .Member("policy", attestation::PolicyLabel(inputs.policy));
  json.Key("decided_by").BeginArray();
  if (!appraisal.accepted()) WriteCheck(*appraisal.Decisive(), inputs, &json);
  json.EndArray().Key("checks").BeginArray();
  for (const Check& check : appraisal.checks) WriteCheck(check, inputs, &json);
  json.EndArray().EndObject();
  context.out << std::move(json).Take();
}

}  // namespace

int RunPolicyDecision(const Context& context, const VerifyOptions& options) {
  const absl::StatusOr<VerifyInputs> inputs = GatherVerifyInputs(options);
  if (!inputs.ok()) return Fail(context, kSchema, InputsFailure(inputs.status()));
  const Appraisal appraisal = attestation::VerifyStored(
      inputs->evidence, inputs->endorsements, inputs->policy, inputs->expected, inputs->time);
  (context.json ? PrintJson : PrintText)(context, appraisal, *inputs);
  return kOk;
}

}  // namespace caravan::cli
