// SPDX-License-Identifier: Apache-2.0
#include "attester/nvml_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace caravan::attester {

template <typename Function>
absl::Status NvmlLibrary::Find(const char* symbol, Function* function) const {
  *function = reinterpret_cast<Function>(dlsym(handle_, symbol));
  if (*function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("nvml: the library has no ", symbol,
                   ": confidential computing needs NVIDIA's driver 535 or later"));
}

absl::StatusOr<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Load(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absl::NotFoundError(
        absl::StrCat("nvml: cannot load ", name,
                     ", which comes with NVIDIA's driver: ", why == nullptr ? "" : why));
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  nvml::Return (*init)() = nullptr;
  nvml::Return (*shutdown)() = nullptr;
  for (const absl::Status& status :
       {library->Find("nvmlInit_v2", &init), library->Find("nvmlShutdown", &shutdown),
        library->Find("nvmlDeviceGetCount_v2", &library->device_count),
        library->Find("nvmlDeviceGetHandleByIndex_v2", &library->device_by_index),
        library->Find("nvmlSystemGetConfComputeState", &library->system_state),
        library->Find("nvmlDeviceGetConfComputeGpuAttestationReport", &library->attestation_report),
        library->Find("nvmlDeviceGetConfComputeGpuCertificate", &library->certificate)}) {
    if (!status.ok()) return status;
  }
  (void)library->Find("nvmlSystemGetConfComputeSettings", &library->system_settings);
  absl::Status status = StatusOf(init(), "nvml: initialising");
  if (!status.ok()) return status;
  library->shutdown_ = shutdown;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (shutdown_ != nullptr) shutdown_();
  dlclose(handle_);
}

absl::Status StatusOf(nvml::Return code, const std::string& what) {
  const auto say = [&](const char* why) { return absl::StrCat(what, ": ", why); };
  switch (code) {
    case nvml::kSuccess:
      return absl::OkStatus();
    case nvml::kTimeout:
      return absl::UnavailableError(say("the gpu did not answer in time; try again"));
    case nvml::kInUse:
      return absl::UnavailableError(say("the gpu is in use by another request; try again"));
    case nvml::kNotReady:
      return absl::UnavailableError(say("the gpu is not ready; try again in a moment"));
    case nvml::kDriverNotLoaded:
      return absl::NotFoundError(say("NVIDIA's kernel driver is not loaded"));
    case nvml::kNotFound:
    case nvml::kGpuNotFound:
      return absl::NotFoundError(say("there is no such gpu"));
    case nvml::kNoPermission:
      return absl::PermissionDeniedError(say("not permitted; may the daemon open /dev/nvidia*?"));
    case nvml::kMemory:
    case nvml::kInsufficientResources:
      return absl::ResourceExhaustedError(say("the driver ran out of memory"));
    case nvml::kNotSupported:
      return absl::FailedPreconditionError(
          say("not supported: it takes a Hopper or later gpu with confidential computing on"));
    case nvml::kFunctionNotFound:
      return absl::FailedPreconditionError(
          say("the kernel driver lacks the function: update NVIDIA's driver"));
    case nvml::kGpuIsLost:
      return absl::FailedPreconditionError(
          say("the gpu has fallen off the bus: reset it, or start the machine anew"));
    case nvml::kResetRequired:
      return absl::FailedPreconditionError(say("the gpu needs a reset before it works again"));
    case nvml::kVersionMismatch:
      return absl::FailedPreconditionError(
          say("the library and the kernel driver are of different versions: load the driver that "
              "was installed, or start the machine anew"));
    case nvml::kArgumentVersionMismatch:
      return absl::FailedPreconditionError(say("the driver takes another version of the request"));
    case nvml::kInvalidState:
      return absl::FailedPreconditionError(say("the gpu is not in a state in which it attests"));
    default:
      return absl::InternalError(absl::StrCat(what, ": nvml error ", code));
  }
}

}  // namespace caravan::attester
