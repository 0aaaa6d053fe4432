// SPDX-License-Identifier: Apache-2.0
//
// The part of NVIDIA's management library that attestation needs. Source: nvml.h 12.4 and later
// (NVIDIA/go-nvml, gen/nvml/nvml.h), "Confidential compute"; the library's documentation.
#ifndef CARAVAN_ATTESTER_NVML_ABI_H_
#define CARAVAN_ATTESTER_NVML_ABI_H_

#include <cstdint>

namespace caravan::attester::nvml {

using Return = int;  // nvmlReturn_t
using Device = struct OpaqueDevice*;

inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kVersionMismatch = 18;
inline constexpr Return kInUse = 19;
inline constexpr Return kMemory = 20;
inline constexpr Return kInsufficientResources = 23;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kNotReady = 27;
inline constexpr Return kGpuNotFound = 28;
inline constexpr Return kInvalidState = 29;
inline constexpr Return kUnknown = 999;

struct SystemState {  // nvmlConfComputeSystemState_t
  unsigned environment;
  unsigned cc_feature;
  unsigned dev_tools_mode;
};

inline constexpr unsigned kMultiGpuNone = 0;
struct SystemSettings {  // nvmlSystemConfComputeSettings_v1_t
  unsigned version;
  unsigned environment;
  unsigned cc_feature;
  unsigned dev_tools_mode;
  unsigned multi_gpu_mode;
};
inline constexpr unsigned kSystemSettingsVersion = sizeof(SystemSettings) | 1u << 24;

struct AttestationReport {  // nvmlConfComputeGpuAttestationReport_t
  unsigned has_cec_report;
  unsigned report_size;
  unsigned cec_report_size;
  unsigned char nonce[0x20];
  unsigned char report[0x2000];
  unsigned char cec_report[0x1000];
};
static_assert(sizeof(AttestationReport) == 12 + 0x20 + 0x2000 + 0x1000);

struct Certificate {  // nvmlConfComputeGpuCertificate_t
  unsigned chain_size;
  unsigned attestation_chain_size;
  unsigned char chain[0x1000];
  unsigned char attestation_chain[0x1400];  // PEM, leaf first
};
static_assert(sizeof(Certificate) == 8 + 0x1000 + 0x1400);

}  // namespace caravan::attester::nvml

#endif  // CARAVAN_ATTESTER_NVML_ABI_H_
