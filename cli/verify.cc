// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "attestation/hex.h"
#include "attestation/tdx/event_log.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "cli/evidence/input.h"
#include "cli/text.h"
#include "daemon/ops/file.h"

namespace caravan::cli {
namespace {

using attestation::Appraisal;
using attestation::Check;
using attestation::EvidenceKind;
using attestation::Policy;
using attestation::ReportDataExpectation;

constexpr char kSchema[] = "caravan.verify/1";

struct Inputs {
  attestation::EvidenceSet evidence;
  attestation::Endorsements endorsements;
  Policy policy;
  ReportDataExpectation expected = ReportDataExpectation::NotChecked();
  absl::Time time;
  std::optional<std::string> event_log;
};

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

// A policy that demands everything and lists nothing: without --policy evidence is shown, and
// refused.
Policy StrictPolicy() {
  Policy policy;
  policy.set_name("strict");
  policy.mutable_snp()->add_chip_ids(std::string(128, 'f'));
  auto* measurement = policy.mutable_snp()->add_measurements();
  measurement->set_name("none");
  measurement->set_sha384(std::string(96, 'f'));
  auto* floor = policy.mutable_snp()->add_tcb_floors();
  floor->set_product(v1::TURIN);
  floor->set_microcode(255);
  for (v1::IntelPlatformPolicy* platform :
       {policy.mutable_tdx()->mutable_platform(), policy.mutable_sgx()->mutable_platform()}) {
    platform->add_ppids(std::string(32, 'f'));
    platform->set_min_tcb_evaluation_number(0xFFFFFFFF);
  }
  auto* td = policy.mutable_tdx()->add_measurements();
  td->set_name("none");
  td->set_mrtd(std::string(96, 'f'));
  policy.mutable_nvidia()->add_pdis(std::string(16, 'f'));
  policy.mutable_nvidia()->add_modes(v1::NVIDIA_SPT);
  auto* device_floor = policy.mutable_nvidia()->add_floors();
  device_floor->set_chip("GH100");
  device_floor->set_vbios("FF");
  device_floor->set_driver("999999");
  auto* enclave = policy.mutable_sgx()->add_enclaves();
  enclave->set_name("none");
  enclave->set_mr_enclave(std::string(64, 'f'));
  *policy.mutable_vtpm()->mutable_snp() = policy.snp();
  *policy.mutable_vtpm()->mutable_tdx() = policy.tdx();
  auto* system = policy.mutable_vtpm()->add_measurements();
  system->set_name("none");
  system->add_pcrs()->set_sha256(std::string(64, 'f'));
  return policy;
}

absl::Status ReadCollateral(const std::vector<std::string>& paths,
                            attestation::Endorsements* endorsements) {
  for (const std::string& path : paths) {
    absl::StatusOr<std::vector<std::string>> files = ops::ListFiles(path);
    if (!files.ok()) return files.status();
    for (const std::string& file : *files) {
      absl::StatusOr<std::string> bytes = ops::ReadFile(file, attestation::kMaxInputSize);
      if (!bytes.ok()) return bytes.status();
      absl::Status parsed = attestation::ParseEndorsements(*bytes, endorsements);
      if (!parsed.ok()) return InFile(file, parsed);
    }
  }
  return absl::OkStatus();
}

// 64 bytes are a CPU's report data, 32 the nonce of devices.
absl::StatusOr<ReportDataExpectation> ParseReportData(const std::string& text) {
  const std::optional<std::string> bytes = attestation::FromHex(text);
  attestation::ReportData data;
  attestation::DeviceNonce nonce;
  if (bytes.has_value() && bytes->size() == data.bytes.size()) {
    std::copy(bytes->begin(), bytes->end(), data.bytes.begin());
    return ReportDataExpectation::Exactly(data);
  }
  if (bytes.has_value() && bytes->size() == nonce.bytes.size()) {
    std::copy(bytes->begin(), bytes->end(), nonce.bytes.begin());
    return ReportDataExpectation::DevicesExactly(nonce);
  }
  return absl::InvalidArgumentError(
      "--report-data wants 128 hexadecimal digits, or the 64 of a device's nonce");
}

absl::StatusOr<Inputs> Gather(const VerifyOptions& options) {
  Inputs inputs;
  absl::StatusOr<std::optional<EvidenceKind>> kind = ParseEvidenceKind(options.kind);
  if (!kind.ok()) return kind.status();
  inputs.time = absl::Now();
  std::string error;
  if (!options.verification_time.empty() &&
      !absl::ParseTime(absl::RFC3339_full, options.verification_time, &inputs.time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--verification-time is no RFC 3339 time such as 2026-01-02T03:04:05Z: ", error));
  }
  if (!options.report_data.empty()) {
    absl::StatusOr<ReportDataExpectation> expected = ParseReportData(options.report_data);
    if (!expected.ok()) return expected.status();
    inputs.expected = *std::move(expected);
  }
  std::vector<std::string> files = {options.evidence};
  files.insert(files.end(), options.also.begin(), options.also.end());
  for (const std::string& file : files) {
    absl::StatusOr<attestation::EvidenceSet> set = ReadEvidence(file, *kind);
    if (!set.ok()) return set.status();
    for (attestation::Evidence& item : set->items) inputs.evidence.items.push_back(std::move(item));
  }
  // A nonce says nothing about a CPU's report data, which would go unchecked.
  const auto& items = inputs.evidence.items;
  const bool devices = std::all_of(items.begin(), items.end(), [](const auto& item) {
    return item.kind == EvidenceKind::kNvidia;
  });
  if (inputs.expected.devices().nonce().has_value() && !devices) {
    return absl::InvalidArgumentError(
        "--report-data has 64 hexadecimal digits, a device's nonce, but the evidence is a CPU's");
  }
  if (absl::Status read = ReadCollateral(options.collateral, &inputs.endorsements); !read.ok()) {
    return read;
  }
  if (!options.event_log.empty()) {
    absl::StatusOr<std::string> log =
        ops::ReadFile(options.event_log, attestation::tdx::kMaxEventLogSize);
    if (!log.ok()) return log.status();
    inputs.event_log = *std::move(log);
  }
  if (options.policy.empty()) {
    inputs.policy = StrictPolicy();
    return inputs;
  }
  absl::StatusOr<std::string> text = ops::ReadFile(options.policy, attestation::kMaxPolicySize);
  if (!text.ok()) return text.status();
  absl::StatusOr<Policy> policy = attestation::ParsePolicy(*text, options.policy);
  if (!policy.ok()) return policy.status();
  inputs.policy = *std::move(policy);
  return inputs;
}

// The registers of a quote that was appraised, out of its claims; nullopt for other evidence.
std::optional<attestation::tdx::Rtmrs> QuotedRtmrs(const Appraisal& appraisal) {
  attestation::tdx::Rtmrs rtmrs;
  for (size_t i = 0; i < rtmrs.size(); ++i) {
    const auto claim = appraisal.claims.find(absl::StrCat("rtmr", i));
    if (claim == appraisal.claims.end()) return std::nullopt;
    const std::optional<std::string> bytes = attestation::FromHex(claim->second);
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

void PrintTable(const Context& context, const Appraisal& appraisal, const Inputs& inputs) {
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

void PrintJson(const Context& context, const Appraisal& appraisal, const Inputs& inputs) {
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
  absl::StatusOr<Inputs> inputs = Gather(options);
  if (!inputs.ok()) {
    Failure failure = FailureOf(inputs.status(), "verify");
    // Whatever is wrong with an option or a file is for the caller to put right.
    if (failure.exit != kInternalError || absl::IsInvalidArgument(inputs.status())) {
      failure.exit = kUsage;
    }
    failure.hint.clear();
    return Fail(context, kSchema, failure);
  }
  Appraisal appraisal = attestation::VerifyStored(inputs->evidence, inputs->endorsements,
                                                  inputs->policy, inputs->expected, inputs->time);
  if (inputs->event_log.has_value()) CheckEventLog(*inputs->event_log, &appraisal);
  if (context.json) {
    PrintJson(context, appraisal, *inputs);
  } else {
    PrintTable(context, appraisal, *inputs);
  }
  return Conclude(context, appraisal, !options.policy.empty());
}

}  // namespace caravan::cli
