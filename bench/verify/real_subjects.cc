// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "attestation/policy/policy.h"
#include "attestation/verify_input.h"
#include "bench/verify/subjects.h"

namespace caravan::bench {
namespace {

namespace fs = std::filesystem;
using attestation::Endorsements;

struct Sample {
  const char* name;
  const char* evidence;
  std::vector<const char*> collateral;  // files and folders
  const char* time;
};

// Timed are the checks, not what a policy makes of old samples.
constexpr char kPolicy[] =
    "name: \"bench\" snp { any_measurement: true any_platform: true any_tcb: true "
    "allow_missing_crl: true allow_smt: true allow_incomplete_alias_check: true } "
    "tdx { platform { any_platform: true min_tcb_evaluation_number: 17 } any_measurement: true "
    "any_mr_service_td: true allow_sept_ve: true } "
    "sgx { platform { any_platform: true min_tcb_evaluation_number: 17 } any_enclave: true } "
    "nvidia { any_device: true any_firmware: true allow_missing_ocsp: true "
    "allow_missing_fwid: true modes: NVIDIA_UNSTATED }";

absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path.string()));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What is no endorsement in a folder is passed over; a file that is named has to be one.
absl::Status AddCollateral(const fs::path& path, Endorsements* endorsements) {
  if (!fs::is_directory(path)) {
    const auto bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    return attestation::ParseEndorsements(*bytes, endorsements);
  }
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const auto bytes = ReadFile(entry.path());
    if (bytes.ok()) attestation::ParseEndorsements(*bytes, endorsements).IgnoreError();
  }
  return absl::OkStatus();
}

absl::StatusOr<Subject> ReadSample(const fs::path& folder, const Sample& sample) {
  const auto bytes = ReadFile(folder / sample.evidence);
  if (!bytes.ok()) return bytes.status();
  auto evidence = attestation::DetectEvidence(*bytes);
  if (!evidence.ok()) return evidence.status();
  Endorsements endorsements;
  for (const char* path : sample.collateral) {
    if (auto status = AddCollateral(folder / path, &endorsements); !status.ok()) return status;
  }
  auto policy = attestation::ParsePolicy(kPolicy, "bench");
  if (!policy.ok()) return policy.status();
  absl::Time now;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, sample.time, &now, &error)) {
    return absl::InternalError(error);
  }
  return MakeSubject(sample.name, *std::move(evidence), std::move(endorsements), *std::move(policy),
                     attestation::ReportDataExpectation::NotChecked(), now);
}

}  // namespace

absl::StatusOr<std::vector<Subject>> RealSubjects(const std::string& folder) {
  const Sample samples[] = {
      {"snp genoa v3",
       "snp/ms-tee-av/genoa_attestation_report.bin",
       {"snp/ms-tee-av/genoa_vcek.pem", "snp/roots/ask_ark_genoa.pem"},
       "2026-06-01T00:00:00Z"},
      {"tdx v4",
       "tdx/dcap-qvl/tdx_quote",
       {"tdx/dcap-qvl/tdx_quote_collateral.json"},
       "2025-06-20T00:00:00Z"},
      {"tdx v5",
       "tdx/go-tdx-guest/quote_v5_sample.dat",
       {"tdx/lunal/collateral"},
       "2026-03-20T00:00:00Z"},
      {"sgx v3",
       "tdx/automata/quotev3.hex",
       {"tdx/automata/evm/0825", "sgx/automata/intel_root_ca_crl.der", "sgx/automata/signing.der"},
       "2025-08-20T00:00:00Z"},
      {"nvidia gpu",
       "nvidia/go-nvtrust/attestationReport.txt",
       {"nvidia/go-nvtrust/gpuAkCertChain.txt", "nvidia/nvtrust/Driver_RIM_test_no_gpu.swidtag",
        "nvidia/nvtrust/1010_0200_882_96005E0001_test_no_gpu.swidtag"},
       "2024-06-01T00:00:00Z"},
  };
  std::vector<Subject> subjects;
  for (const Sample& sample : samples) {
    absl::StatusOr<Subject> subject = ReadSample(folder, sample);
    if (!subject.ok()) return subject.status();
    subjects.push_back(*std::move(subject));
  }
  return subjects;
}

}  // namespace caravan::bench
