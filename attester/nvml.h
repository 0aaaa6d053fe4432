// SPDX-License-Identifier: Apache-2.0
//
// Evidence of NVIDIA GPUs: SPDM measurement reports and the device's certificates, from the
// driver's management library.
#ifndef CARAVAN_ATTESTER_NVML_H_
#define CARAVAN_ATTESTER_NVML_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/attester.h"

namespace caravan::attester {

inline constexpr char kNvmlName[] = "libnvidia-ml.so.1";

struct NvmlOptions {
  std::string library = kNvmlName;
  std::vector<unsigned> indices;  // as the driver counts; empty: every GPU
};

// NotFound: no library, no driver, no GPU, or not the ones listed. FailedPrecondition: the driver
// is too old, or confidential computing is off. Other errors as StatusOf in nvml_library.h.
//
// Collect gives SPDM request ‖ response, as the driver does, and the attestation chain in DER, leaf
// first. DataLoss: a report that is empty, oversized or made for another nonce; a chain that is no
// chain.
absl::StatusOr<std::unique_ptr<attestation::DeviceAttester>> MakeNvmlAttester(
    const NvmlOptions& options);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_NVML_H_
