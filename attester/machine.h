// SPDX-License-Identifier: Apache-2.0
//
// The attester of this machine, by what the configuration asks for.
#ifndef CARAVAN_ATTESTER_MACHINE_H_
#define CARAVAN_ATTESTER_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attestation/attester.h"
#include "attester/quote_service.h"
#include "attester/sev_guest_device.h"
#include "attester/tdx_guest_device.h"
#include "attester/tsm_tree.h"

namespace caravan::attester {

// Where the kernel offers TEEs.
struct MachinePaths {
  std::string tsm = kTsmPath;
  std::string sev_guest = kSevGuestPath;
  std::string tdx_guest = kTdxGuestPath;
};

using AttesterOr = absl::StatusOr<std::unique_ptr<attestation::Attester>>;

// The devices alone. Errors of OpenDevice.
AttesterOr MakeSevGuest(const MachinePaths& paths, uint32_t vmpl);
AttesterOr MakeTdxGuest(const MachinePaths& paths, uint32_t quote_service_port);

// Each opens what it needs, so that a machine without it is told at once; no report is asked for.
// The first way that is there is taken. Where none is, the message names each with its reason; the
// code is the last one's, or PermissionDenied when any was.
AttesterOr MakeSevSnpAttester(const MachinePaths& paths, std::optional<uint32_t> vmpl);
AttesterOr MakeTdxAttester(const MachinePaths& paths, uint32_t quote_service_port);

// What they say where neither way is there.
absl::Status NoWay(const char* what, const absl::Status& first, const absl::Status& second);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_MACHINE_H_
