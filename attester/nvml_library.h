// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's management library, loaded when the daemon runs: a build needs none.
#ifndef CARAVAN_ATTESTER_NVML_LIBRARY_H_
#define CARAVAN_ATTESTER_NVML_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attester/nvml_abi.h"

namespace caravan::attester {

// Initialised; its functions are thread-safe. Unloaded when it goes.
class NvmlLibrary {
 public:
  // `name` is a file's name, looked for as the dynamic linker does, or a path. NotFound: no such
  // library. FailedPrecondition: it lacks a function (a driver before 535). The errors of
  // StatusOf: it could not be initialised.
  static absl::StatusOr<std::unique_ptr<NvmlLibrary>> Load(const std::string& name);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  nvml::Return (*device_count)(unsigned* count) = nullptr;
  nvml::Return (*device_by_index)(unsigned index, nvml::Device* device) = nullptr;
  nvml::Return (*system_state)(nvml::SystemState* state) = nullptr;
  nvml::Return (*system_settings)(nvml::SystemSettings* settings) = nullptr;  // null before 550
  nvml::Return (*attestation_report)(nvml::Device device,
                                     nvml::AttestationReport* report) = nullptr;
  nvml::Return (*certificate)(nvml::Device device, nvml::Certificate* certificate) = nullptr;

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  template <typename Function>
  absl::Status Find(const char* symbol, Function* function) const;

  void* const handle_;
  nvml::Return (*shutdown_)() = nullptr;  // null until initialised
};

// OK for kSuccess. Unavailable: time-out, in use, not ready. NotFound: no driver, no such GPU.
// PermissionDenied, ResourceExhausted; FailedPrecondition: not supported, wrong state, wrong
// versions, lost, needs a reset. Internal: the rest. `what` begins the message.
absl::Status StatusOf(nvml::Return code, const std::string& what);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_NVML_LIBRARY_H_
