// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/tdx/event_log.h"
#include "attestation/verify_input.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/evidence/input.h"

namespace caravan::cli {
namespace {

using attestation::EvidenceKind;
using attestation::Policy;
using attestation::ReportDataExpectation;

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
    absl::StatusOr<std::vector<std::string>> files = base::ListFiles(path);
    if (!files.ok()) return files.status();
    for (const std::string& file : *files) {
      absl::StatusOr<std::string> bytes = base::ReadFile(file, attestation::kMaxInputSize);
      if (!bytes.ok()) return bytes.status();
      absl::Status parsed = attestation::ParseEndorsements(*bytes, endorsements);
      if (!parsed.ok()) return InFile(file, parsed);
    }
  }
  return absl::OkStatus();
}

// 64 bytes are a CPU's report data, 32 the nonce of devices.
absl::StatusOr<ReportDataExpectation> ParseReportData(const std::string& text) {
  const std::optional<std::string> bytes = base::FromHex(text);
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

}  // namespace

absl::StatusOr<VerifyInputs> GatherVerifyInputs(const VerifyOptions& options) {
  VerifyInputs inputs;
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
        base::ReadFile(options.event_log, attestation::tdx::kMaxEventLogSize);
    if (!log.ok()) return log.status();
    inputs.event_log = *std::move(log);
  }
  if (options.policy.empty()) {
    inputs.policy = StrictPolicy();
    return inputs;
  }
  absl::StatusOr<std::string> text = base::ReadFile(options.policy, attestation::kMaxPolicySize);
  if (!text.ok()) return text.status();
  absl::StatusOr<Policy> policy = attestation::ParsePolicy(*text, options.policy);
  if (!policy.ok()) return policy.status();
  inputs.policy = *std::move(policy);
  return inputs;
}

Failure InputsFailure(const absl::Status& status) {
  Failure failure = FailureOf(status, "verify");
  if (failure.exit != kInternalError || absl::IsInvalidArgument(status)) failure.exit = kUsage;
  failure.hint.clear();
  return failure;
}

}  // namespace caravan::cli
