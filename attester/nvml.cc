// SPDX-License-Identifier: Apache-2.0
#include "attester/nvml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "attestation/verify_input.h"
#include "attester/nvml_library.h"

namespace caravan::attester {
namespace {

using attestation::Evidence;
using attestation::EvidenceKind;

constexpr unsigned kMaxGpus = 64;  // more than any machine has: a bound on what is looped over
// SPDM GET_MEASUREMENTS (DSP0274): version, code, two parameters, nonce, slot.
constexpr size_t kRequestSize = 37;
constexpr char kGetMeasurements = '\xE0';
constexpr size_t kNonceAt = 4;

// Protected PCIe, where several GPUs are one domain, reports the feature as off.
absl::Status CheckIsOn(const NvmlLibrary& library) {
  nvml::SystemState state{};
  absl::Status status = StatusOf(library.system_state(&state), "nvml: asking for the state");
  if (!status.ok() || state.cc_feature != 0) return status;
  if (library.system_settings != nullptr) {
    nvml::SystemSettings settings{};
    settings.version = nvml::kSystemSettingsVersion;
    if (library.system_settings(&settings) == nvml::kSuccess &&
        (settings.cc_feature != 0 || settings.multi_gpu_mode != nvml::kMultiGpuNone)) {
      return absl::OkStatus();
    }
  }
  return absl::FailedPreconditionError(
      "nvml: confidential computing is off on this machine's gpus: turn it on from the host, where "
      "the gpus are bound to this machine");
}

absl::Status Lost(unsigned index, const std::string& what) {
  return absl::DataLossError(absl::StrCat("nvml: gpu ", index, ": ", what));
}

class NvmlAttester : public attestation::DeviceAttester {
 public:
  NvmlAttester(std::unique_ptr<NvmlLibrary> library, std::vector<unsigned> indices)
      : library_(std::move(library)), indices_(std::move(indices)) {}

  size_t DeviceCount() const override { return indices_.size(); }

  absl::StatusOr<Evidence> Collect(size_t index, const std::array<uint8_t, 32>& nonce) override {
    if (index >= indices_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("nvml: gpu ", index, " of ", indices_.size(), " was asked for"));
    }
    const unsigned gpu = indices_[index];
    // A handle does not outlive a reset of its GPU.
    nvml::Device device = nullptr;
    absl::Status status =
        StatusOf(library_->device_by_index(gpu, &device), absl::StrCat("nvml: gpu ", gpu));
    if (!status.ok()) return status;
    Evidence item{EvidenceKind::kNvidia, {}, {}};
    if (status = TakeReport(gpu, device, nonce, &item); !status.ok()) return status;
    if (status = TakeCertificates(gpu, device, &item); !status.ok()) return status;
    return item;
  }
  std::string Describe() const override { return "nvidia"; }

 private:
  absl::Status TakeReport(unsigned gpu, nvml::Device device, const std::array<uint8_t, 32>& nonce,
                          Evidence* item) const {
    auto report = std::make_unique<nvml::AttestationReport>();
    static_assert(sizeof(report->nonce) == std::tuple_size_v<std::array<uint8_t, 32>>);
    std::memcpy(report->nonce, nonce.data(), nonce.size());
    absl::Status status = StatusOf(library_->attestation_report(device, report.get()),
                                   absl::StrCat("nvml: gpu ", gpu, ": report"));
    if (!status.ok()) return status;
    if (report->report_size == 0) return Lost(gpu, "the report is empty");
    if (report->report_size > sizeof(report->report)) {
      return Lost(gpu, absl::StrCat("the report is said to have ", report->report_size,
                                    " bytes, at most ", sizeof(report->report)));
    }
    item->report.assign(reinterpret_cast<const char*>(report->report), report->report_size);
    // The major version in the first byte's upper half; minor ones differ by driver.
    if (item->report.size() <= kRequestSize || (item->report[0] & 0xF0) != 0x10 ||
        item->report[1] != kGetMeasurements) {
      return Lost(gpu, absl::StrCat("the report of ", item->report.size(),
                                    " bytes does not begin with an spdm measurement request"));
    }
    if (item->report.compare(kNonceAt, nonce.size(), reinterpret_cast<const char*>(nonce.data()),
                             nonce.size()) != 0) {
      return Lost(gpu, "the report was made for another nonce than the one asked for");
    }
    return absl::OkStatus();
  }

  absl::Status TakeCertificates(unsigned gpu, nvml::Device device, Evidence* item) const {
    auto chain = std::make_unique<nvml::Certificate>();
    absl::Status status = StatusOf(library_->certificate(device, chain.get()),
                                   absl::StrCat("nvml: gpu ", gpu, ": certificates"));
    if (!status.ok()) return status;
    if (chain->attestation_chain_size == 0 ||
        chain->attestation_chain_size > sizeof(chain->attestation_chain)) {
      return Lost(gpu,
                  absl::StrCat("the certificates are said to have ", chain->attestation_chain_size,
                               " bytes, expected 1 to ", sizeof(chain->attestation_chain)));
    }
    const std::string_view pem(reinterpret_cast<const char*>(chain->attestation_chain),
                               chain->attestation_chain_size);
    attestation::Endorsements found;
    status = attestation::ParseEndorsements(pem.substr(0, pem.find('\0')), &found);
    if (!status.ok()) return Lost(gpu, absl::StrCat("certificates: ", status.message()));
    if (found.certificates.empty() || found.certificates.size() > attestation::kMaxCertificates) {
      return Lost(gpu, absl::StrCat(found.certificates.size(), " certificates, expected 1 to ",
                                    attestation::kMaxCertificates));
    }
    item->certificates = std::move(found.certificates);
    return absl::OkStatus();
  }

  const std::unique_ptr<NvmlLibrary> library_;
  const std::vector<unsigned> indices_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<attestation::DeviceAttester>> MakeNvmlAttester(
    const NvmlOptions& options) {
  absl::StatusOr<std::unique_ptr<NvmlLibrary>> library = NvmlLibrary::Load(options.library);
  if (!library.ok()) return library.status();
  unsigned count = 0;
  absl::Status status = StatusOf((*library)->device_count(&count), "nvml: counting gpus");
  if (!status.ok()) return status;
  if (count == 0) return absl::NotFoundError("nvml: this machine has no gpu");
  if (count > kMaxGpus) {
    return absl::InternalError(
        absl::StrCat("nvml: ", count, " gpus are said to be there, at most ", kMaxGpus));
  }
  if (status = CheckIsOn(**library); !status.ok()) return status;
  std::vector<unsigned> indices = options.indices;
  if (indices.empty()) {
    for (unsigned i = 0; i < count; ++i) indices.push_back(i);
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= count) {
      return absl::NotFoundError(
          absl::StrCat("nvml: there is no gpu ", indices[i], ": this machine has ", count));
    }
    if (std::find(indices.begin(), indices.begin() + i, indices[i]) != indices.begin() + i) {
      return absl::InvalidArgumentError(absl::StrCat("nvml: gpu ", indices[i], " is listed twice"));
    }
  }
  return std::make_unique<NvmlAttester>(*std::move(library), std::move(indices));
}

}  // namespace caravan::attester
