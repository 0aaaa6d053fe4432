// SPDX-License-Identifier: Apache-2.0
#include "attester/fake_nvml.h"

#include <algorithm>
#include <cstring>

#include "attester/nvml_abi.h"

namespace {

using namespace caravan::attester;

constexpr unsigned kRequest = 37;
constexpr unsigned kResponse = 64;

FakeNvmlScript& Script() {
  static FakeNvmlScript script;
  return script;
}

nvml::Device HandleOf(unsigned index) {
  return reinterpret_cast<nvml::Device>(static_cast<uintptr_t>(0x1000 + index));
}

}  // namespace

extern "C" {

FakeNvmlScript* GetFakeNvmlScript() { return &Script(); }

nvml::Return nvmlInit_v2() {
  if (Script().init == nvml::kSuccess) ++Script().initialised;
  return Script().init;
}
nvml::Return nvmlShutdown() {
  --Script().initialised;
  return nvml::kSuccess;
}
nvml::Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Script().gpus;
  return Script().count;
}
nvml::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  if (index >= Script().gpus) return nvml::kNotFound;
  *device = HandleOf(index);
  return Script().handle;
}

// What drivers have had since confidential computing; an older library lacks it.
#ifndef FAKE_NVML_OLD
nvml::Return nvmlSystemGetConfComputeState(nvml::SystemState* state) {
  *state = {.environment = 2, .cc_feature = Script().cc_feature, .dev_tools_mode = 0};
  return Script().state;
}
nvml::Return nvmlSystemGetConfComputeSettings(nvml::SystemSettings* settings) {
  if (settings->version != nvml::kSystemSettingsVersion) return nvml::kArgumentVersionMismatch;
  settings->cc_feature = Script().cc_feature;
  settings->multi_gpu_mode = Script().multi_gpu_mode;
  return Script().settings;
}
nvml::Return nvmlDeviceGetConfComputeGpuAttestationReport(nvml::Device device,
                                                          nvml::AttestationReport* report) {
  const FakeNvmlScript& script = Script();
  unsigned char* out = report->report;
  std::memset(out, 0, sizeof(report->report));
  const unsigned char request[] = {0x11, 0xE0, 0x01, 0xFF};
  std::copy(request, request + sizeof(request), out);
  std::memcpy(out + 4, report->nonce, sizeof(report->nonce));
  if (script.other_nonce) out[35] ^= 1;
  unsigned char* response = script.response_alone ? out : out + kRequest;
  response[0] = 0x11;
  response[1] = 0x60;
  // Tells the devices apart.
  response[8] = static_cast<unsigned char>(reinterpret_cast<uintptr_t>(device));
  report->report_size = script.response_alone ? kResponse : kRequest + kResponse;
  if (script.report_size != 0) report->report_size = script.report_size;
  if (script.empty_report) report->report_size = 0;
  report->has_cec_report = 0;
  return script.report;
}
nvml::Return nvmlDeviceGetConfComputeGpuCertificate(nvml::Device, nvml::Certificate* certificate) {
  const FakeNvmlScript& script = Script();
  std::memcpy(certificate->attestation_chain, script.pem, sizeof(script.pem));
  certificate->attestation_chain_size = script.certificate_size != 0
                                            ? script.certificate_size
                                            : static_cast<unsigned>(std::strlen(script.pem));
  return script.certificate;
}
#endif

}  // extern "C"
