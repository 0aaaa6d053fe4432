// SPDX-License-Identifier: Apache-2.0
//
// caravanctl evidence collect: asks this machine's TEEs, without a daemon.
#ifndef CARAVAN_CLI_EVIDENCE_COLLECT_H_
#define CARAVAN_CLI_EVIDENCE_COLLECT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "attestation/attester.h"
#include "cli/output.h"

namespace caravan::cli {

struct EvidenceCollectOptions {
  std::string attester = "auto";  // auto, configfs-tsm, sev-guest, tdx, nvml
  std::string report_data = {};   // 128 hexadecimal digits, of a CPU; "": random
  std::string nonce = {};         // 64 hexadecimal digits, of GPUs; "": random
  std::string out = {};           // file; "": hexadecimal on out
  std::string tsm_path = {};      // "": the kernel's
  std::string nvml_library = {};  // "": the driver's
  int gpu = -1;                   // as the driver counts; -1: every GPU
};

// How attesters are made. Tests bring their own.
struct AttesterMakers {
  using Cpu = std::function<absl::StatusOr<std::unique_ptr<attestation::Attester>>(
      const EvidenceCollectOptions&)>;
  using Gpus = std::function<absl::StatusOr<std::unique_ptr<attestation::DeviceAttester>>(
      const EvidenceCollectOptions&)>;
  Cpu configfs_tsm;
  Cpu sev_guest;
  Cpu tdx;
  Gpus nvml;
};
AttesterMakers MachineAttesters();

// Schema caravan.evidence-collect/1. Writes each piece of evidence as the TEE made it: to `out`,
// its certificates to `out`.pem, with .0, .1 … behind `out` for several GPUs; or in hexadecimal to
// out. kOk; kUsage for options and files that cannot be used; kNotAttested when this machine has no
// such TEE, or it is not in a state to attest; kTimedOut when it is busy; kNotPermitted;
// kInternalError.
int RunEvidenceCollect(const Context& context, const EvidenceCollectOptions& options,
                       const AttesterMakers& makers);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EVIDENCE_COLLECT_H_
