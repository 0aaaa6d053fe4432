// SPDX-License-Identifier: Apache-2.0
//
// Where a platform stands among the TCB levels that Intel publishes. Source: Intel PCS API v4, "Get
// TCB Info", "Determining TCB status", and Intel's QVL for what that page leaves open.
#ifndef CARAVAN_ATTESTATION_INTEL_TCB_EVALUATION_H_
#define CARAVAN_ATTESTATION_INTEL_TCB_EVALUATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/intel/collateral.h"

namespace caravan::attestation::intel {

// What quote and PCK certificate say of the platform.
struct PlatformTcb {
  Svns sgx{};
  uint16_t pce_svn = 0;
  std::optional<Svns> tee_tcb_svn;   // TDX: of the TDX module at the TD's launch
  std::optional<Svns> tee_tcb_svn2;  // TD 1.5: of the module that runs now
  uint16_t qe_isv_svn = 0;
};

// One part and the level it stands at.
struct ComponentTcb {
  std::string name;  // "platform", "tdx module", "quoting enclave"
  LevelRating rating = {};
  // The date of the first later level: since then this part is behind.
  std::optional<absl::Time> behind_since = std::nullopt;
  std::string shortfall = {};  // what keeps it from the highest level; empty when it stands there
};

struct TcbEvaluation {
  TcbStatus status = TcbStatus::kRevoked;
  absl::Time date;                      // the earliest of the parts
  std::vector<std::string> advisories;  // of all parts, sorted, each once
  std::vector<ComponentTcb> components;
  // The earliest of the parts that are out of date.
  std::optional<absl::Time> behind_since;
};

// NotFound, naming the part, when it stands below every level: not supported. With a TD 1.5 report
// the status is that of launch and present together, advisories and date are of both; parts are
// those of the launch.
absl::StatusOr<TcbEvaluation> EvaluateTcb(const PlatformTcb& platform, const TcbInfo& info,
                                          const EnclaveIdentity& identity);

// The module identity for a TEE TCB SVN: of modules before version 1 the one without an id. Null
// when TCB info names none.
const TdxModule* FindModule(const TcbInfo& info, const Svns& tee_tcb_svn);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_TCB_EVALUATION_H_
