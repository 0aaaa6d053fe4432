// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "attestation/tdx/event_log.h"
#include "attestation/verifier.h"
#include "base/hex.h"
#include "cli/text.h"
#include "cli/verify_inputs.h"

namespace caravan::cli {
namespace {

using attestation::Appraisal;
using attestation::Check;

constexpr char kSchema[] = "caravan.verify/1";

// The registers of a quote that was appraised, out of its claims; nullopt for other evidence.
std::optional<attestation::tdx::Rtmrs> QuotedRtmrs(const Appraisal& appraisal) {
  attestation::tdx::Rtmrs rtmrs;
  for (size_t i = 0; i < rtmrs.size(); ++i) {
    const auto claim = appraisal.claims.find(absl::StrCat("rtmr", i));
    if (claim == appraisal.claims.end()) return std::nullopt;
    const std::optional<std::string> bytes = base::FromHex(claim->second);
    if (!bytes.has_value() || bytes->size() != rtmrs[i].size()) return std::nullopt;
    std::copy(bytes->begin(), bytes->end(), rtmrs[i].begin());
  }
  return rtmrs;
}

// Adds one more check; it can only make the verdict worse.
void CheckEventLog(const std::string& log, Appraisal* appraisal) {
  const std::optional<attestation::tdx::Rtmrs> rtmrs = QuotedRtmrs(*appraisal);
  const absl::Status status =
      rtmrs.has_value() ? attestation::tdx::CheckEventLog(log, *rtmrs)
                        : absl::InvalidArgumentError("the evidence has no RTMRs to compare with");
  appraisal->checks.push_back(
      {"TDX_EVENT_LOG", "the event log replays to the TD's RTMRs",
       status.ok() ? attestation::Outcome::kPassed : attestation::Outcome::kFailed,
       std::string(status.message()), ""});
  if (!status.ok()) appraisal->verdict = attestation::Verdict::kContraindicated;
}

std::string Text(std::string_view text) { return std::string(text); }

Color ColorOf(const Appraisal& appraisal) {
  if (!appraisal.accepted()) return Color::kRed;
  return appraisal.verdict == attestation::Verdict::kAffirming ? Color::kGreen : Color::kYellow;
}

void PrintTable(const Context& context, const Appraisal& appraisal, const VerifyInputs& inputs) {
  context.out << Paint(ColorOf(appraisal), Text(Name(appraisal.verdict)), context.color) << "  "
              << Printable(appraisal.platform) << "  policy "
              << attestation::PolicyLabel(inputs.policy) << "\n\n";
  Table checks({"outcome", "check", "what", "detail"});
  for (const Check& check : appraisal.checks) {
    checks.Add({Text(Name(check.outcome)), check.id, check.what, check.detail});
  }
  context.out << checks.Render() << "\n";
  Table claims({"claim", "value"});
  for (const auto& [name, value] : appraisal.claims) claims.Add({name, value});
  if (!claims.empty()) context.out << claims.Render();
}

void PrintJson(const Context& context, const Appraisal& appraisal, const VerifyInputs& inputs) {
  JsonWriter json = BeginDocument(kSchema);
  json.Member("verdict", Text(Name(appraisal.verdict)))
      .Member("accepted", appraisal.accepted())
      .Member("insecure", appraisal.insecure)
      .Member("platform", appraisal.platform)
      .Member("policy", attestation::PolicyLabel(inputs.policy))
      .Member("verification_time",
              absl::FormatTime(absl::RFC3339_sec, inputs.time, absl::UTCTimeZone()));
  json.Key("checks").BeginArray();
  for (const Check& check : appraisal.checks) {
    json.BeginObject()
        .Member("id", check.id)
        .Member("what", check.what)
        .Member("outcome", Text(Name(check.outcome)))
        .Member("detail", check.detail)
        .Member("hint", check.hint)
        .EndObject();
  }
  json.EndArray().Key("claims").BeginObject();
  for (const auto& [name, value] : appraisal.claims) json.Member(name, value);
  json.EndObject().EndObject();
  context.out << std::move(json).Take();
}

// The document on out is complete already: only the reason goes to err.
int Conclude(const Context& context, const Appraisal& appraisal, bool policy_given) {
  if (appraisal.accepted()) return kOk;
  const Check* decisive = appraisal.Decisive();
  std::string hint = decisive == nullptr ? "" : decisive->hint;
  if (!policy_given) {
    hint = "without --policy nothing is accepted; write one, see caravanctl policy explain";
  }
  context.err << "caravanctl: verifying "
              << Printable(appraisal.platform.empty() ? "evidence" : appraisal.platform) << ": "
              << Printable(appraisal.ToStatus().message()) << "\n";
  if (!hint.empty()) context.err << "hint: " << Printable(hint) << "\n";
  return appraisal.verdict == attestation::Verdict::kContraindicated ? kRefused : kNotVerifiable;
}

}  // namespace

int RunVerify(const Context& context, const VerifyOptions& options) {
  absl::StatusOr<std::optional<EarSigner>> signer = ReadEarSigner(options.ear);
  absl::StatusOr<VerifyInputs> inputs = signer.ok() ? GatherVerifyInputs(options) : signer.status();
  if (!inputs.ok()) return Fail(context, kSchema, InputsFailure(inputs.status()));
  Appraisal appraisal = attestation::VerifyStored(inputs->evidence, inputs->endorsements,
                                                  inputs->policy, inputs->expected, inputs->time);
  if (inputs->event_log.has_value()) CheckEventLog(*inputs->event_log, &appraisal);
  if (signer->has_value()) {
    absl::StatusOr<std::string> token = MakeEar(
        **signer, appraisal, attestation::PolicyLabel(inputs->policy), inputs->time, absl::Now());
    if (!token.ok()) return Fail(context, kSchema, FailureOf(token.status(), "verify"));
    context.out << *token << "\n";
  } else if (context.json) {
    PrintJson(context, appraisal, *inputs);
  } else {
    PrintTable(context, appraisal, *inputs);
  }
  return Conclude(context, appraisal, !options.policy.empty());
}

}  // namespace caravan::cli
